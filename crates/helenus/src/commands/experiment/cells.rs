//! The combinations of an experiment as requests: keys become the flags of `run` and `populate`.
//! Refuses a key of another section or kind, with its line and where it belongs.

use super::lent::{self, Lender};
use crate::cli::run::{Populate, Run};
use crate::cli::{Bench, CLUSTER_FLAGS, Cli, Verb};
use crate::commands::{bench, keys, populate, run};
use crate::error::{CommandError, code};
use crate::ui::Ui;
use clap::{Arg, Parser as _};
use helenus_cluster::context::Context;
use helenus_cluster::lifecycle::UpRequest;
use helenus_cluster::live_settings::{LiveSetting, NotLive};
use helenus_cluster::machine;
use helenus_lab::BenchRequest;
use helenus_lab::bench::Where;
use helenus_lab::experiment::{Combination, LentNodes, shape};
use helenus_lab::populate::PopulateRequest;
use helenus_model::experiment::{Experiment, Kind, OF_WARM, Setting};
use helenus_model::nearest::nearest;
use helenus_model::plan::PlanError;
use helenus_model::units::Bytes;
use std::path::Path;

/// The key that says which workload: a word of `run`, and no flag.
const WORKLOAD: &str = "workload";

/// The verb whose flags a combination has.
const RUN: &str = "run";

/// The key of the kernel's read-ahead.
const READ_AHEAD: &str = "read-ahead";

/// The key of the distance: of the cluster, and changed while its nodes run.
const RTT: &str = "rtt";

/// The JVM's flag for memory of several speeds, which says nothing where there is one.
const USE_NUMA: &str = "-XX:+UseNUMA";

/// Flags that make no sense in a file whose clusters come and go.
const NOT_HERE: [&str; 11] = [
    "cluster", "hosts", "port", "dry-run", "detail", "format", "quiet", "verbose", "help", "seed",
    "put-back",
];

/// Keys that say how long a load is: one of them in `[warm]` takes the place of all in `[workload]`.
const LENGTHS: [&str; 4] = ["duration", "count", "rate-steps", "step"];

/// Default length of a slice of a load that continues until it is level.
const SLICE: &str = "10s";

/// Keys that are settings of tables.
const OF_SCHEMA: [&str; 4] = [WORKLOAD, "param", "with", "replication-factor"];

/// Where keys of a file stand.
pub(super) struct Place<'a> {
    /// The file, as it is printed.
    pub(super) file: &'a str,
    /// The folder of its relative paths.
    pub(super) folder: &'a Path,
}

impl Place<'_> {
    pub(super) fn wrong(&self, line: usize, text: &str) -> CommandError {
        CommandError::new(code::USAGE, format!("{}:{line}: {text}", self.file))
    }
}

/// What a key may be a setting of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Cluster,
    Workload,
    Warm,
    Populate,
}

impl Section {
    fn word(self) -> &'static str {
        match self {
            Self::Cluster => "cluster",
            Self::Workload => "workload",
            Self::Warm => "warm",
            Self::Populate => "populate",
        }
    }
}

/// Whether a flag of `run` belongs to the cluster.
pub(super) fn of_cluster(arg: &Arg) -> bool {
    let id = arg.get_id().as_str();
    id == RTT || CLUSTER_FLAGS.contains(&id) || is_place(arg)
}

/// Whether it says where a cluster is that is there already.
fn is_place(arg: &Arg) -> bool {
    lent::OF_PLACE.contains(&arg.get_long().unwrap_or_default())
}

/// Whether a flag may stand in a section.
fn may(section: Section, arg: &Arg) -> bool {
    let long = arg.get_long().unwrap_or_default();
    let place = arg.get_help_heading() == Some("Where") && !is_place(arg);
    !place && !NOT_HERE.contains(&long) && of_cluster(arg) == (section == Section::Cluster)
}

