//! What a shell asks while a person types: verbs and flags, and the clusters, nodes, runs, tags, baselines, faults,
//! workloads and releases that there are.
//! Refuses to write, to start anything, and to say why it knows nothing.

use crate::cli::Cli;
use clap::{Arg, Command, CommandFactory as _};
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use helenus_cluster::baseline::Baselines;
use helenus_cluster::env::Env;
use helenus_cluster::paths::Paths;
use helenus_cluster::state::Clusters;
use helenus_model::built_in;
use helenus_model::fault::WORDS;
use helenus_model::release::Release;
use helenus_record::{FILE, History};
use std::ffi::OsStr;
use std::process::ExitCode;

/// Set by the scripts of `helenus completions`, to the shell's name.
pub(super) const VARIABLE: &str = "HELENUS_COMPLETE";

/// Runs that are offered, the newest.
const RUNS: u32 = 50;

/// What stands in an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cluster,
    /// A cluster, or one of its nodes.
    Node,
    /// A cluster, or one of its data centres or nodes.
    Place,
    Run,
    RunOrFile,
    Tag,
    /// A cluster that baselines are of.
    Saved,
    /// A baseline of the cluster that was named before.
    Baseline,
    /// The words of a fault, one after the other.
    Fault,
    /// What a fault of the cluster named before may be done to.
    Target,
    Workload,
    WorkloadOrFile,
    Release,
}

/// Answers a shell that asks for completions; none where nobody does.
pub(crate) fn asked() -> Option<ExitCode> {
    let here = std::env::current_dir().ok();
    let answered = CompleteEnv::with_factory(|| dressed(Cli::command(), ""))
        .var(VARIABLE)
        .try_complete(std::env::args_os(), here.as_deref());
    match answered {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        // A person is in the middle of a line: nothing is said.
        Err(_) => Some(ExitCode::FAILURE),
    }
}

/// The command line whose arguments know what may stand in them; `verb` leads to `command`.
fn dressed(command: Command, verb: &str) -> Command {
    let command = command.mut_args(|arg| match kind(verb, &arg) {
        Some(kind) => arg.add(ArgValueCompleter::new(move |typed: &OsStr| {
            candidates(kind, typed)
        })),
        None => arg,
    });
    let verbs: Vec<String> = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned())
        .collect();
    verbs.into_iter().fold(command, |command, name| {
        let path = format!("{verb} {name}");
        command.mut_subcommand(name, |sub| dressed(sub, path.trim_start()))
    })
}

/// What stands in an argument, by its name and that of its value.
fn kind(verb: &str, arg: &Arg) -> Option<Kind> {
    let names = arg.get_value_names().unwrap_or_default();
    let value = names.first().map_or("", |name| name.as_str());
    let of = |verbs: &[&str]| verbs.contains(&verb);
    Some(match (arg.get_id().as_str(), value) {
        ("workload", "WORKLOAD") => Kind::WorkloadOrFile,
        ("workload", _) => Kind::Workload,
        ("name", _) if verb == "workload show" => Kind::Workload,
        (_, "NAME")
            if of(&[
                "baseline restore",
                "baseline verify",
                "baseline rm",
                "baseline list",
            ]) =>
        {
            Kind::Saved
        }
        (_, "TAG") if of(&["baseline restore", "baseline verify", "baseline rm"]) => Kind::Baseline,
        ("words", _) if verb == "fault" => Kind::Fault,
        ("target", _) if verb == "heal" => Kind::Target,
        (_, "NAME[/NODE]" | "NAME/NODE") => Kind::Node,
        (_, "NAME[/DC|/NODE]") => Kind::Place,
        ("cluster", _) | (_, "CLUSTER") => Kind::Cluster,
        ("name" | "names" | "cluster_name", "NAME" | "name" | "names")
            if !of(&["up", "workload new"]) =>
        {
            Kind::Cluster
        }
        (_, "RUN|FILE") => Kind::RunOrFile,
        (_, "RUN" | "RUN|COMPARISON" | "A B") => Kind::Run,
        ("tag" | "from", "TAG") if !verb.starts_with("baseline") => Kind::Tag,
        ("release" | "cassandra", _) => Kind::Release,
        _ => return None,
    })
}

fn candidates(kind: Kind, typed: &OsStr) -> Vec<CompletionCandidate> {
    let begun = typed.to_string_lossy();
    let known = match kind {
        Kind::Cluster => clusters(None),
        Kind::Node => clusters(Some((&begun, false))),
        Kind::Place => clusters(Some((&begun, true))),
        Kind::Run | Kind::RunOrFile => runs(),
        Kind::Tag => tags(),
        Kind::Saved => saved(None),
        Kind::Baseline => saved(typed_before().get(2).map(String::as_str)),
        Kind::Fault => fault(&typed_before()),
        Kind::Target => targets(&typed_before()),
        Kind::Workload | Kind::WorkloadOrFile => built_in::ALL
            .iter()
            .map(|known| (known.name.to_owned(), None))
            .collect(),
        Kind::Release => Release::all()
            .iter()
            .map(|release| (release.version.to_owned(), None))
            .collect(),
    };
    let begins = |(name, _): &(String, _)| name.starts_with(&*begun);
    let candidate = |(name, help): (String, Option<String>)| {
        CompletionCandidate::new(name).help(help.map(Into::into))
    };
    let mut all: Vec<_> = known.into_iter().filter(begins).map(candidate).collect();
    if matches!(kind, Kind::RunOrFile | Kind::WorkloadOrFile) {
        all.extend(PathCompleter::any().complete(typed));
    }
    all
}

