//! `helenus populate`: flags into a request, the load live, what the tables hold in the end.
//! Refuses clusters that are not this user's: it changes nodes' settings and relies on what it remembers.

use crate::cli::doors::Doors;
use crate::cli::run::Populate;
use crate::commands::bench;
use crate::commands::disturb;
use crate::commands::run::{self, Chosen, choose_on, live_table};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Progress, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::settings::PutBack;
use helenus_lab::populate::{
    self, PopulateError, PopulateEvent, PopulateRequest, PopulateStep, Populated, Verified,
};
use helenus_model::format::Format;
use helenus_model::populate::{Beginning, Journal, TargetData, partitions_for};
use helenus_model::seed::Seed;
use helenus_model::units::{plural, thousands, whole};
use serde::Serialize;
use std::ffi::OsStr;
use std::fmt::Write as _;

pub(crate) fn run(flags: &Populate, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if flags.put_back {
        return put_back(flags, context, ui);
    }
    let request = request(flags, context)?;
    if flags.dry_run {
        return dry_run(&request, context, ui);
    }
    let _held = match request.kube {
        None => disturb::hold(context, &request.cluster),
        Some(_) => None,
    };
    let mut live = Live::new(ui);
    let populated = populate::populate(context, &request, &mut |event| live.see(&event));
    drop(live);
    let populated = populated.map_err(|error| {
        let failure = failure(error);
        match (failure.code, goes_on(context, &request)) {
            (code::INTERRUPTED, Some(hint)) => failure.hint(hint),
            _ => failure,
        }
    })?;
    ui.result(&populated, || text(&populated));
    let whole = populated.verified.as_ref().is_none_or(Verified::is_whole);
    Ok(if whole { 0 } else { code::BAR })
}

/// How to resume an interrupted one; nothing if it had not started to write.
fn goes_on(context: &Context, request: &PopulateRequest) -> Option<String> {
    let again = match request.anew {
        true => "the same command without --anew resumes it",
        false => "the same command again resumes it",
    };
    let request = PopulateRequest {
        anew: false,
        ..request.clone()
    };
    let all = request.data.partitions;
    match populate::look(context, &request).ok()?.0 {
        Beginning::Anew => None,
        Beginning::From(from) => Some(format!(
            "{again}: {} of {} partitions are written",
            thousands(from),
            thousands(all)
        )),
        Beginning::Loaded => Some(format!("{again}: all partitions are written")),
    }
}