/// The requests of all combinations, in their order.
pub(super) fn all(
    of: &Experiment,
    place: &Place<'_>,
    (context, ui): (&Context, &Ui),
) -> Result<Vec<Combination>, CommandError> {
    let load = if of.pairs.is_some() { "bench" } else { RUN };
    let verbs = [keys::verb(load), keys::verb("populate")];
    let warm = of.warm.as_deref().unwrap_or_default();
    for (section, settings) in [
        (Section::Cluster, &of.cluster[..]),
        (Section::Workload, &of.workload[..]),
        (Section::Warm, warm),
    ] {
        for setting in settings {
            known(&verbs[0], section, setting, place)?;
        }
    }
    for setting in of.populate.iter().flatten() {
        known(&verbs[1], Section::Populate, setting, place)?;
    }
    for factor in &of.factors {
        for setting in factor.levels.iter().flat_map(|level| &level.settings) {
            fits_kind(&verbs[0], factor.kind, setting, place)?;
        }
    }
    if lent::is_place(of) {
        lent::check(of, &verbs[0], place)?;
    }
    let mut datasets: Vec<String> = Vec::new();
    let mut fits: Vec<(Vec<usize>, Option<String>)> = Vec::new();
    let mut combinations = Vec::new();
    for (number, levels) in of.combinations().iter().enumerate() {
        let cell = Cell {
            of,
            levels,
            verbs: &verbs,
            place,
        };
        // What a setting notes is printed once, not once for each combination.
        let hushed = ui.hushed();
        let cell_ui = if number == 0 { ui } else { &hushed };
        let within = |error: CommandError| error.within(&cell.shown());
        let bench = match of.pairs {
            Some(_) => bench::request(&cell.bench()?, context, cell_ui),
            None => {
                let flags = cell.run()?;
                cell.apart(&flags)?;
                run::request(&flags, context, cell_ui)
            }
        };
        let bench = bench.map_err(within)?;
        let live = cell.live()?;
        let whole = of.whole_levels(levels);
        let known = fits.iter().find(|(known, _)| *known == whole);
        let known = known.map(|(_, unfit)| unfit.clone());
        let mut lent_nodes = None;
        let (up, unfit) = match &bench.place {
            Where::Ephemeral(up) => {
                let unfit = match known {
                    Some(known) => known,
                    // A side that does not fit says so when it starts.
                    None if of.pairs.is_some() => None,
                    None => unfit(context, up).map_err(within)?,
                };
                fits.push((whole, unfit.clone()));
                let unsettable = || live.iter().find_map(|one| unsettable(context, up, one));
                (Some(up), unfit.or_else(unsettable))
            }
            there => {
                let Some(lender) = Lender::of(there, context)? else {
                    let text = "an experiment makes its own clusters, or is `on` one on Kubernetes or on hosts";
                    return Err(CommandError::new(code::USAGE, text));
                };
                let (nodes, unfit) = cell.lent(&lender, cell_ui)?;
                lent_nodes = Some(nodes);
                (None, unfit)
            }
        };
        let warm = cell.warm()?;
        let warm = warm.map(|flags| run::request(&flags, context, &hushed));
        let warm = warm.transpose().map_err(within)?;
        let populate = cell.populate()?;
        let shape = up
            .zip(populate.as_ref())
            .map(|(up, wanted)| shape(up, wanted));
        let shape = shape.unwrap_or_default();
        let dataset = datasets.iter().position(|known| *known == shape);
        let dataset = dataset.unwrap_or_else(|| {
            datasets.push(shape);
            datasets.len() - 1
        });
        let seed = populate.as_ref().map(|wanted| wanted.data.seed);
        let seeded = |bench: BenchRequest| BenchRequest {
            seed: seed.unwrap_or(bench.seed),
            ..bench
        };
        combinations.push(Combination {
            bench: seeded(bench),
            lent: lent_nodes,
            warm: warm.map(seeded),
            warm_until: of.warm_until,
            populate,
            live,
            dataset,
            unfit,
        });
    }
    Ok(combinations)
}

