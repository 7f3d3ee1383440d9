//! A program whose output is copied on as it comes, so that a line that is lost is known.
//! Refuses to change a byte of it, and to outlive a wish to stop.

use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::cancel::Cancel;
use helenus_cluster::context::Context;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{self, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// Between two looks at whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs the program to its end, its output through ours; its exit code.
///
/// # Errors
/// It does not start.
pub(crate) fn run(command: &Command, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let mut leashed = context.env.leashed(Path::new(command.get_program()));
    leashed.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => leashed.env(name, value),
            None => leashed.env_remove(name),
        };
    }
    Ok(copy(&mut leashed, &context.cancel, &mut |bytes| {
        ui.raw(bytes)
    })?)
}

/// `take` is given each piece as it comes, and says whether it wants more. Its exit code is returned, 128 and the number
/// of the signal that ended it as shells have it, 130 where the person stopped it.
fn copy(
    command: &mut Command,
    cancel: &Cancel,
    take: &mut dyn FnMut(&[u8]) -> bool,
) -> io::Result<u8> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take();
    let mut stopped = false;
    let mut piece = vec![0; 64 << 10];
    let status = loop {
        if cancel.is_set() && !stopped {
            stopped = true;
            let _ended_already = kill_process(Pid::from_child(&child), Signal::TERM);
        }
        match &mut output {
            None => {
                if let Some(status) = child.try_wait()? {
                    break status;
                }
                std::thread::sleep(LOOK_EVERY);
            }
            Some(pipe) if readable(pipe)? => {
                let read = pipe.read(&mut piece)?;
                // A reader that wants no more is what the program meets, too.
                if read == 0 || !take(&piece[..read]) {
                    output = None;
                }
            }
            Some(_) => {}
        }
    };
    Ok(if stopped {
        code::INTERRUPTED
    } else {
        exit_code(status)
    })
}

/// Whether there is something to read, or its end, within a moment.
fn readable(pipe: &std::process::ChildStdout) -> io::Result<bool> {
    let within = Timespec::try_from(LOOK_EVERY).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&within)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| Some(128 + status.signal()?))
        .unwrap_or_default();
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_exit_code_are_the_program_s() {
        let mut seen: Vec<u8> = Vec::new();
        let mut take = |bytes: &[u8]| {
            seen.extend(bytes);
            true
        };
        let cancel = Cancel::default();
        let ended = copy(&mut sh("echo one; echo two; exit 7"), &cancel, &mut take);
        assert_eq!(ended.expect("runs"), 7);
        assert_eq!(seen, b"one\ntwo\n");
        let killed = copy(&mut sh("kill -9 $$"), &cancel, &mut |_| true);
        assert_eq!(killed.expect("runs"), 137);
    }

    #[test]
    fn a_piece_comes_before_the_end() {
        let cancel = Cancel::default();
        let stop = cancel.clone();
        // It would never end by itself: that it is stopped shows that its line had come.
        let ended = copy(&mut sh("echo one; exec sleep 1000"), &cancel, &mut |_| {
            stop.set();
            true
        });
        assert_eq!(ended.expect("runs"), code::INTERRUPTED);
    }

    #[test]
    fn what_cannot_be_written_ends_the_copying() {
        let cancel = Cancel::default();
        let mut pieces = 0;
        let ended = copy(
            &mut sh("trap '' PIPE; yes 2>&1 | head -c 9000000; exit 0"),
            &cancel,
            &mut |_| {
                pieces += 1;
                false
            },
        );
        assert_eq!((ended.expect("runs"), pieces), (0, 1));
    }
}
