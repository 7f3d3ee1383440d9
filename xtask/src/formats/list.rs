//! Every format: its name and version, the type that is written, and where a person meets it.
//! Refuses none in silence: a test holds this list to the marks in the source.

/// How its values reach a person.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A result on standard output, with an `answer`.
    Printed,
    /// A result whose `answer` is a list of sentences.
    PrintedInSentences,
    /// A file, a pipe, a row of the history, or a value inside another.
    Kept,
}

/// One format.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) version: u32,
    /// File below `crates`, and the type in it.
    pub(super) root: (&'static str, &'static str),
    pub(super) way: Way,
    /// The command that prints it, or what holds it.
    pub(super) place: &'static str,
}

const fn printed(
    name: &'static str,
    version: u32,
    root: (&'static str, &'static str),
    place: &'static str,
) -> Entry {
    let way = Way::Printed;
    Entry {
        name,
        version,
        root,
        way,
        place,
    }
}

const fn kept(
    name: &'static str,
    version: u32,
    root: (&'static str, &'static str),
    place: &'static str,
) -> Entry {
    let way = Way::Kept;
    Entry {
        name,
        version,
        root,
        way,
        place,
    }
}

/// All of them, by name.
pub(super) const LIST: &[Entry] = &[
    printed(
        "ab-plan",
        1,
        ("helenus/src/commands/compare.rs", "AbPlan"),
        "`compare --ab --dry-run`",
    ),
    kept(
        "agent",
        1,
        ("helenus-model/src/agent.rs", "Hello"),
        "what a load agent answers to its conductor, on their channel",
    ),
    kept(
        "baseline",
        1,
        ("helenus-model/src/baseline.rs", "Baseline"),
        "the manifest of a baseline",
    ),
    printed(
        "baseline-removed",
        1,
        ("helenus/src/commands/baseline.rs", "Removed"),
        "`baseline rm`",
    ),
    printed(
        "baseline-restored",
        1,
        ("helenus/src/commands/baseline.rs", "RestoredView"),
        "`baseline restore`",
    ),
    printed(
        "baseline-saved",
        1,
        ("helenus/src/commands/baseline.rs", "Saved"),
        "`baseline save`",
    ),
    printed(
        "baseline-verified",
        1,
        ("helenus/src/commands/baseline.rs", "Verified"),
        "`baseline verify`",
    ),
    printed(
        "baselines",
        1,
        ("helenus/src/commands/baseline.rs", "ListView"),
        "`baseline list`",
    ),
    printed(
        "bench",
        1,
        ("helenus/src/commands/bench/render.rs", "Report"),
        "`bench`, `run`",
    ),
    printed(
        "bench-plan",
        1,
        ("helenus/src/commands/bench/dry.rs", "DryRun"),
        "`bench --dry-run`",
    ),
    printed(
        "calibration",
        1,
        ("helenus-model/src/calibration.rs", "Calibration"),
        "`calibrate`; kept in the cache as `calibration.json`",
    ),
    printed(
        "search",
        1,
        ("helenus-model/src/search/report.rs", "Report"),
        "`run --slo`, `run --curve`",
    ),
    kept(
        "care",
        1,
        ("helenus-cluster/src/care.rs", "Raised"),
        "a file of the cluster while `populate` writes",
    ),
    printed(
        "check-data",
        1,
        ("helenus/src/commands/check_data.rs", "Checked"),
        "`check-data`",
    ),
    kept(
        "cluster",
        2,
        ("helenus-cluster/src/state.rs", "ClusterState"),
        "`cluster.json` of each cluster",
    ),
    printed(
        "cluster-plan",
        2,
        ("helenus-model/src/plan.rs", "ClusterPlan"),
        "`up --dry-run`; in the state of each cluster",
    ),
    printed(
        "cluster-plan-list",
        1,
        ("helenus/src/commands/up_many.rs", "Plans"),
        "`up --count N --dry-run`",
    ),
    printed(
        "comparison",
        1,
        ("helenus/src/commands/compare/render.rs", "Shown"),
        "`compare`, `history show cmp1`; in the history without `answer`, `comparison_id` and `conclusion`",
    ),
    printed(
        "count",
        1,
        ("helenus-model/src/scan/report.rs", "CountReport"),
        "`count`",
    ),
    kept(
        "count-journal",
        1,
        ("helenus-model/src/scan/journal.rs", "JournalHead"),
        "the first line of a journal of `count --resume`",
    ),
    printed(
        "cql",
        1,
        ("helenus/src/commands/cqlsh/shell.rs", "Told"),
        "`cqlsh -e`, `cqlsh -f`",
    ),
    printed(
        "cql-statements",
        1,
        ("helenus/src/commands/cqlsh.rs", "Statements"),
        "`cqlsh --dry-run`",
    ),
    printed(
        "doctor",
        1,
        ("helenus/src/commands/doctor.rs", "Examined"),
        "`doctor`",
    ),
    printed(
        "done",
        1,
        ("helenus/src/commands/stop.rs", "Done"),
        "`stop`, `kill`, `pause`, `resume`, `start --dry-run`",
    ),
    printed(
        "env",
        1,
        ("helenus/src/commands/env.rs", "Environment"),
        "`env`",
    ),
    kept(
        "error",
        1,
        ("helenus/src/error.rs", "Told"),
        "standard error of every verb with `--format json`",
    ),
    printed(
        "experiment",
        1,
        ("helenus/src/commands/experiment/plan.rs", "Shown"),
        "`experiment check`, `experiment plan`",
    ),
    Entry {
        name: "experiment-report",
        version: 1,
        root: ("helenus/src/commands/experiment/report.rs", "Shown"),
        way: Way::PrintedInSentences,
        place: "`experiment report`",
    },
    printed(
        "experiment-status",
        1,
        ("helenus/src/commands/experiment/status.rs", "Status"),
        "`experiment status NAME`",
    ),
    printed(
        "experiments",
        1,
        ("helenus/src/commands/experiment/status.rs", "Listed"),
        "`experiment status`",
    ),
    printed(
        "exported",
        1,
        ("helenus/src/commands/history/export.rs", "Exported"),
        "`history export --to FILE`",
    ),
    printed(
        "fault",
        1,
        ("helenus/src/commands/fault.rs", "Made"),
        "`fault NAME WORDS`",
    ),
    kept(
        "fault-journal",
        1,
        ("helenus-cluster/src/fault/journal.rs", "Journal"),
        "the faults of each cluster that were made and not healed",
    ),
    printed(
        "faults",
        1,
        ("helenus/src/commands/fault.rs", "Listed"),
        "`fault NAME`",
    ),
    printed(
        "guard",
        1,
        ("helenus/src/commands/guard.rs", "Guarded"),
        "`guard`",
    ),
    printed(
        "healed",
        1,
        ("helenus/src/commands/fault.rs", "Healed"),
        "`heal`",
    ),
    printed(
        "history",
        1,
        ("helenus/src/commands/history/show.rs", "Listed"),
        "`history`",
    ),
    printed(
        "flame",
        1,
        ("helenus/src/commands/flame.rs", "Flamed"),
        "`flame`",
    ),
    kept(
        "host",
        1,
        ("helenus-cluster/src/host_settings.rs", "Journal"),
        "settings of the machine that were changed",
    ),
    printed("jmx", 1, ("helenus/src/commands/jmx.rs", "Opened"), "`jmx`"),
    kept(
        "ledger",
        1,
        ("helenus-model/src/ledger.rs", "Head"),
        "the head of a ledger",
    ),
    printed(
        "kind-config",
        1,
        ("helenus/src/commands/kube/kind.rs", "KindConfig"),
        "`kube kind`",
    ),
    printed(
        "kube-change",
        1,
        ("helenus/src/commands/kube/change.rs", "Change"),
        "`kube scale`, `kube restart`, `kube fault`, `kube heal`",
    ),
    printed(
        "kube-clusters",
        1,
        ("helenus/src/commands/kube/view.rs", "Applied"),
        "`kube status`",
    ),
    printed(
        "kube-cql",
        1,
        ("helenus/src/commands/kube/inside.rs", "Answered"),
        "`kube cql`",
    ),
    printed(
        "kube-image",
        1,
        ("helenus/src/commands/kube/image.rs", "KubeImage"),
        "`kube image`",
    ),
    printed(
        "kube-plan",
        1,
        ("helenus-model/src/kube/render.rs", "KubePlan"),
        "`kube render`",
    ),
    printed(
        "kube-removed",
        1,
        ("helenus/src/commands/kube/rm.rs", "Removed"),
        "`kube rm`",
    ),
    printed(
        "kube-secret",
        1,
        ("helenus/src/commands/kube/secret.rs", "Written"),
        "`kube secret`",
    ),
    kept(
        "kube-state",
        1,
        ("helenus-cluster/src/kube.rs", "KubeState"),
        "the state of a cluster on Kubernetes",
    ),
    printed(
        "kube-status",
        1,
        ("helenus/src/commands/kube/view.rs", "KubeStatus"),
        "`kube up`, `kube wait`, `kube status NAME`",
    ),
    printed(
        "ledger-check",
        1,
        ("helenus-lab/src/ledger/report.rs", "LedgerReport"),
        "`ledger check`",
    ),
    printed(
        "ledger-show",
        1,
        ("helenus/src/commands/ledger/render.rs", "Shown"),
        "`ledger show`",
    ),
    printed(
        "levels",
        1,
        ("helenus/src/commands/levels/render.rs", "Shown"),
        "`levels`",
    ),
    printed(
        "levels-plan",
        1,
        ("helenus/src/commands/levels/render.rs", "LevelsPlan"),
        "`levels --dry-run`",
    ),
    printed(
        "like",
        1,
        ("helenus-model/src/like.rs", "Like"),
        "`up --like FILE --dry-run`",
    ),
    printed(
        "link-presets",
        1,
        ("helenus/src/commands/topology.rs", "LinkPresets"),
        "`topology links`",
    ),
    printed(
        "links",
        1,
        ("helenus/src/commands/link.rs", "Shown"),
        "`link`",
    ),
    printed(
        "list",
        1,
        ("helenus/src/commands/list.rs", "Listed"),
        "`list`",
    ),
    printed("load", 1, ("helenus-lab/src/ingest.rs", "Loaded"), "`load`"),
    printed(
        "unload",
        1,
        ("helenus-cluster/src/scan/unload.rs", "Unloaded"),
        "`unload`",
    ),
    kept(
        "load-journal",
        1,
        ("helenus-model/src/ingest/journal.rs", "LoadJournal"),
        "how far an interrupted `load` came",
    ),
    kept(
        "load-parts",
        1,
        ("helenus-model/src/ingest/part.rs", "LoadParts"),
        "what the loaders of `load --part` share",
    ),
    printed(
        "load-plan",
        1,
        ("helenus/src/commands/load.rs", "LoadPlan"),
        "`load --dry-run`",
    ),
    printed(
        "load-agent",
        1,
        ("helenus/src/commands/agent.rs", "Listening"),
        "`load-agent --listen`",
    ),
    printed("log", 1, ("helenus/src/commands/logs.rs", "Log"), "`logs`"),
    kept(
        "network-status",
        1,
        ("helenus-cluster/src/net/control.rs", "Status"),
        "what the keeper of a cluster's network says; in `links`",
    ),
    printed(
        "node-change",
        1,
        ("helenus/src/commands/node.rs", "Told"),
        "`node add`, `node decommission`, `node remove`, `node replace`",
    ),
    kept(
        "origin",
        1,
        ("helenus-cluster/src/origin.rs", "Stored"),
        "the recorded state that `reset` goes back to",
    ),
    kept(
        "plan",
        1,
        ("helenus-model/src/run_plan.rs", "RunPlan"),
        "the plan of a run: in the history, in `bench`, on its way to the generator",
    ),
    kept(
        "pod",
        1,
        ("helenus-model/src/kube/pod.rs", "PodConfig"),
        "`pod.json` in the ConfigMap of a StatefulSet",
    ),
    printed(
        "pod-answer",
        1,
        ("helenus-cluster/src/pod/cql.rs", "PodAnswer"),
        "a pod of ours, to `kube cql` and `run --on`",
    ),
    kept(
        "pod-cql",
        1,
        ("helenus-cluster/src/pod/cql.rs", "PodCql"),
        "the standard input of a program in a pod",
    ),
    printed(
        "pod-facts",
        1,
        ("helenus-cluster/src/pod/facts.rs", "PodFacts"),
        "a pod of ours, to `run --on`",
    ),
    kept(
        "populate",
        1,
        ("helenus-model/src/populate.rs", "Journal"),
        "what `populate` has written so far",
    ),
    printed(
        "populate-plan",
        1,
        ("helenus/src/commands/populate.rs", "Plan"),
        "`populate --dry-run`",
    ),
    printed(
        "populated",
        1,
        ("helenus-lab/src/populate.rs", "Populated"),
        "`populate`",
    ),
    printed(
        "presets",
        1,
        ("helenus/src/commands/presets.rs", "Shown"),
        "`presets`",
    ),
    printed(
        "pruned",
        1,
        ("helenus/src/commands/history.rs", "Pruned"),
        "`history prune`",
    ),
    printed(
        "put-back",
        1,
        ("helenus/src/commands/populate.rs", "Told"),
        "`populate --put-back`",
    ),
    printed(
        "ready",
        1,
        ("helenus/src/commands/up.rs", "Ready"),
        "`up`, `start`",
    ),
    printed(
        "ready-list",
        1,
        ("helenus/src/commands/up_many.rs", "ReadyList"),
        "`up --count N`",
    ),
    printed(
        "release-fetched",
        1,
        ("helenus/src/commands/releases.rs", "Fetched"),
        "`releases fetch`",
    ),
    printed(
        "releases",
        1,
        ("helenus/src/commands/releases.rs", "Known"),
        "`releases`",
    ),
    printed(
        "removed",
        1,
        ("helenus/src/commands/rm.rs", "Removed"),
        "`rm`",
    ),
    printed(
        "report-written",
        1,
        ("helenus/src/commands/report.rs", "Written"),
        "`report`",
    ),
    printed(
        "reset",
        1,
        ("helenus-cluster/src/reset.rs", "Reset"),
        "`reset`",
    ),
    kept(
        "run",
        1,
        ("helenus-model/src/result.rs", "RunResult"),
        "the result of a run: in the history, in `bench` and `stored-run`",
    ),
    printed(
        "run-plan",
        1,
        ("helenus/src/commands/bench/dry.rs", "DryRun"),
        "`run --dry-run`",
    ),
    kept(
        "sample",
        1,
        ("helenus-model/src/sample.rs", "SampleLine"),
        "each line of the generator; its first line has the mark",
    ),
    kept(
        "settings",
        1,
        ("helenus-cluster/src/settings.rs", "Remembered"),
        "the settings of a process before `nodetool` changed any",
    ),
    printed(
        "status",
        1,
        ("helenus/src/commands/status.rs", "Told"),
        "`status`",
    ),
    printed(
        "stored-run",
        1,
        ("helenus/src/commands/history/show.rs", "Shown"),
        "`history show`",
    ),
    printed(
        "stored-runs",
        1,
        ("helenus/src/commands/history/export.rs", "Runs"),
        "`history export` as JSON",
    ),
    printed(
        "stress",
        1,
        ("helenus/src/commands/stress.rs", "Told"),
        "`stress`",
    ),
    printed(
        "stress-plan",
        1,
        ("helenus/src/commands/stress.rs", "Plan"),
        "`stress --dry-run`",
    ),
    printed(
        "stress-print",
        1,
        ("helenus/src/commands/stress.rs", "Printed"),
        "`stress print`",
    ),
    printed(
        "tagged",
        1,
        ("helenus/src/commands/history.rs", "Tagged"),
        "`history tag`",
    ),
    printed(
        "topology",
        1,
        ("helenus/src/commands/topology.rs", "Shown"),
        "`topology check`, `topology show`",
    ),
    printed(
        "upgrade",
        1,
        ("helenus/src/commands/upgrade.rs", "Answer"),
        "`upgrade`",
    ),
    kept(
        "upgrade-plan",
        1,
        ("helenus-model/src/upgrade.rs", "UpgradePlan"),
        "an upgrade that is under way, in the state of its cluster",
    ),
    printed(
        "workload",
        1,
        ("helenus/src/commands/workload.rs", "Shown"),
        "`workload show`",
    ),
    printed(
        "workload-check",
        1,
        ("helenus/src/commands/workload/check.rs", "Checked"),
        "`workload check`",
    ),
    printed(
        "workload-new",
        1,
        ("helenus/src/commands/workload/new.rs", "Drafted"),
        "`workload new`",
    ),
    printed(
        "workload-new-plan",
        1,
        ("helenus/src/commands/workload/new.rs", "Planned"),
        "`workload new --dry-run`",
    ),
    printed(
        "workloads",
        1,
        ("helenus/src/commands/workload.rs", "Listed"),
        "`workload list`",
    ),
];
