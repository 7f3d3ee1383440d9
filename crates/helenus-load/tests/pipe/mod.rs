//! Where a generator's lines go in tests.
//! Refuses to keep a generator waiting.

use helenus_model::sample::SampleLine;
use helenus_model::samples::SampleReader;
use std::io::Write;
use std::sync::{Arc, Mutex};

/// A writer that can be read afterwards, and can be made to break.
#[derive(Clone, Default)]
pub(crate) struct Pipe {
    pub(crate) bytes: Arc<Mutex<Vec<u8>>>,
    pub(crate) breaks_after: Option<usize>,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut all = self.bytes.lock().expect("not poisoned");
        if self.breaks_after.is_some_and(|most| all.len() >= most) {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Pipe {
    pub(crate) fn lines(&self) -> Vec<SampleLine> {
        let bytes = self.bytes.lock().expect("not poisoned").clone();
        SampleReader::new(bytes.as_slice())
            .collect::<Result<_, _>>()
            .expect("every line is one")
    }
}
