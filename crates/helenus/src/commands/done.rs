//! The answer of verbs that only do something to nodes.
//! Refuses to do it.

use crate::ui::{Answers, Ui};
use helenus_model::format::Format;
use serde::Serialize;

/// What a verb did, or would do, to which nodes.
#[derive(Serialize)]
pub(crate) struct Done {
    pub(crate) format: Format,
    /// The verb.
    pub(crate) verb: &'static str,
    /// The cluster.
    pub(crate) cluster: String,
    /// Nodes that it was done to.
    pub(crate) nodes: Vec<String>,
    /// Whether nothing was done.
    pub(crate) dry_run: bool,
}

impl Done {
    /// A verb on nodes of a cluster.
    pub(crate) fn new(
        verb: &'static str,
        cluster: &str,
        nodes: Vec<String>,
        dry_run: bool,
    ) -> Self {
        Self {
            format: Format::new("done", 1),
            verb,
            cluster: cluster.to_owned(),
            nodes,
            dry_run,
        }
    }

    pub(crate) fn show(&self, ui: &Ui) {
        ui.result(self, || self.answer() + "\n");
    }
}

impl Answers for Done {
    fn answer(&self) -> String {
        let nodes = self.nodes.join(", ");
        if self.dry_run {
            format!(
                "would {} {nodes} of {}; nothing was done (--dry-run)",
                self.verb, self.cluster
            )
        } else {
            format!("{}: {nodes} {}", self.cluster, past(self.verb))
        }
    }
}

fn past(verb: &str) -> &'static str {
    match verb {
        "stop" => "stopped; the data stays",
        "kill" => "killed; the data stays",
        "make" => "made; `helenus start` starts them",
        "pause" => "paused",
        "resume" => "resumed",
        _ => "started",
    }
}