/// Why a setting of the machine cannot be changed while nodes run; none where it can.
fn unsettable(context: &Context, up: &UpRequest, setting: &LiveSetting) -> Option<String> {
    let LiveSetting::ReadAhead(Some(size)) = setting else {
        return None;
    };
    context.unsettable(&UpRequest {
        read_ahead: Some(*size),
        ..up.clone()
    })
}

/// Why a cluster does not fit the machine. What only has no room for now fits: another time it may run.
fn unfit(context: &Context, up: &UpRequest) -> Result<Option<String>, CommandError> {
    if up.spec.jvm.iter().any(|flag| flag == USE_NUMA) && machine::numa_nodes() == 1 {
        let why = format!("{USE_NUMA} needs several NUMA nodes, and this machine has one");
        return Ok(Some(why));
    }
    if let Some(why) = context.unsettable(up) {
        return Ok(Some(why));
    }
    let error = match context.dry_run(up) {
        Ok(_) => return Ok(None),
        Err(error) => error,
    };
    let Some(plan) = error.find() else {
        return Err(error.into());
    };
    match plan {
        PlanError::Memory { need, .. } if *need <= machine::read().memory => Ok(None),
        PlanError::Memory { .. } | PlanError::Limit { .. } => Ok(Some(plan.to_string())),
        PlanError::Cpus { asked, cores } if more(asked, *cores) => Ok(Some(plan.to_string())),
        _ => Err(error.into()),
    }
}

/// Whether more processors are asked for than there are.
fn more(asked: &str, cores: u32) -> bool {
    asked
        .parse()
        .is_ok_and(|asked: f64| asked > f64::from(cores))
}

/// Whether a key may stand where it stands.
fn known(
    verb: &clap::Command,
    section: Section,
    setting: &Setting,
    place: &Place<'_>,
) -> Result<(), CommandError> {
    let key = setting.key.as_str();
    let is_workload = key == WORKLOAD && verb.get_name() == RUN;
    if is_workload && section == Section::Workload {
        return Ok(());
    }
    if key == "seed" {
        let text = "seed does not belong in a section";
        return Err(place
            .wrong(setting.line, text)
            .hint("order and data share one seed: write it at the top of the file".to_owned()));
    }
    if section == Section::Warm && OF_SCHEMA.contains(&key) {
        let text = format!("{key} does not belong in [warm]");
        return Err(place
            .wrong(setting.line, &text)
            .hint("[warm] uses the tables of [workload]".to_owned()));
    }
    let found = keys::find(verb, key, &|arg: &&Arg| may(section, arg));
    let Err(near) = found else { return Ok(()) };
    let other = match section {
        Section::Cluster => Section::Workload,
        Section::Workload | Section::Warm | Section::Populate => Section::Cluster,
    };
    let elsewhere = section != Section::Populate
        && (is_workload || keys::find(verb, key, &|arg: &&Arg| may(other, arg)).is_ok());
    let hint = if elsewhere {
        format!("it belongs to [{}]", other.word())
    } else if let (Section::Warm, Some(own)) = (section, nearest(key, OF_WARM)) {
        format!("did you mean {own}?")
    } else {
        near.unwrap_or_else(|| match section {
            Section::Populate => "the keys are the long flags of `helenus populate --help`".into(),
            _ => format!(
                "the keys are the long flags of `helenus {} --help`",
                verb.get_name()
            ),
        })
    };
    let text = format!("unknown key {key} in [{}]", section.word());
    Err(place.wrong(setting.line, &text).hint(hint))
}

