//! `helenus ccm`: lines of ccm, as the lines of Helenus that they stand for.
//! Refuses what has no meaning here, with what takes its place.

mod kept;
mod lines;
mod show;

use crate::cli::ccm::{Ccm, ClusterLine, ClusterVerb, Create, NodeLine, NodeVerb};
use crate::commands::disturb;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use clap::Parser as _;
use helenus_cluster::context::Context;
use helenus_cluster::state::ClusterState;
use helenus_model::secret::command_line;
use kept::Kept;
use lines::{Facts, Step};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};

/// Commands of ccm that have no meaning here, and what takes their place.
const REFUSED: [(&str, &str); 14] = [
    ("bulkload", "helenus load FILE --into KEYSPACE.TABLE"),
    (
        "byteman",
        "helenus fault: pauses, losses, slow disks, partitions",
    ),
    (
        "clearrepo",
        "helenus keeps releases in its cache: helenus releases",
    ),
    ("enableaoss", "DataStax Enterprise is not run"),
    (
        "getsstables",
        "helenus unload KEYSPACE.TABLE writes the rows",
    ),
    ("jconsole", "helenus jmx NAME/NODE prints how to connect"),
    ("json", "helenus unload KEYSPACE.TABLE -o rows.jsonl"),
    ("setdir", "helenus up NAME --cassandra-home DIR"),
    ("setworkload", "DataStax Enterprise is not run"),
    ("showlastlog", "helenus logs NAME/NODE"),
    ("showlogs", "helenus logs NAME/NODE --follow"),
    ("updatedseconf", "DataStax Enterprise is not run"),
    ("updatelog4j", "ccm NODE setlog LEVEL -c CLASS"),
    ("versionfrombuild", "ccm NODE version"),
];

pub(crate) fn run(flags: &Ccm, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    if ui.json() {
        return Err(CommandError::new(code::USAGE, "ccm has no JSON output")
            .hint("helenus list, status, env and the others have".to_owned()));
    }
    let mut words = flags.line.clone();
    let folder = config_dir(&mut words).or(flags.config_dir.clone());
    let context = &at_home(folder.as_deref(), context)?;
    let mut at = At {
        dry_run: flags.dry_run,
        named: flags.cluster.clone(),
        kept: Kept::read(&context.paths.state)?,
        context,
        ui,
    };
    if let Some(node) = words.first().filter(|word| is_node(word)) {
        refuse(&words[1..])?;
        let line = NodeLine::try_parse_from(&words[1..]).unwrap_or_else(|error| error.exit());
        return at.node(node, &line.verb);
    }
    refuse(&words)?;
    let line = ClusterLine::try_parse_from(&words).unwrap_or_else(|error| error.exit());
    at.cluster(line.verb)
}

/// Whether a word names a node: `node1`.
fn is_node(word: &str) -> bool {
    let number = word.strip_prefix("node").unwrap_or_default();
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
}

fn refuse(words: &[String]) -> Result<(), CommandError> {
    let verb = words.first().map(String::as_str).unwrap_or_default();
    match REFUSED.iter().find(|(name, _)| *name == verb) {
        Some((_, cure)) => Err(CommandError::new(
            code::USAGE,
            format!("ccm {verb} is not supported"),
        )
        .hint(Some((*cure).to_owned()))),
        None => Ok(()),
    }
}

/// Takes `--config-dir` out of a line: ccm has it at every place.
fn config_dir(words: &mut Vec<String>) -> Option<PathBuf> {
    let is_flag = |word: &String| word == "--config-dir" || word.starts_with("--config-dir=");
    let at = words.iter().position(is_flag)?;
    let word = words.remove(at);
    match word.split_once('=') {
        Some((_, folder)) => Some(folder.into()),
        None => (at < words.len()).then(|| words.remove(at).into()),
    }
}

/// The folders that the line's clusters are in.
fn at_home(folder: Option<&Path>, context: &Context) -> Result<Context, CommandError> {
    let Some(folder) = folder else {
        return Ok(context.clone());
    };
    let failed = |e: std::io::Error| CommandError::of(code::USAGE, &e);
    let folder = std::path::absolute(folder).map_err(failed)?;
    fs_err::create_dir_all(&folder).map_err(failed)?;
    let mut env = context.env.clone();
    // What is fetched and computed once serves all folders.
    let cache = context.paths.cache.clone().into_os_string();
    env.vars.insert("HELENUS_CACHE".into(), cache);
    env.vars
        .insert("HELENUS_HOME".into(), folder.into_os_string());
    Ok(Context::open(
        env,
        context.helenus.clone(),
        context.cancel.clone(),
    )?)
}

