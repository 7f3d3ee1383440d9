//! The lines of Helenus that a line of ccm stands for.
//! Refuses to carry them out.

use super::kept::{Added, Kept, Made};
use crate::cli::ccm::{
    Add, ClusterVerb, Cqlsh, Create, NodeVerb, Nodes, Setlog, Start, Stop, Updateconf, Words,
};
use crate::error::{CommandError, code};
use helenus_cluster::env::Env;
use helenus_cluster::observe;
use helenus_cluster::state::ClusterState;
use helenus_model::plan::AUTHENTICATOR;
use helenus_model::secret::command_line;
use helenus_model::yaml;
use serde_json::{Value, json};

/// A step of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// A line of Helenus.
    Helenus(Vec<String>),
    /// Settings for the next start.
    Set {
        /// Of one node, or of all.
        node: Option<String>,
        /// Keys of cassandra.yaml.
        set: Vec<(String, Value)>,
    },
}

impl Step {
    pub(super) fn helenus<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Helenus(words.into_iter().map(str::to_owned).collect())
    }

    /// As a person would write it.
    pub(super) fn text(&self, cluster: &str) -> String {
        let words = match self {
            Self::Helenus(words) => words.clone(),
            Self::Set { node, set } => {
                let target = match node {
                    Some(node) => format!("{cluster}/{node}"),
                    None => cluster.to_owned(),
                };
                let set = set.iter().flat_map(|(key, value)| {
                    let value = match value {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    };
                    ["--set".to_owned(), format!("{key}={value}")]
                });
                ["start".to_owned(), target]
                    .into_iter()
                    .chain(set)
                    .collect()
            }
        };
        command_line(std::iter::once("helenus".to_owned()).chain(words))
    }
}

/// What a line needs to know of a cluster.
#[derive(Debug)]
pub(super) struct Facts {
    /// Its name.
    pub(super) name: String,
    /// Its nodes.
    pub(super) nodes: Vec<NodeFacts>,
}

/// What a line needs to know of a node.
#[derive(Debug)]
pub(super) struct NodeFacts {
    /// Its name.
    pub(super) name: String,
    /// Its address.
    pub(super) address: String,
    /// Whether its process runs.
    pub(super) up: bool,
}

impl Facts {
    pub(super) fn of(state: &ClusterState) -> Self {
        let up = observe::pids(state);
        let up = |name: &str| up.iter().any(|(node, pid)| *node == name && pid.is_some());
        let nodes = state.plan.nodes.iter().map(|node| NodeFacts {
            name: node.name.clone(),
            address: node.address.to_string(),
            up: up(&node.name),
        });
        Self {
            name: state.plan.name.clone(),
            nodes: nodes.collect(),
        }
    }

    fn up(&self) -> impl Iterator<Item = &NodeFacts> {
        self.nodes.iter().filter(|node| node.up)
    }

    fn target(&self, node: &str) -> String {
        format!("{}/{node}", self.name)
    }
}

/// What `create` says of a cluster to be.
pub(super) fn create(create: &Create) -> Result<Made, CommandError> {
    let mut made = Made::default();
    if let Some(home) = &create.install_dir {
        made.up = vec!["--cassandra-home".into(), home.to_string_lossy().into()];
    } else if let Some(version) = &create.version {
        made.up = vec!["--cassandra".into(), release(version)?];
    }
    let jvm = create.jvm.iter().flat_map(|flags| flags.split_whitespace());
    made.up.extend(jvm.map(|flag| format!("--jvm={flag}")));
    if create.pwd_auth {
        made.set = vec![
            (AUTHENTICATOR.into(), json!("PasswordAuthenticator")),
            ("authorizer".into(), json!("CassandraAuthorizer")),
        ];
    }
    Ok(made)
}

/// The release that a version of ccm means.
fn release(version: &str) -> Result<String, CommandError> {
    let (kind, rest) = version.split_once(':').unwrap_or(("release", version));
    match kind {
        "release" | "binary" => Ok(rest.to_owned()),
        _ => Err(CommandError::new(
            code::USAGE,
            format!("{version}: Cassandra is not built from its source"),
        )
        .hint("build it, then: ccm create NAME --install-dir DIR".to_owned())),
    }
}