/// Whether a factor of this kind may set the key.
fn fits_kind(
    verb: &clap::Command,
    kind: Kind,
    setting: &Setting,
    place: &Place<'_>,
) -> Result<(), CommandError> {
    let key = setting.key.as_str();
    if lent::OF_PLACE.contains(&key) {
        let text = format!("{key} cannot be a factor: all runs have one place");
        return Err(place
            .wrong(setting.line, &text)
            .hint("write it in [cluster]".to_owned()));
    }
    let cluster = keys::find(verb, key, &|arg: &&Arg| may(Section::Cluster, arg)).is_ok();
    let own = if key == RTT {
        Kind::Phase
    } else if cluster {
        Kind::Restart
    } else if OF_SCHEMA.contains(&key) {
        Kind::Schema
    } else {
        known(verb, Section::Workload, setting, place)?;
        Kind::Phase
    };
    // What costs less may be changed along with what costs more.
    let enough = match kind {
        Kind::Live => match key {
            READ_AHEAD => return Ok(()),
            "set" => {
                let each = texts(&setting.value).map(|text| LiveSetting::parse(text).map(drop));
                let all: Result<(), NotLive> = each.collect();
                return all.map_err(|e| place.wrong(setting.line, &e.to_string()).hint(e.hint()));
            }
            _ => false,
        },
        Kind::Restart => true,
        Kind::Schema => own != Kind::Restart,
        Kind::Phase => own == Kind::Phase,
    };
    if enough {
        return Ok(());
    }
    let text = format!("{key} cannot be a factor of kind {}", kind.word());
    let hint = match kind {
        Kind::Live => format!(
            "write kind = \"{}\"; in running nodes only `set` and `read-ahead` are changed",
            own.word()
        ),
        _ => format!("write kind = \"{}\"", own.word()),
    };
    Err(place.wrong(setting.line, &text).hint(hint))
}

/// The texts of a value, which may be a list of them.
pub(super) fn texts(value: &toml::Value) -> impl Iterator<Item = &str> {
    let each: Vec<&toml::Value> = match value {
        toml::Value::Array(list) => list.iter().collect(),
        one => vec![one],
    };
    each.into_iter().filter_map(toml::Value::as_str)
}

/// A load's settings as those of one slice of several: as short as it may be, and without a warm-up of its own, which it is.
fn slice(own: &[Setting]) -> Vec<Setting> {
    let says = |keys: &[&str]| own.iter().any(|one| keys.contains(&one.key.as_str()));
    let line = own.first().map_or(1, |setting| setting.line);
    let default = |key: &str, value: &str| Setting {
        key: key.to_owned(),
        value: toml::Value::String(value.to_owned()),
        line,
    };
    let mut all = own.to_vec();
    if !says(&LENGTHS) {
        all.push(default("duration", SLICE));
    }
    if !says(&["warmup"]) {
        all.push(default("warmup", "0s"));
    }
    all
}

/// One combination on its way to a request.
struct Cell<'a> {
    of: &'a Experiment,
    levels: &'a [usize],
    verbs: &'a [clap::Command; 2],
    place: &'a Place<'a>,
}

