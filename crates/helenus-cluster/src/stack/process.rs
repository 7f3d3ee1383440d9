//! The parts that are processes: their programs, their start, whether they live and answer.
//! Refuses to take another program's answer for a part's: the socket must be the part's own.

use super::{StackError, claimed, folder_of};
use crate::alive;
use crate::attach::{self, JMX_USER};
use crate::cancel::Cancel;
use crate::context::Context;
use crate::error::ClusterError;
use crate::event::Event;
use crate::launch::{self, log_tail};
use crate::mbeans::http;
use crate::nodetool;
use crate::shim::Launch;
use crate::socket::listens;
use crate::state::ClusterState;
use crate::store::{PythonTool, Store};
use crate::tools;
use fs_err as fs;
use helenus_cql::client::TcpDialer;
use helenus_model::release::Tool;
use helenus_model::stack::{Part, Stack, StackRequest};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// Longest wait for a part to answer: Reaper takes 5 s on an idle processor, and a machine that starts a stack is none.
const ANSWERS_WITHIN: Duration = Duration::from_secs(120);
/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Longest wait for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Lines of a log in an error.
const LINES: usize = 8;

/// Programs of the parts, by part.
#[derive(Debug, Clone, Default)]
pub struct Programs(BTreeMap<Part, PathBuf>);

impl Programs {
    /// What these parts need and this machine lacks, without fetching anything.
    ///
    /// # Errors
    /// A program that cannot be fetched and is not here, or a jar that is not there.
    pub fn check(context: &Context, wanted: &StackRequest) -> Result<(), ClusterError> {
        if wanted.has(Part::Prometheus) {
            prometheus(context)?;
        }
        jar_of_person(wanted)?;
        Ok(())
    }

    /// Finds or fetches all programs.
    ///
    /// # Errors
    /// One cannot be had.
    pub fn provide(
        context: &Context,
        wanted: &StackRequest,
        events: &mut dyn FnMut(Event),
    ) -> Result<Self, ClusterError> {
        Self::check(context, wanted)?;
        let store = Store::open(&context.paths.cache, &context.env)?;
        let cancel = context.cancel.flag();
        let mut programs = BTreeMap::new();
        let mut on = |event| events(Event::Store(event));
        for part in &wanted.parts {
            let program = match part {
                Part::Reaper => match jar_of_person(wanted)? {
                    Some(jar) => jar,
                    None => store.ensure_tool(Tool::reaper(), &cancel, &mut on)?,
                },
                Part::Metrics => context.helenus.clone(),
                Part::Prometheus => prometheus(context)?,
                Part::Medusa => store.ensure_python(&PythonTool::MEDUSA, &cancel, &mut on)?,
                Part::Moto => store.ensure_python(&PythonTool::MOTO, &cancel, &mut on)?,
            };
            programs.insert(*part, program);
        }
        Ok(Self(programs))
    }

    fn of(&self, part: Part) -> &Path {
        self.0.get(&part).map_or(Path::new(""), PathBuf::as_path)
    }
}

fn prometheus(context: &Context) -> Result<PathBuf, StackError> {
    let found = context.env.find_program("prometheus");
    found.ok_or(StackError::NoProgram {
        program: "prometheus",
        without: "metrics",
    })
}

fn jar_of_person(wanted: &StackRequest) -> Result<Option<PathBuf>, StackError> {
    match &wanted.reaper_jar {
        Some(jar) if !Path::new(jar).is_file() => Err(StackError::NoJar(jar.clone())),
        jar => Ok(jar.as_ref().map(PathBuf::from)),
    }
}

/// Medusa, where it is installed.
pub(super) fn medusa(context: &Context) -> Option<PathBuf> {
    let store = Store::open(&context.paths.cache, &context.env).ok()?;
    store.python_tool(&PythonTool::MEDUSA)
}

/// A part's process.
pub(super) fn holder(cluster: &Path, part: Part) -> Result<Option<i32>, ClusterError> {
    claimed(&folder_of(cluster, part))
}

/// A part that was started, and may not answer yet.
pub(super) struct Started {
    pub(super) part: Part,
    folder: PathBuf,
    child: Child,
    /// Whether it has answered: else it ends with this.
    answered: bool,
}

impl Drop for Started {
    fn drop(&mut self) {
        if !self.answered {
            let _gone_already = self.child.kill();
            let _status = self.child.wait();
        }
    }
}