fn request(flags: &Populate, context: &Context) -> Result<PopulateRequest, CommandError> {
    let mut flags = flags.clone();
    // A cluster that the environment names gives way to one that a flag names.
    if flags.on.is_some() && flags.cluster.as_deref().map(OsStr::new) == context.env.var(CLUSTER) {
        flags.cluster = None;
    }
    let words = flags.workload.as_deref().unwrap_or_default();
    let cluster = flags.cluster.as_deref();
    let look = |keyspace: &str, table: &str| {
        live_table(context, cluster.unwrap_or_default(), keyspace, table)
    };
    let live = cluster.is_some().then_some(&look as run::Live<'_>);
    let mut chosen = choose_on(words, &flags.params, None, live)?;
    chosen.with_table_options(&flags.table_options)?;
    request_of(&flags, &chosen)
}

/// The variable that names a cluster.
const CLUSTER: &str = "HELENUS_CLUSTER";

/// What the flags ask for of a workload that is chosen.
pub(crate) fn request_of(
    flags: &Populate,
    chosen: &Chosen,
) -> Result<PopulateRequest, CommandError> {
    let cluster = match (&flags.cluster, &flags.on) {
        (Some(name), None) | (None, Some(name)) => name.clone(),
        (Some(_), Some(_)) | (None, None) => {
            return Err(
                CommandError::new(code::USAGE, "--cluster and --on each name a cluster")
                    .hint("leave one of them out".to_owned()),
            );
        }
    };
    let kube = flags.on.is_some().then(|| {
        bench::given(&Doors {
            user: flags.user.clone(),
            password_from: flags.password_from.clone(),
            tls_ca: None,
            tls_cert: None,
            tls_key: None,
        })
    });
    let partitions = match (flags.partitions, flags.rows) {
        (Some(partitions), _) => partitions,
        (None, rows) => partitions_for(rows.unwrap_or(1), &chosen.workload),
    };
    let data = TargetData::new(&chosen.workload, partitions, Seed(flags.seed))?;
    Ok(PopulateRequest {
        cluster,
        kube: kube.transpose()?,
        data,
        rate_per_s: flags.rate,
        in_flight: flags.in_flight,
        consistency: flags.cl,
        replication_factor: flags.replication_factor.clone(),
        tries: flags.tries,
        raise_settings: !flags.no_care && flags.on.is_none(),
        verify: !flags.no_verify,
        anew: flags.anew,
        settle_within: flags.settle_within,
    })
}

pub(crate) fn failure(error: PopulateError) -> CommandError {
    let hint = error.hint();
    let code = match error {
        PopulateError::Bench(error) => return bench::failure(*error),
        PopulateError::TargetData(_)
        | PopulateError::Resume(_)
        | PopulateError::Expected(_)
        | PopulateError::OtherTable { .. } => code::USAGE,
        PopulateError::Failed { .. }
        | PopulateError::Counter { .. }
        | PopulateError::Unread { .. } => code::CLUSTER,
    };
    CommandError::of(code, &error).hint(hint)
}

fn put_back(flags: &Populate, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    /// What was put back.
    #[derive(Serialize)]
    struct RestoredSettings {
        format: Format,
        /// The cluster.
        cluster: String,
        /// Settings that are as they were again.
        put_back: Vec<PutBack>,
    }
    impl Answers for RestoredSettings {
        fn answer(&self) -> String {
            match self.put_back.len() {
                0 => "nothing to restore".to_owned(),
                n => format!("{} of {} restored", plural(n, "setting"), self.cluster),
            }
        }
    }
    if flags.on.is_some() {
        let text = "nodes in pods keep their settings: there is nothing to restore";
        return Err(CommandError::new(code::USAGE, text).hint("leave --put-back out".to_owned()));
    }
    let cluster = flags.cluster.as_deref().unwrap_or_default();
    if flags.dry_run {
        let state = context.clusters.load(cluster)?;
        let waits = helenus_cluster::raised_settings::is_raised(context, &state);
        ui.note(if waits {
            "settings that a load has raised would be restored (--dry-run)"
        } else {
            "no load has left a setting raised"
        });
        return Ok(0);
    }
    let restored = RestoredSettings {
        format: Format::new("put-back", 1),
        cluster: cluster.to_owned(),
        put_back: populate::put_back(context, cluster)?,
    };
    ui.result(&restored, || match &restored.put_back[..] {
        [] => restored.answer() + "\n",
        all => all
            .iter()
            .map(|one| format!("{}\n", setting(one)))
            .collect(),
    });
    Ok(0)
}

fn setting(one: &PutBack) -> String {
    let attribute = one.attribute.rsplit(' ').next().unwrap_or_default();
    format!(
        "{}: {attribute} is {} again, was {}",
        one.node, one.to, one.from
    )
}

fn dry_run(request: &PopulateRequest, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    /// What would be done.
    #[derive(Serialize)]
    struct Plan<'a> {
        format: Format,
        /// The cluster.
        cluster: &'a str,
        /// What is written.
        filling: Journal,
        /// Rows, about.
        rows: u64,
        /// Partition that it starts with.
        from: u64,
        /// Partitions a second; none is as fast as --in-flight allows.
        rate_per_s: Option<f64>,
        /// Whether settings of the nodes are raised meanwhile.
        care: bool,
        /// Whether settings that another load left raised are put back first.
        put_back_first: bool,
        /// Whether everything is read back.
        verify: bool,
    }
    impl Answers for Plan<'_> {
        fn answer(&self) -> String {
            format!(
                "{} into {}: {} partitions, about {} rows, seed {}",
                self.filling.workload,
                self.cluster,
                thousands(self.filling.partitions),
                thousands(self.rows),
                self.filling.seed.0
            )
        }
    }
    let (beginning, raised) = populate::look(context, request).map_err(failure)?;
    let filling = &request.data;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rows below 2^53"
    )]
    let rows = (filling.partitions as f64 * filling.rows_per_partition()).round() as u64;
    let plan = Plan {
        format: Format::new("populate-plan", 1),
        cluster: &request.cluster,
        filling: filling.journal(),
        rows,
        from: match beginning {
            Beginning::Anew => 0,
            Beginning::From(from) => from,
            Beginning::Loaded => filling.partitions,
        },
        rate_per_s: request.rate_per_s,
        care: request.raise_settings,
        put_back_first: raised,
        verify: request.verify,
    };
    ui.result(&plan, || {
        let rate = request.rate_per_s.map_or_else(
            || "as fast as --in-flight allows".to_owned(),
            |rate| format!("{} partitions a second", whole(rate)),
        );
        let mut text = format!(
            "{}\n{rate}, {} in flight, from partition {}\n",
            plan.answer(),
            request.in_flight,
            thousands(plan.from),
        );
        if plan.care {
            text.push_str("write time-out, compactors and compaction throughput are raised meanwhile, and restored\n");
        }
        if plan.verify {
            text.push_str("everything is read back\n");
        }
        text.push_str("nothing was started (--dry-run)\n");
        text
    });
    Ok(0)
}

impl Answers for Populated {
    fn answer(&self) -> String {
        format!("{}; {}", there(self), read_back(self.verified.as_ref()))
    }
}