impl Cell<'_> {
    /// The file and the combination, before what is wrong with them.
    fn shown(&self) -> String {
        format!("{}: {}", self.place.file, self.of.label(self.levels))
    }

    fn run(&self) -> Result<Run, CommandError> {
        let kinds = [Kind::Restart, Kind::Schema, Kind::Phase];
        self.run_of(self.of.workload.clone(), &kinds)
    }

    /// What is set in the running nodes before each run. A level that does not say how far the disk reads ahead has it as
    /// it was, where another one does.
    fn live(&self) -> Result<Vec<LiveSetting>, CommandError> {
        let settings = self.of.settings(&[], self.levels, &[Kind::Live]);
        let mut all = Vec::new();
        for setting in &settings {
            let wrong = |text: &str| self.place.wrong(setting.line, text);
            if setting.key == READ_AHEAD {
                let size = setting.value.as_str().unwrap_or_default();
                let size = Bytes::parse(size).map_err(|error| wrong(&error.to_string()))?;
                all.push(LiveSetting::ReadAhead(Some(size)));
                continue;
            }
            for text in texts(&setting.value) {
                let read = LiveSetting::parse(text);
                all.push(read.map_err(|e| wrong(&e.to_string()).hint(e.hint()))?);
            }
        }
        let factors = self.of.factors.iter().filter(|f| f.kind == Kind::Live);
        let mut of_factors = factors.flat_map(|f| f.levels.iter().flat_map(|l| &l.settings));
        let own = |setting: &LiveSetting| matches!(setting, LiveSetting::ReadAhead(_));
        if of_factors.any(|setting| setting.key == READ_AHEAD) && !all.iter().any(own) {
            all.push(LiveSetting::ReadAhead(None));
        }
        Ok(all)
    }

    /// The load with which each life of the nodes begins: its keys take the place of those of all runs, and what differs
    /// between runs of one life is in neither.
    fn warm(&self) -> Result<Option<Run>, CommandError> {
        let Some(own) = &self.of.warm else {
            return Ok(None);
        };
        let own = match self.of.warm_until {
            Some(_) => slice(own),
            None => own.clone(),
        };
        let is_length = |setting: &Setting| LENGTHS.contains(&setting.key.as_str());
        let has_length = own.iter().any(is_length);
        let is_replaced = |setting: &Setting| {
            (has_length && is_length(setting)) || own.iter().any(|one| one.key == setting.key)
        };
        let mut workload = self.of.workload.clone();
        workload.retain(|setting| !is_replaced(setting));
        workload.extend(own);
        self.run_of(workload, &[Kind::Restart, Kind::Schema])
            .map(Some)
    }

    fn run_of(&self, workload: Vec<Setting>, kinds: &[Kind]) -> Result<Run, CommandError> {
        match self.load(workload, kinds)? {
            Verb::Run(flags) => Ok(*flags),
            _ => Err(CommandError::new(code::USAGE, "a combination is a run")),
        }
    }

    /// A side of a pair.
    fn bench(&self) -> Result<Bench, CommandError> {
        match self.load(self.of.workload.clone(), &[Kind::Restart])? {
            Verb::Bench(flags) => Ok(*flags),
            _ => Err(CommandError::new(code::USAGE, "a side is a bench")),
        }
    }

    fn load(&self, workload: Vec<Setting>, kinds: &[Kind]) -> Result<Verb, CommandError> {
        let settings = [self.of.cluster.clone(), workload].concat();
        let mut settings = self.of.settings(&settings, self.levels, kinds);
        if lent::is_place(self.of) {
            settings = lent::of_run(&self.verbs[0], settings);
        }
        let mut words = vec!["helenus".to_owned(), self.verbs[0].get_name().to_owned()];
        words.extend(self.workload(&settings));
        self.flags(&self.verbs[0], &settings, &mut words)?;
        self.parse(&words, &settings)
    }

    /// What the nodes of an existing cluster are given, read as the flags of a run that would make one.
    fn lent(&self, lender: &Lender, ui: &Ui) -> Result<(LentNodes, Option<String>), CommandError> {
        let kinds = [Kind::Restart];
        let settings = self.of.settings(&self.of.cluster, self.levels, &kinds);
        let verb = keys::verb(RUN);
        let settings = lent::of_lent(&verb, &settings);
        let mut words = vec!["helenus".to_owned(), RUN.to_owned(), WORKLOAD.to_owned()];
        self.flags(&verb, &settings, &mut words)?;
        let Verb::Run(flags) = self.parse(&words, &settings)? else {
            return Err(CommandError::new(code::USAGE, "nodes are those of a run"));
        };
        let nodes = lender.nodes((&flags, &settings), ui);
        nodes.map_err(|error| error.within(&self.shown()))
    }

    /// Whether there is something between data centres that a factor can set.
    fn apart(&self, run: &Run) -> Result<(), CommandError> {
        let levels = self.of.factors.iter().flat_map(|factor| &factor.levels);
        let mut settings = levels.flat_map(|level| &level.settings);
        let Some(setting) = settings.find(|setting| setting.key == RTT) else {
            return Ok(());
        };
        let cluster = &run.cluster_flags;
        let apart =
            cluster.dc.len() > 1 || (cluster.dc.is_empty() && cluster.nodes.text.contains(':'));
        let (text, hint) = if !apart {
            (
                "rtt is a factor, but the cluster has only one data centre".to_owned(),
                "give it two, such as nodes = \"1:1\" in [cluster]",
            )
        } else if run.load.common.rtt.is_empty() {
            (
                format!(
                    "rtt is a factor, but {} sets none",
                    self.of.label(self.levels)
                ),
                "write rtt = \"0ms\" for no distance",
            )
        } else {
            return Ok(());
        };
        Err(self.place.wrong(setting.line, &text).hint(hint.to_owned()))
    }

    fn populate(&self) -> Result<Option<PopulateRequest>, CommandError> {
        let Some(base) = &self.of.populate else {
            return Ok(None);
        };
        let schema = self
            .of
            .settings(&self.of.workload, self.levels, &[Kind::Schema]);
        let mut settings = base.clone();
        let own = schema
            .iter()
            .filter(|s| OF_SCHEMA[1..].contains(&s.key.as_str()));
        settings.extend(own.cloned());
        let mut words = vec!["helenus".to_owned(), "populate".to_owned()];
        words.extend(self.workload(&schema));
        words.push("--cluster=data".to_owned());
        self.flags(&self.verbs[1], &settings, &mut words)?;
        let Verb::Populate(flags) = self.parse(&words, &settings)? else {
            return Err(CommandError::new(code::USAGE, "data comes from populate"));
        };
        let flags: Populate = *flags;
        let words = flags.workload.clone().unwrap_or_default();
        let within = |error: CommandError| error.within(&self.shown());
        let mut chosen = run::choose(&words, &flags.params, None).map_err(within)?;
        chosen
            .with_table_options(&flags.table_options)
            .map_err(within)?;
        let request = populate::request_of(&flags, &chosen).map_err(within)?;
        Ok(Some(request))
    }

    /// The workload's word; profiles are found beside the file.
    fn workload(&self, settings: &[Setting]) -> Option<String> {
        let setting = settings.iter().rfind(|setting| setting.key == WORKLOAD)?;
        let text = setting.value.as_str().unwrap_or_default();
        if !run::is_files(text) {
            return Some(text.to_owned());
        }
        let beside = |path: &str| self.place.folder.join(path).display().to_string();
        let paths: Vec<String> = text.split(',').map(beside).collect();
        Some(paths.join(","))
    }

    fn flags(
        &self,
        verb: &clap::Command,
        settings: &[Setting],
        words: &mut Vec<String>,
    ) -> Result<(), CommandError> {
        for setting in settings.iter().filter(|setting| setting.key != WORKLOAD) {
            let arg = keys::find(verb, &setting.key, &|_| true);
            let arg = arg.map_err(|_| self.place.wrong(setting.line, "unknown key"))?;
            let at_line = |text: String| self.place.wrong(setting.line, &text);
            let value = keys::beside(&arg, setting.value.clone(), self.place.folder);
            words.extend(keys::flags(&arg, &setting.key, &value).map_err(at_line)?);
        }
        Ok(())
    }

    fn parse(&self, words: &[String], settings: &[Setting]) -> Result<Verb, CommandError> {
        Cli::try_parse_from(words)
            .map(|cli| cli.verb)
            .map_err(|error| {
                let key = keys::key_of(&error);
                let own = settings
                    .iter()
                    .find(|s| key.as_deref() == Some(s.key.as_str()));
                let place = match own {
                    Some(setting) => format!("{}:{}", self.place.file, setting.line),
                    None => self.shown(),
                };
                keys::refused(&place, &error)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_is_short_and_has_no_warm_up_unless_the_file_says_so() {
        let setting = |key: &str| Setting {
            key: key.into(),
            value: toml::Value::String("3s".into()),
            line: 7,
        };
        let of = |keys: &[&str]| {
            let own: Vec<Setting> = keys.iter().map(|key| setting(key)).collect();
            let each = slice(&own).into_iter();
            each.map(|s| format!("{}={}", s.key, s.value))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&[]), [r#"duration="10s""#, r#"warmup="0s""#]);
        assert_eq!(of(&["count"]), [r#"count="3s""#, r#"warmup="0s""#]);
        assert_eq!(
            of(&["duration", "warmup"]),
            [r#"duration="3s""#, r#"warmup="3s""#]
        );
    }
}
