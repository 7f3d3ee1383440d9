//! The load generator of an agent: no signal comes through a channel, so its standard input is what holds it.
//! Refuses to go on once nobody is there.

use crate::error::code;
use helenus_load::Secrets;
use rustix::process::{Signal, getpid, kill_process};
use std::io::{BufRead as _, PipeReader, PipeWriter, Write as _};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// Longest wait for whoever reads the last line to say so: what was written last is lost where the program ends before
/// it was carried away.
const READ_WITHIN: Duration = Duration::from_secs(10);

pub(crate) fn load() -> ExitCode {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    let secrets = read.ok().and_then(|_| Secrets::from_json(&line).ok());
    let (Some(secrets), Ok((input, relay))) = (secrets, std::io::pipe()) else {
        return ExitCode::from(code::USAGE);
    };
    let (sender, nobody_there) = channel();
    std::thread::spawn(move || hand_on(relay, &sender));
    serve(input, &secrets, &nobody_there)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the generator is a separate process, and checks what it writes"
)]
fn serve(input: PipeReader, secrets: &Secrets, nobody_there: &Receiver<()>) -> ExitCode {
    let end = helenus_load::serve(input, std::io::stdout(), secrets);
    let _late_or_gone = nobody_there.recv_timeout(READ_WITHIN);
    ExitCode::from(end.exit_code())
}

/// Hands plan and moments on; at the word, or when nobody writes any more, the generator is stopped as by a signal.
fn hand_on(mut relay: PipeWriter, sender: &Sender<()>) {
    let lines = std::io::stdin().lock().lines();
    for line in lines.map_while(Result::ok) {
        if line == helenus_model::run_plan::STOP_WORD {
            break;
        }
        if writeln!(relay, "{line}").is_err() {
            break;
        }
    }
    let _already_over = kill_process(getpid(), Signal::INT);
    let _nobody_waits = sender.send(());
}