/// Starts a part: its files, then its process.
pub(super) fn start(
    context: &Context,
    (state, stack): (&ClusterState, &Stack),
    part: Part,
    programs: &Programs,
    jmx_password: Option<&str>,
) -> Result<Started, ClusterError> {
    let folder = folder_of(Path::new(&state.plan.folder), part);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let io = StackError::io("the stack's folder");
    let made = fs::create_dir_all(folder.join("logs"))
        .and_then(|()| write_files(&folder, stack, part, jmx_password))
        .and_then(|()| alive::create(&folder));
    made.map_err(io)?;
    let mut environment = launch::inherited();
    let (program, argv) = match part {
        Part::Reaper => {
            let node = &state.plan.nodes[0].name;
            let runtime = state.runtime_of(node);
            let (java, _) = nodetool::java_of(state.release_of(node), runtime, &context.env)?;
            let jar = text(programs.of(part));
            (java, stack.reaper_argv(&jar, "reaper.yaml"))
        }
        Part::Metrics => {
            let own = tools::FOLDERS.into_iter().filter_map(|key| {
                let value = context.env.var(key)?.to_str()?;
                Some((key.to_owned(), value.to_owned()))
            });
            environment.extend(own);
            let at = stack.at(part).map_or(String::new(), |at| at.to_string());
            let words = ["metrics", &stack.cluster, "--listen", &at];
            (context.helenus.clone(), words.map(str::to_owned).to_vec())
        }
        Part::Prometheus => (
            programs.of(part).to_owned(),
            stack.prometheus_argv(&text(&folder)),
        ),
        Part::Moto | Part::Medusa => {
            let port = part.port().unwrap_or_default().to_string();
            let host = stack.address.to_string();
            let words = ["-H", &host, "-p", &port];
            (
                programs.of(part).to_owned(),
                words.map(str::to_owned).to_vec(),
            )
        }
    };
    let launch = Launch {
        program: text(&program),
        argv,
        environment,
        folder: folder.clone(),
        leash: state
            .ephemeral
            .then(|| rustix::process::getpid().as_raw_pid()),
        lock_memory: false,
        timer_slack_us: None,
        pin: None,
        cgroups: Vec::new(),
        network: None,
    };
    let child =
        launch::spawn(&context.helenus, &launch).map_err(StackError::io("the launch shim"))?;
    tracing::info!(part = part.as_str(), pid = child.id(), "started");
    Ok(Started {
        part,
        folder,
        child,
        answered: false,
    })
}

fn write_files(
    folder: &Path,
    stack: &Stack,
    part: Part,
    jmx_password: Option<&str>,
) -> io::Result<()> {
    match part {
        Part::Reaper => {
            let yaml = stack.reaper_yaml(JMX_USER, jmx_password.unwrap_or_default());
            attach::write_private(&folder.join("reaper.yaml"), &yaml)
        }
        Part::Prometheus => {
            let (name, text) = stack.console();
            fs::create_dir_all(folder.join("consoles"))?;
            fs::write(folder.join("consoles").join(name), text)?;
            fs::write(folder.join("prometheus.yml"), stack.prometheus_yml())
        }
        Part::Metrics | Part::Medusa | Part::Moto => Ok(()),
    }
}

/// Waits until a part answers.
pub(super) fn wait(mut one: Started, stack: &Stack, cancel: &Cancel) -> Result<(), ClusterError> {
    let begin = Instant::now();
    let pid = one.child.id().cast_signed();
    let part = one.part;
    let failed = |what: String, folder: &Path| StackError::Part {
        part: part.as_str(),
        what,
        lines: log_tail(folder, 0, LINES),
    };
    loop {
        if answers(stack, one.part, pid) {
            one.answered = true;
            return Ok(());
        }
        if let Ok(Some(status)) = one.child.try_wait() {
            return Err(failed(format!("ended ({status})"), &one.folder).into());
        }
        if cancel.is_set() {
            return Err(StackError::Interrupted.into());
        }
        if begin.elapsed() > ANSWERS_WITHIN {
            let what = format!("does not answer after {} s", ANSWERS_WITHIN.as_secs());
            return Err(failed(what, &one.folder).into());
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Whether the part's own process gives the right answer.
pub(super) fn answers(stack: &Stack, part: Part, pid: i32) -> bool {
    let Some(at) = stack.at(part) else {
        return false;
    };
    let asked = || {
        http::ask(
            &TcpDialer,
            at,
            &format!("GET {}", part.probe()),
            ANSWER_WITHIN,
        )
    };
    listens(pid, at) && asked().is_ok_and(|(code, _)| (200..300).contains(&code))
}

/// Asks a part, and takes only an answer that is one.
pub(super) fn ask(
    stack: &Stack,
    part: Part,
    line: &str,
    within: Duration,
) -> Result<Vec<u8>, StackError> {
    let part_name = part.as_str();
    let silent = |source| StackError::Silent {
        part: part_name,
        source,
    };
    let at = stack
        .at(part)
        .ok_or_else(|| silent(io::ErrorKind::AddrNotAvailable.into()))?;
    let (code, body) = http::ask(&TcpDialer, at, line, within).map_err(silent)?;
    if (200..300).contains(&code) {
        return Ok(body);
    }
    let words = String::from_utf8_lossy(&body);
    Err(StackError::Refused {
        part: part_name,
        code,
        text: words.split_whitespace().collect::<Vec<_>>().join(" "),
    })
}