/// Where a line is carried out.
struct At<'a> {
    dry_run: bool,
    /// The cluster that the line names.
    named: Option<String>,
    kept: Kept,
    context: &'a Context,
    ui: &'a Ui,
}

impl At<'_> {
    fn cluster(&mut self, verb: ClusterVerb) -> Result<u8, CommandError> {
        match verb {
            ClusterVerb::Create(create) => self.create(&create),
            ClusterVerb::Populate(nodes) => {
                let (name, made) = self.chosen()?;
                if self.context.clusters.folder(&name).exists() {
                    let text = format!("{name} has its nodes already");
                    return Err(CommandError::new(code::USAGE, text)
                        .hint("ccm add adds one, ccm remove removes the cluster".to_owned()));
                }
                let steps = lines::populate(&name, &made, &nodes, &self.context.env)?;
                self.carry_out(&name, steps)
            }
            ClusterVerb::List => {
                let names = self.kept.names(&self.context.clusters)?;
                self.ui
                    .out(&show::list(&names, self.kept.current.as_deref()));
                Ok(0)
            }
            ClusterVerb::Switch { name } => {
                let names = self.kept.names(&self.context.clusters)?;
                if !names.contains(&name) {
                    let text = format!("there is no cluster {name}");
                    return Err(CommandError::new(code::USAGE, text)
                        .hint(format!("ccm list: {}", names.join(", "))));
                }
                self.kept.current = Some(name);
                self.write()
            }
            ClusterVerb::Remove { name } => self.remove(name),
            ClusterVerb::Updateconf(conf) => self.configure(None, lines::settings(&conf)?),
            ClusterVerb::Add(add) => {
                let state = self.current()?;
                lines::may_add(&state, &add, &self.kept)?;
                self.kept.made(&state.plan.name).added.push(kept::Added {
                    name: add.name,
                    data_center: add.data_center,
                });
                self.write()
            }
            ClusterVerb::Status { verbose } => {
                let (name, _) = self.chosen()?;
                let facts = match self.context.clusters.folder(&name).exists() {
                    true => Some(self.current()?),
                    false => None,
                };
                self.ui.out(&show::status(&name, facts.as_ref(), verbose));
                Ok(0)
            }
            ClusterVerb::Liveset => {
                self.ui.out(&show::liveset(&Facts::of(&self.current()?)));
                Ok(0)
            }
            ClusterVerb::Checklogerror => {
                self.ui.out(&show::errors(&self.current()?));
                Ok(0)
            }
            ClusterVerb::Clear => self.clear(),
            verb => {
                let state = self.current()?;
                let name = state.plan.name.clone();
                // A start that was cut short has let some of them join.
                let mut added = self.kept.made(&name).added.clone();
                added.retain(|added| state.node(&added.name).is_err());
                let starts = matches!(verb, ClusterVerb::Start(_));
                let steps = lines::of_cluster(&verb, &Facts::of(&state), &added);
                let ended = self.carry_out(&name, steps)?;
                if starts && ended == 0 && !self.dry_run {
                    self.kept.made(&name).added.clear();
                    return self.write();
                }
                Ok(ended)
            }
        }
    }

    fn node(&mut self, node: &str, verb: &NodeVerb) -> Result<u8, CommandError> {
        let state = &self.current()?;
        let name = state.plan.name.as_str();
        let added = self.kept.made(name).added.clone();
        if let (Some(at), NodeVerb::Start(_)) = (added.iter().position(|a| a.name == node), verb) {
            let ended = self.carry_out(name, vec![lines::joins(name, &added[at])])?;
            if ended == 0 {
                self.kept.made(name).added.remove(at);
                self.write()?;
            }
            return Ok(ended);
        }
        state.node(node)?;
        match verb {
            NodeVerb::Updateconf(conf) => self.configure(Some(node), lines::settings(conf)?),
            NodeVerb::Status | NodeVerb::Show => {
                self.ui.out(&show::node(state, node));
                Ok(0)
            }
            verb => {
                let steps = lines::of_node(node, verb, &Facts::of(state));
                self.carry_out(name, steps)
            }
        }
    }

    fn create(&mut self, create: &Create) -> Result<u8, CommandError> {
        let name = &create.name;
        helenus_model::topology::check_cluster_name(name)
            .map_err(|e| CommandError::of(code::USAGE, &e))?;
        // One without nodes is no more than its name.
        if self.context.clusters.folder(name).exists() {
            let text = format!("there is a cluster {name} already");
            return Err(
                CommandError::new(code::USAGE, text).hint(format!("ccm remove {name} removes it"))
            );
        }
        let made = lines::create(create)?;
        let populates = create.nodes.nodes.is_some();
        let mut steps = Vec::new();
        if populates {
            steps = lines::populate(name, &made, &create.nodes, &self.context.env)?;
            if create.start {
                steps.push(Step::helenus(["start", name]));
            }
        }
        let before = self.kept.current.clone();
        self.kept.clusters.insert(name.clone(), made);
        if !create.no_switch {
            self.kept.current = Some(name.clone());
        }
        self.write()?;
        let ended = self.carry_out(name, steps)?;
        if ended != 0 && !self.context.clusters.folder(name).exists() {
            // It was refused: there is nothing to go on with.
            self.kept.clusters.remove(name);
            self.kept.current = before;
            self.write()?;
        }
        if ended == 0 && !create.no_switch && !self.dry_run {
            self.ui.out(&format!("Current cluster is now: {name}\n"));
        }
        Ok(ended)
    }

    fn remove(&mut self, name: Option<String>) -> Result<u8, CommandError> {
        let name = match name {
            Some(name) => name,
            None => self.chosen()?.0,
        };
        let there = self.context.clusters.folder(&name).exists();
        if !there && !self.kept.clusters.contains_key(&name) {
            // The error of the verb names those that are there.
            self.context.clusters.load(&name)?;
        }
        if there {
            let ended = self.carry_out(&name, vec![Step::helenus(["rm", &name])])?;
            if ended != 0 {
                return Ok(ended);
            }
        }
        if self.dry_run {
            return Ok(0);
        }
        self.kept.clusters.remove(&name);
        self.kept.current = self.kept.current.take().filter(|current| *current != name);
        self.write()
    }

    fn clear(&self) -> Result<u8, CommandError> {
        let state = self.current()?;
        let name = &state.plan.name;
        let ended = self.carry_out(name, vec![Step::helenus(["stop", name])])?;
        if self.dry_run || ended != 0 {
            return Ok(ended);
        }
        disturb::may(self.context, name, false)?;
        self.context.clear(name)?;
        Ok(0)
    }

    /// Keeps settings for the next start of a node or of all; of a cluster without nodes, until it has some.
    fn configure(
        &mut self,
        node: Option<&str>,
        set: Vec<(String, serde_json::Value)>,
    ) -> Result<u8, CommandError> {
        let (name, _) = self.chosen()?;
        if self.context.clusters.folder(&name).exists() {
            let set = Step::Set {
                node: node.map(str::to_owned),
                set,
            };
            return self.carry_out(&name, vec![set]);
        }
        self.kept.made(&name).set.extend(set);
        self.write()
    }

    /// The cluster that the line is about, and what is kept of it.
    fn chosen(&self) -> Result<(String, kept::Made), CommandError> {
        self.kept.of(self.named.as_deref())
    }

    /// The same, which has nodes.
    fn current(&self) -> Result<ClusterState, CommandError> {
        let (name, _) = self.chosen()?;
        if !self.context.clusters.folder(&name).exists() {
            let text = format!("{name} has no nodes yet");
            return Err(CommandError::new(code::USAGE, text)
                .hint("ccm populate -n 3 gives it three".to_owned()));
        }
        Ok(self.context.clusters.load(&name)?)
    }

    fn write(&self) -> Result<u8, CommandError> {
        if !self.dry_run {
            self.kept.write(&self.context.paths.state)?;
        }
        Ok(0)
    }

    /// Carries out steps one after the other, up to the first that fails.
    fn carry_out(&self, name: &str, steps: Vec<Step>) -> Result<u8, CommandError> {
        for step in steps {
            if self.dry_run {
                self.ui.out(&format!("{}\n", step.text(name)));
                continue;
            }
            let words = match step {
                Step::Helenus(words) => words,
                Step::Set { node, set } => {
                    let new = helenus_cluster::lifecycle::NewSettings {
                        set,
                        jvm: Vec::new(),
                    };
                    self.context.configure(name, node.as_deref(), &new)?;
                    continue;
                }
            };
            let ended = std::process::Command::new(&self.context.helenus)
                .args(&words)
                .envs(&self.context.env.vars)
                .status()?;
            let code = match (ended.code(), ended.signal()) {
                (Some(code), _) => u8::try_from(code).unwrap_or(code::CLUSTER),
                (None, _) => code::INTERRUPTED,
            };
            if code != 0 {
                tracing::info!(line = command_line(words.into_iter()), code, "ended");
                return Ok(code);
            }
        }
        Ok(0)
    }
}