/// The lines that give a cluster its nodes.
pub(super) fn populate(
    name: &str,
    made: &Made,
    nodes: &Nodes,
    env: &Env,
) -> Result<Vec<Step>, CommandError> {
    let Some(count) = &nodes.nodes else {
        return Err(CommandError::new(code::USAGE, "how many nodes?")
            .hint("ccm populate -n 3, or -n 2:2 for two data centres".to_owned()));
    };
    let mut up: Vec<String> = ["up", name, "--no-start", "--preset", "dev"]
        .map(str::to_owned)
        .into();
    let prefix = nodes.ip_prefix.as_deref().unwrap_or("127.0.0.");
    up.extend(["--addresses".into(), prefix.trim_end_matches('.').into()]);
    match count.split_once(':') {
        None => up.extend(["-n".into(), count.clone()]),
        Some(_) => {
            let each = count.trim_end_matches(':').split(':').enumerate();
            up.extend(each.flat_map(|(k, n)| ["--dc".into(), format!("dc{}={n}", k + 1)]));
        }
    }
    for (variable, flag) in [
        ("CCM_MAX_HEAP_SIZE", "--heap"),
        ("CCM_HEAP_NEWSIZE", "--new-heap"),
    ] {
        if let Some(size) = env.var(variable) {
            up.extend([flag.into(), size.to_string_lossy().into()]);
        }
    }
    if nodes.vnodes {
        up.extend(["--tokens".into(), "16".into()]);
    }
    up.extend(made.up.iter().cloned());
    let mut steps = vec![Step::Helenus(up)];
    if !made.set.is_empty() {
        steps.push(Step::Set {
            node: None,
            set: made.set.clone(),
        });
    }
    Ok(steps)
}

/// Refuses a node that cannot be the next one.
pub(super) fn may_add(state: &ClusterState, add: &Add, kept: &Kept) -> Result<(), CommandError> {
    let added = kept.clusters.get(&state.plan.name);
    let added = added.map(|made| made.added.as_slice()).unwrap_or_default();
    let gone = state.gone.iter().map(|gone| gone.name.as_str());
    let next = state
        .plan
        .next_name(gone.chain(added.iter().map(|a| a.name.as_str())));
    if add.name == next {
        return Ok(());
    }
    let text = format!("the next node of {} is {next}", state.plan.name);
    Err(CommandError::new(code::USAGE, text).hint(format!("ccm add {next}")))
}

/// Settings of `updateconf`.
pub(super) fn settings(conf: &Updateconf) -> Result<Vec<(String, Value)>, CommandError> {
    let mut set = Vec::new();
    for text in &conf.settings {
        let wrong = |why: String| {
            CommandError::new(code::USAGE, format!("{text:?}: {why}"))
                .hint("write 'key: value', such as 'read_request_timeout: 7s'".to_owned())
        };
        let parse = |text: &str| yaml::parse(text).map_err(|e| wrong(e.to_string()));
        // ccm needs no space behind the colon.
        let spaced = text.replacen(':', ": ", 1);
        match parse(if conf.yaml { text } else { &spaced })? {
            Value::Object(map) => set.extend(map),
            _ => return Err(wrong("this is not a key with a value".to_owned())),
        }
    }
    if let Some(ms) = conf.timeout_ms {
        for key in ["read", "range", "write", "truncate", "counter_write"] {
            set.push((format!("{key}_request_timeout"), json!(format!("{ms}ms"))));
        }
        set.push(("request_timeout".into(), json!(format!("{ms}ms"))));
    }
    if conf.no_hints {
        set.push(("hinted_handoff_enabled".into(), json!(false)));
    }
    if conf.batch_cl {
        set.push(("commitlog_sync".into(), json!("batch")));
        for key in ["commitlog_sync_period", "commitlog_sync_period_in_ms"] {
            set.push((key.into(), Value::Null));
        }
    }
    if conf.periodic_cl {
        set.push(("commitlog_sync".into(), json!("periodic")));
        set.push(("commitlog_sync_period".into(), json!("10s")));
    }
    if set.is_empty() {
        return Err(CommandError::new(code::USAGE, "which settings?")
            .hint("ccm updateconf 'read_request_timeout: 7s'".to_owned()));
    }
    Ok(set)
}

/// The lines of a verb about a whole cluster; none for one that only looks.
pub(super) fn of_cluster(verb: &ClusterVerb, facts: &Facts, added: &[Added]) -> Vec<Step> {
    let name = facts.name.as_str();
    let tool = |words: &[&str]| {
        let nodes = facts.up().map(|node| nodetool(facts, &node.name, words));
        nodes.collect()
    };
    match verb {
        ClusterVerb::Start(flags) => {
            let mut steps = vec![start(name, flags)];
            steps.extend(added.iter().map(|added| joins(name, added)));
            steps
        }
        ClusterVerb::Stop(Stop {
            not_gently: true, ..
        }) => {
            let up = facts.up();
            up.map(|node| Step::helenus(["kill", &facts.target(&node.name)]))
                .collect()
        }
        ClusterVerb::Stop(_) => vec![Step::helenus(["stop", name])],
        ClusterVerb::Flush => tool(&["flush"]),
        ClusterVerb::Compact => tool(&["compact"]),
        ClusterVerb::Drain => tool(&["drain"]),
        ClusterVerb::Cleanup => tool(&["cleanup"]),
        ClusterVerb::Setlog(level) => tool(&logger(level)),
        ClusterVerb::Stress(words) => vec![stress(name, words)],
        _ => Vec::new(),
    }
}

