//! nodetool's long verbs, run beside the looks at what they do.
//! Refuses to outlive a wish to stop: the node goes on by itself, the tool does not.

use super::MemberError;
use crate::cancel::Cancel;
use crate::error::ClusterError;
use crate::nodetool;
use crate::process::ended;
use crate::ready::ReadyError;
use crate::state::ClusterState;
use helenus_model::membership::Netstats;
use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
    let command = nodetool::command(state, node, &arguments)?;
    let folder = Path::new(&state.node(node)?.folder).join("tmp");
    let (succeeded, said) = worked(command, &folder, cancel, look)?;
    if succeeded {
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

/// Whether a tool succeeded, and what it said. That is kept in a file without a name in this folder: `look` may run another
/// tool at the same node.
fn worked(
    mut command: Command,
    folder: &Path,
    cancel: &Cancel,
    look: &mut dyn FnMut(),
) -> Result<(bool, String), ClusterError> {
    let failed = |what: &'static str| ClusterError::io(what);
    let mut file = tempfile::tempfile_in(folder).map_err(failed("nodetool's output"))?;
    let into = file.try_clone().map_err(failed("nodetool's output"))?;
    let both = file.try_clone().map_err(failed("nodetool's output"))?;
    let child = command
        .stdin(Stdio::null())
        .stdout(into)
        .stderr(both)
        .spawn()
        .map_err(failed("nodetool"))?;
    let mut running = Running(child);
    let status = ended(&mut running.0, LOOK_EVERY, cancel, look).map_err(failed("nodetool"))?;
    let status = status.ok_or(ReadyError::Interrupted)?;
    let mut said = Vec::new();
    let _what_is_there = file.rewind().and_then(|()| file.read_to_end(&mut said));
    Ok((
        status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_beside_a_long_one_leaves_what_that_says_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let shell = |script: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]).current_dir(folder.path());
            command
        };
        let cancel = Cancel::default();
        let mut beside = Vec::new();
        // It ends once another one was run beside it.
        let long =
            shell("echo too few nodes >&2; until [ -d looked ]; do sleep 0.01; done; exit 2");
        let said = worked(long, folder.path(), &cancel, &mut || {
            let other = shell("echo Mode: NORMAL; mkdir -p looked");
            beside.push(worked(other, folder.path(), &cancel, &mut || {}));
        });
        let said = said.expect("it was run");
        assert_eq!(said, (false, "too few nodes\n".to_owned()));
        let beside: Vec<_> = beside.into_iter().map(|one| one.expect("run")).collect();
        assert_eq!(beside[0], (true, "Mode: NORMAL\n".to_owned()));
        // Nothing is left.
        let left = fs_err::read_dir(folder.path()).expect("read").count();
        assert_eq!(left, 1, "the folder that was made");
    }
}
