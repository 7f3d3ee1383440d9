//! nodetool's long verbs, run beside the looks at what they do.
//! Refuses to outlive a wish to stop: the node goes on by itself, the tool does not.

use super::MemberError;
use crate::cancel::Cancel;
use crate::error::ClusterError;
use crate::nodetool;
use crate::process::ended;
use crate::ready::ReadyError;
use crate::state::ClusterState;
use fs_err as fs;
use helenus_model::membership::Netstats;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Lines of the tool's that an error carries.
const LINES: usize = 4;

/// A tool at work; ended when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended_already = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Runs a verb of nodetool at a node; `look` is called while it works. Its output is returned.
pub(super) fn run(
    (state, node): (&ClusterState, &str),
    words: &[&str],
    cancel: &Cancel,
    look: &mut dyn FnMut(),
) -> Result<String, ClusterError> {
    let arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut command = nodetool::command(state, node, &arguments)?;
    let file = PathBuf::from(&state.node(node)?.folder).join("tmp/nodetool.out");
    let failed = |what: &'static str| ClusterError::io(what);
    let into = fs::File::create(&file).map_err(failed("nodetool's output"))?;
    let into = into.into_parts().0;
    let both = into.try_clone().map_err(failed("nodetool's output"))?;
    let child = command
        .stdin(Stdio::null())
        .stdout(into)
        .stderr(both)
        .spawn()
        .map_err(failed("nodetool"))?;
    let mut running = Running(child);
    let status = ended(&mut running.0, LOOK_EVERY, cancel, look).map_err(failed("nodetool"))?;
    let status = status.ok_or(ReadyError::Interrupted)?;
    let mut said = String::new();
    let _what_is_there = fs::File::open(&file).and_then(|mut f| f.read_to_string(&mut said));
    let _gone_already = fs::remove_file(&file);
    if status.success() {
        return Ok(said);
    }
    let lines = said.lines().filter(|line| !line.trim().is_empty());
    Err(MemberError::Tool {
        node: node.to_owned(),
        verb: words.first().copied().unwrap_or_default().to_owned(),
        said: lines.take(LINES).map(str::to_owned).collect(),
    }
    .into())
}

/// What a node reports of its mode and its streams.
pub(super) fn netstats(
    state: &ClusterState,
    node: &str,
    cancel: &Cancel,
) -> Result<Netstats, ClusterError> {
    let said = run((state, node), &["netstats"], cancel, &mut || {})?;
    Ok(Netstats::read(&said))
}
