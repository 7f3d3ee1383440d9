//! The sample stream's own thread: turns what was recorded into lines and writes them.
//! Refuses to make the measurement wait: it is handed whole recordings and answers nothing.

use crate::stop::{Stop, StopReason};
use helenus_model::sample::SampleLine;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// The sending side.
#[derive(Debug)]
pub(crate) struct Output {
    lines: Sender<SampleLine>,
    thread: JoinHandle<()>,
}

impl Output {
    /// Starts the thread. When the reader is gone it raises `stop`.
    pub(crate) fn start(mut to: impl Write + Send + 'static, stop: Arc<Stop>) -> Self {
        let (lines, queue) = channel::<SampleLine>();
        let thread = std::thread::spawn(move || {
            for line in queue {
                if write_line(&mut to, &line).is_err() {
                    stop.raise(StopReason::ReaderGone);
                    return;
                }
            }
        });
        Self { lines, thread }
    }

    /// Hands a line over. When the reader is gone it is dropped.
    pub(crate) fn send(&self, line: SampleLine) {
        let _reader_gone = self.lines.send(line);
    }

    /// Waits until everything is written.
    pub(crate) fn finish(self) {
        drop(self.lines);
        let _panicked = self.thread.join();
    }
}

fn write_line(to: &mut impl Write, line: &SampleLine) -> std::io::Result<()> {
    let mut json = line.to_json()?;
    json.push('\n');
    to.write_all(json.as_bytes())?;
    to.flush()
}
