//! A pseudo-terminal with a command of the lab in it: what is typed, and what is written in answer.
//! Refuses to draw the screen: what is expected must be written in one piece.

use super::{PATIENCE, TestLab};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A command at a terminal; killed when dropped before its end.
pub(crate) struct Terminal {
    keyboard: OwnedFd,
    written: Arc<Mutex<Vec<u8>>>,
    /// What of it was expected already.
    seen: usize,
    child: Child,
}

impl TestLab {
    /// `helenus ARGUMENTS` at a terminal of so many columns.
    pub(crate) fn at_terminal(&self, arguments: &[&str], columns: u16) -> Terminal {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keyboard).expect("ours");
        unlockpt(&keyboard).expect("ours");
        let name = ptsname(&keyboard, Vec::new()).expect("its name");
        let flags = OFlags::RDWR | OFlags::NOCTTY;
        let screen = rustix::fs::open(&name, flags, Mode::empty()).expect("the other end");
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&screen, size).expect("its size");
        // Without a session of its own no Ctrl-C would reach it.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(super::HELENUS).args(arguments);
        self.dress(&mut command);
        let end = || screen.try_clone().expect("a descriptor");
        let child = command
            .env("TERM", "xterm")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("setsid, of util-linux");
        drop(screen);
        let written = Arc::new(Mutex::new(Vec::new()));
        let reader = keyboard.try_clone().expect("a descriptor");
        let into = Arc::clone(&written);
        std::thread::spawn(move || {
            let mut reader = std::fs::File::from(reader);
            let mut buffer = [0; 4096];
            // The end of the last process at the terminal is an error here.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                into.lock().expect("a reader").extend(&buffer[..count]);
            }
        });
        Terminal {
            keyboard,
            written,
            seen: 0,
            child,
        }
    }
}

impl Terminal {
    /// Types keys.
    pub(crate) fn type_keys(&self, keys: &str) {
        let mut rest = keys.as_bytes();
        while !rest.is_empty() {
            let count = rustix::io::write(&self.keyboard, rest).expect("a terminal");
            rest = &rest[count..];
        }
    }

    /// Waits until this is written, after what was expected before; returns what was written up to it.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) -> String {
        let begin = Instant::now();
        loop {
            let all = self.written.lock().expect("a reader").clone();
            let new = String::from_utf8_lossy(&all[self.seen..]).into_owned();
            if let Some(at) = new.find(text) {
                let end = at + text.len();
                self.seen += end;
                return new[..end].to_owned();
            }
            assert!(
                begin.elapsed() < PATIENCE,
                "{text:?} is not written, but {new:?}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until nobody edits a line: what runs then takes Ctrl-C as a signal.
    pub(crate) fn expect_running(&self) {
        self.expect_modes("a terminal without an editor", |modes| {
            modes.contains(LocalModes::ICANON | LocalModes::ISIG)
        });
    }

    /// Types Ctrl-D at the next prompt and waits for the end; returns the exit code. Before the editor has the terminal, Ctrl-D
    /// would be its end of file, which nobody reads.
    #[track_caller]
    pub(crate) fn leave(&mut self) -> String {
        self.expect_modes("an editor", |modes| !modes.contains(LocalModes::ICANON));
        self.type_keys("\x04");
        self.end()
    }

    fn expect_modes(&self, what: &str, right: impl Fn(LocalModes) -> bool) {
        super::look::wait_for(what, PATIENCE, || {
            let modes = tcgetattr(&self.keyboard).expect("a terminal").local_modes;
            match right(modes) {
                true => Ok(()),
                false => Err(format!("{modes:?}")),
            }
        });
    }

    /// The process at the terminal.
    pub(crate) fn pid(&self) -> rustix::process::Pid {
        rustix::process::Pid::from_child(&self.child)
    }

    /// Waits for its end; returns the exit code.
    #[track_caller]
    pub(crate) fn end(&mut self) -> String {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("our child") {
                return super::code(status);
            }
            let all = self.written.lock().expect("a reader").clone();
            let new = String::from_utf8_lossy(&all[self.seen..]).into_owned();
            assert!(begin.elapsed() < PATIENCE, "no end, but {new:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _status = self.child.wait();
    }
}