type Known = Vec<(String, Option<String>)>;

fn paths() -> Option<Paths> {
    Paths::find(&Env::of_process()).ok()
}

/// Clusters; with a slash typed, or where it is the only one, also what is inside.
fn clusters(inside: Option<(&str, bool)>) -> Known {
    let Some(paths) = paths() else {
        return Known::new();
    };
    let clusters = Clusters::look(&paths.state);
    let names = clusters.names().unwrap_or_default();
    let mut known: Known = names.iter().map(|name| (name.clone(), None)).collect();
    let Some((begun, data_centers)) = inside else {
        return known;
    };
    let wanted = match begun.split_once('/') {
        Some((cluster, _)) => Some(cluster.to_owned()),
        None if names.len() == 1 => names.first().cloned(),
        None => None,
    };
    let Some(state) = wanted.and_then(|name| clusters.load(&name).ok()) else {
        return known;
    };
    let cluster = &state.plan.name;
    for node in &state.plan.nodes {
        let dc = format!("{cluster}/{}", node.data_center);
        if data_centers && !known.iter().any(|(name, _)| *name == dc) {
            known.push((dc, Some("data centre".into())));
        }
    }
    let place =
        |node: &helenus_model::plan::NodePlan| format!("{} in {}", node.rack, node.data_center);
    let nodes = state.plan.nodes.iter();
    known.extend(nodes.map(|node| (format!("{cluster}/{}", node.name), Some(place(node)))));
    known
}

/// The words before the one that is typed, the program's name and flags left out.
fn typed_before() -> Vec<String> {
    let words: Vec<String> = std::env::args_os()
        .skip_while(|word| word != "--")
        .skip(2)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    // The place of the word that is typed, the program's name included; the last one where the shell passes none.
    let index = std::env::var("_CLAP_COMPLETE_INDEX").ok();
    let index = index.and_then(|text| text.parse::<usize>().ok());
    let before = index.unwrap_or(words.len()).saturating_sub(1);
    let before = words.into_iter().take(before);
    before.filter(|word| !word.starts_with('-')).collect()
}

/// Tags of a cluster's baselines, or the clusters that have some.
fn saved(cluster: Option<&str>) -> Known {
    let Some(paths) = paths() else {
        return Known::new();
    };
    let baselines = Baselines::look(&paths.state);
    let (found, what) = match cluster {
        Some(cluster) => (baselines.tags(cluster), "baseline"),
        None => (baselines.clusters(), "has baselines"),
    };
    let found = found.unwrap_or_default().into_iter();
    found.map(|name| (name, Some(what.to_owned()))).collect()
}

/// The next word of a fault, behind `fault NAME`.
fn fault(before: &[String]) -> Known {
    let bare = |words: &[&str]| {
        words
            .iter()
            .map(|word| ((*word).to_owned(), None))
            .collect()
    };
    let words: Vec<&str> = before.iter().skip(2).map(String::as_str).collect();
    match words.as_slice() {
        [] => bare(&WORDS),
        ["slow"] => bare(&["25%", "50ms"]),
        ["loss"] => bare(&["5%"]),
        ["slow" | "loss", _] | [_] => targets(before),
        _ => Known::new(),
    }
}

/// Nodes, data centres and racks of the cluster that was named behind the verb.
fn targets(before: &[String]) -> Known {
    let state = before
        .get(1)
        .zip(paths())
        .and_then(|(name, paths)| Clusters::look(&paths.state).load(name).ok());
    let mut known = Known::new();
    for node in state.iter().flat_map(|state| &state.plan.nodes) {
        let rack = format!("{}/{}", node.data_center, node.rack);
        let groups = [
            (node.data_center.clone(), "data centre".to_owned()),
            (rack.clone(), "rack".to_owned()),
            (
                node.name.clone(),
                format!("{} in {}", node.rack, node.data_center),
            ),
        ];
        for (name, what) in groups {
            if !known.iter().any(|(there, _)| *there == name) {
                known.push((name, Some(what)));
            }
        }
    }
    known
}

fn history() -> Option<History> {
    History::glance(&paths()?.state.join(FILE))
}

fn runs() -> Known {
    let Some(history) = history() else {
        return Known::new();
    };
    let mut known: Known = vec![("@last".into(), Some("the newest finished run".into()))];
    let newest = history.newest_names(RUNS).unwrap_or_default();
    known.extend(
        newest
            .into_iter()
            .map(|(run, workload)| (run.to_string(), Some(workload))),
    );
    known.extend(tags());
    known
}

fn tags() -> Known {
    let tags = history().and_then(|history| history.tags().ok());
    let tags = tags.unwrap_or_default().into_iter();
    tags.map(|tag| (tag, Some("tag".into()))).collect()
}
