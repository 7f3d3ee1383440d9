//! Measures the load generator itself, against a null server in a separate process on this machine.
//! Refuses a figure of a machine on which it did not run.

use crate::generator::{self, GeneratorError, Stand};
use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_cluster::machine;
use helenus_cluster::paths::Paths;
use helenus_cluster::stored;
use helenus_cluster::wall;
use helenus_model::calibration::{CALIBRATION_VERSION, Calibration, plan};
use helenus_model::format::Format;
use helenus_model::result::PhaseResult;
use helenus_model::sample::SampleLine;
use std::io::{self, BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct CalibrateRequest {
    /// How long each load lasts.
    pub each: Duration,
    /// This program's version.
    pub version: String,
}

/// Why the generator cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The null server does not come up.
    #[error("the null server did not start")]
    Server(#[source] io::Error),
    /// The generator cannot be used.
    #[error(transparent)]
    Generator(#[from] GeneratorError),
    /// A load in which nothing completed.
    #[error("nothing completed in the load {0:?}")]
    Nothing(String),
    /// It was cancelled.
    #[error("cancelled; nothing is stored")]
    Cancelled,
    /// The result cannot be stored.
    #[error("cannot write {file}")]
    Store {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// The null server; it ends when it is dropped.
struct NullServer {
    child: Child,
    address: SocketAddr,
}

impl NullServer {
    fn start(context: &Context) -> io::Result<Self> {
        let mut child = Command::new(&context.helenus)
            .arg("__null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let address = line.trim().parse().map_err(io::Error::other);
        match address {
            Ok(address) => Ok(Self { child, address }),
            Err(error) => {
                let _already_gone = child.kill();
                child.wait()?;
                Err(error)
            }
        }
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _status = self.child.wait();
    }
}

/// Where the figures of this machine are kept.
pub fn file(paths: &Paths) -> PathBuf {
    paths.cache.join("calibration.json")
}

/// The figures of this machine and build; none where they were not measured.
pub fn read(context: &Context, version: &str) -> Option<Calibration> {
    let kept = stored::read(&file(&context.paths), "calibration", CALIBRATION_VERSION);
    let kept: Option<Calibration> = kept.ok();
    kept.filter(|kept| kept.is_of(version, &machine::read()))
}

/// Measures the generator and keeps the figures; `see` gets each line of the sample.
///
/// # Errors
/// The null server or the generator cannot be used, it was cancelled, or the figures cannot be stored.
pub fn run(
    context: &Context,
    request: &CalibrateRequest,
    see: &mut dyn FnMut(&SampleLine),
) -> Result<Calibration, CalibrateError> {
    let server = NullServer::start(context).map_err(CalibrateError::Server)?;
    let each_ms = u64::try_from(request.each.as_millis()).unwrap_or(u64::MAX);
    let plan = plan(server.address, each_ms);
    let stand = Stand::of(context, None, None);
    let result = generator::result(stand, &plan, &context.cancel, &mut |line| {
        see(line);
        Ok(())
    })?;
    if context.cancel.is_set() {
        return Err(CalibrateError::Cancelled);
    }
    let step = |phase: &PhaseResult| {
        let step = phase.step();
        step.ok_or_else(|| CalibrateError::Nothing(phase.name.clone()))
    };
    let calibration = Calibration {
        format: Format::new("calibration", CALIBRATION_VERSION),
        helenus: request.version.clone(),
        machine: machine::read(),
        unix_s: wall::since_1970().as_secs(),
        steps: result.phases.iter().map(step).collect::<Result<_, _>>()?,
    };
    store(context, &calibration)?;
    Ok(calibration)
}

fn store(context: &Context, calibration: &Calibration) -> Result<(), CalibrateError> {
    let file = file(&context.paths);
    let failed = |source| CalibrateError::Store {
        file: file.clone(),
        source,
    };
    fs::create_dir_all(&context.paths.cache).map_err(failed)?;
    stored::write(&file, calibration).map_err(failed)
}