/// What is there.
fn there(populated: &Populated) -> String {
    format!(
        "{} in {}: {} partitions, seed {}",
        populated.workload,
        populated.cluster,
        thousands(populated.partitions),
        populated.seed
    )
}

/// What reading it back has found.
fn read_back(verified: Option<&Verified>) -> String {
    match verified {
        None => "nothing was read back".to_owned(),
        Some(found) if found.is_whole() => {
            let rows = thousands(found.rows);
            format!("read back: {rows} rows, none missing, none wrong")
        }
        Some(found) => format!(
            "read back: {} rows; missing: {}, wrong: {}{}",
            thousands(found.rows),
            thousands(found.missing),
            thousands(found.wrong),
            found
                .first
                .as_ref()
                .map(|f| format!(" (first: {f})"))
                .unwrap_or_default()
        ),
    }
}

fn text(populated: &Populated) -> String {
    let mut text = there(populated) + "\n";
    let mut line = |words: String| {
        let _infallible = writeln!(text, "{words}");
    };
    if let Some(on) = &populated.on {
        line(format!("from inside: {on}"));
    }
    if populated.from > 0 {
        line(format!(
            "resumed at partition {}; those before it were acknowledged",
            thousands(populated.from)
        ));
    }
    if populated.sent > 0 {
        let repeated = match populated.repeated {
            0 => String::new(),
            n => format!(", {} sent again", thousands(n)),
        };
        line(format!(
            "sent {} operations with {} rows in {:.1} s{repeated}; flushed, and no compaction left after {:.1} s",
            thousands(populated.sent),
            thousands(populated.rows),
            populated.load_s,
            populated.settle_s
        ));
    }
    for one in &populated.put_back {
        line(setting(one));
    }
    line(read_back(populated.verified.as_ref()));
    if let Some(found) = &populated.verified {
        checksum(found, &mut line);
    }
    text
}

/// The checksum, and rows that are not the workload's, which change it.
fn checksum(found: &Verified, line: &mut dyn FnMut(String)) {
    if found.foreign > 0 {
        line(format!(
            "{} rows exist that the workload never writes",
            thousands(found.foreign)
        ));
    }
    match (&found.checksum, &found.expected_checksum) {
        (Some(sum), Some(expected)) if sum == expected => {
            line(format!("checksum of the content: {sum}, as expected"));
        }
        (Some(sum), _) => line(format!("checksum of the content: {sum}")),
        (None, _) => {}
    }
}

/// The load as it goes.
pub(crate) struct Live<'a> {
    ui: &'a Ui,
    progress: Option<(Progress, &'static str)>,
}

impl<'a> Live<'a> {
    pub(crate) fn new(ui: &'a Ui) -> Self {
        Self { ui, progress: None }
    }

    pub(crate) fn see(&mut self, event: &PopulateEvent<'_>) {
        match event {
            PopulateEvent::Step(step) => self.step(*step),
            PopulateEvent::Resumed { from } => self
                .ui
                .note(&format!("resuming at partition {}", thousands(*from))),
            PopulateEvent::Left(left) => {
                self.ui
                    .note(&format!("left by an interrupted load: {}", setting(left)));
            }
            PopulateEvent::Done { done, of, repeated } => {
                if let Some((progress, words)) = &self.progress {
                    if *repeated > 0 {
                        progress.say(format!("{words} ({repeated} sent again)"));
                    }
                    progress.at((*done).min(*of), *of);
                }
            }
            PopulateEvent::Keys { done, of } => {
                if let Some((progress, _)) = &self.progress {
                    progress.say("computing keys");
                    progress.at(*done, *of);
                }
            }
            PopulateEvent::Scanned { rows, share } => {
                if let Some((progress, words)) = &self.progress {
                    progress.say(format!("{words}: {} rows", thousands(*rows)));
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a share of 1000"
                    )]
                    let done = (share * 1000.0) as u64;
                    progress.at(done, 1000);
                }
            }
            PopulateEvent::Compactions(tasks) => {
                if let Some((progress, words)) = &self.progress {
                    progress.say(format!("{words}: {tasks} left"));
                }
            }
        }
    }

    fn step(&mut self, step: PopulateStep) {
        self.progress = None;
        let words = match step {
            PopulateStep::Look => "checking the cluster",
            PopulateStep::Prepare => "creating keyspace and tables",
            PopulateStep::Generator => "starting the generator",
            PopulateStep::Care => "raising the nodes' settings",
            PopulateStep::Load => "writing",
            PopulateStep::Settle => "flushing, and waiting for compactions",
            PopulateStep::PutBack => "restoring the nodes' settings",
            PopulateStep::Verify => "reading everything back",
        };
        self.progress = Some((self.ui.progress(words), words));
    }
}