/// The lines of a verb about one node; none for one that only looks.
pub(super) fn of_node(node: &str, verb: &NodeVerb, facts: &Facts) -> Vec<Step> {
    let target = facts.target(node);
    let tool = |words: &[&str]| vec![nodetool(facts, node, words)];
    let more = |first: &str, words: &Words| {
        let words = words.words.iter().map(String::as_str);
        let all: Vec<&str> = std::iter::once(first).chain(words).collect();
        vec![nodetool(facts, node, &all)]
    };
    match verb {
        NodeVerb::Start(flags) => vec![start(&target, flags)],
        NodeVerb::Stop(Stop {
            not_gently: true, ..
        }) => vec![Step::helenus(["kill", &target])],
        NodeVerb::Stop(_) => vec![Step::helenus(["stop", &target])],
        NodeVerb::Showlog => vec![Step::helenus(["logs", &target])],
        NodeVerb::Nodetool(Words { words }) if words[..] == ["decommission"] => {
            vec![Step::helenus(["node", "decommission", &target])]
        }
        NodeVerb::Nodetool(words) => {
            let words: Vec<&str> = words.words.iter().map(String::as_str).collect();
            tool(&words)
        }
        NodeVerb::Ring => tool(&["ring"]),
        NodeVerb::Flush(words) => more("flush", words),
        NodeVerb::Compact(words) => more("compact", words),
        NodeVerb::Drain => tool(&["drain"]),
        NodeVerb::Cleanup(words) => more("cleanup", words),
        NodeVerb::Repair(words) => more("repair", words),
        NodeVerb::Scrub(words) => more("scrub", words),
        NodeVerb::Verify(words) => more("verify", words),
        NodeVerb::Version => tool(&["version"]),
        NodeVerb::Cqlsh(flags) => vec![cqlsh(&target, flags)],
        NodeVerb::Decommission { force } => {
            let force = force.then_some("--force");
            let words = ["node", "decommission", &target];
            vec![Step::helenus(words.into_iter().chain(force))]
        }
        NodeVerb::Remove => vec![Step::helenus(["node", "remove", &target])],
        NodeVerb::Pause => vec![Step::helenus(["pause", &target])],
        NodeVerb::Resume => vec![Step::helenus(["resume", &target])],
        NodeVerb::Setlog(level) => tool(&logger(level)),
        NodeVerb::Stress(words) => vec![stress(&facts.name, words)],
        NodeVerb::Status | NodeVerb::Show | NodeVerb::Updateconf(_) => Vec::new(),
    }
}

fn start(target: &str, flags: &Start) -> Step {
    let mut words = vec!["start".to_owned(), target.to_owned()];
    let jvm = flags.jvm.iter().flat_map(|flags| flags.split_whitespace());
    words.extend(jvm.map(|flag| format!("--jvm={flag}")));
    Step::Helenus(words)
}

pub(super) fn joins(cluster: &str, added: &Added) -> Step {
    let mut words: Vec<String> = ["node", "add", cluster].map(str::to_owned).into();
    let center = added.data_center.iter();
    words.extend(center.flat_map(|center| ["--dc".to_owned(), center.clone()]));
    Step::Helenus(words)
}

fn nodetool(facts: &Facts, node: &str, words: &[&str]) -> Step {
    let target = facts.target(node);
    let words = words.iter().copied();
    Step::helenus(["nodetool", target.as_str()].into_iter().chain(words))
}

fn logger(level: &Setlog) -> [&str; 3] {
    let class = level.class.as_deref().unwrap_or("ROOT");
    ["setlogginglevel", class, &level.level]
}

fn stress(cluster: &str, words: &Words) -> Step {
    let words = words.words.iter().map(String::as_str);
    let words = words.skip_while(|word| *word == "--");
    Step::helenus(["stress", "--cluster", cluster].into_iter().chain(words))
}

fn cqlsh(target: &str, flags: &Cqlsh) -> Step {
    let mut words = vec!["cqlsh".to_owned(), target.to_owned()];
    if let Some(statements) = &flags.execute {
        words.extend(["-e".to_owned(), statements.clone()]);
    }
    if let Some(file) = &flags.file {
        words.extend(["-f".to_owned(), file.to_string_lossy().into_owned()]);
    }
    Step::Helenus(words)
}
