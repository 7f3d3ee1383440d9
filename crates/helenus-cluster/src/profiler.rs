//! A PROFILER in a live node: async-profiler's library is loaded into its JVM, started, stopped, and its stacks are read.
//! Refuses a library that was not in the verified jar, and to profile without an end: it stops by itself.

mod jar;

use crate::attach::{self, AttachError};
use crate::context::Context;
use crate::digest;
use crate::error::{Class, ClusterError, Problem};
use crate::mbeans::running;
use crate::state::ClusterState;
use crate::store::{Store, StoreError};
use fs_err as fs;
use helenus_model::flame::{INTERVAL_MS, ProfileEvent, Sampler, Stacks, StacksError, Weight};
use helenus_model::hex::sha256;
use helenus_model::release::{Arch, Tool};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of the library and of what the profiler writes, from the node's folder, its working directory.
const FOLDER: &str = "flame";
/// What the profiler says.
const LOG: &str = "flame/log";
/// What it sampled.
const OUT: &str = "flame/collapsed";
/// What the profiler says where it runs already.
const BUSY: &str = "already started";
/// Frames of a stack that are kept.
const DEPTH: u32 = 1024;

/// Why a node cannot be profiled.
#[derive(Debug, thiserror::Error)]
pub enum ProfilerError {
    /// The profiler's jar is not here and cannot be fetched.
    #[error("the profiler ({name}) is not in the cache and cannot be fetched")]
    Jar {
        /// The tool.
        name: &'static str,
        /// Its folder in the cache.
        folder: PathBuf,
        /// Why.
        source: Box<StoreError>,
    },
    /// The jar holds no library that is good here.
    #[error("the profiler's jar {jar} has no {entry}")]
    Library {
        /// The jar.
        jar: PathBuf,
        /// The entry.
        entry: String,
        /// Why.
        source: io::Error,
    },
    /// The node is already being profiled.
    #[error("{node} is already being profiled")]
    Busy {
        /// Node.
        node: String,
    },
    /// The profiler refused.
    #[error("the profiler in {node} refused {what}: {why}")]
    Refused {
        /// Node.
        node: String,
        /// What was asked of it.
        what: String,
        /// Its words.
        why: String,
    },
    /// What it wrote cannot be read.
    #[error("cannot read the output of the profiler of {node}")]
    Stacks {
        /// Node.
        node: String,
        /// Why.
        source: StacksError,
    },
    /// A file of it in the node's folder.
    #[error("cannot use the files of the profiler of {node}")]
    Io {
        /// Node.
        node: String,
        /// Why.
        source: io::Error,
    },
}

impl Problem for ProfilerError {
    fn class(&self) -> Class {
        match self {
            Self::Jar { source, .. } => source.class(),
            Self::Library { .. } | Self::Io { .. } => Class::Environment,
            Self::Busy { .. } | Self::Refused { .. } | Self::Stacks { .. } => Class::Cluster,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Jar { folder, source, .. } => Some(source.hint_of_tool(folder)),
            Self::Busy { .. } => Some(
                "wait for the other command; if it was killed, the profile ends soon after its duration"
                    .into(),
            ),
            Self::Refused { .. } => Some("`helenus logs` shows the node's own log".into()),
            Self::Library { .. } | Self::Stacks { .. } | Self::Io { .. } => None,
        }
    }
}

/// What was sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampled {
    /// How.
    pub by: Sampler,
    /// Samples.
    pub samples: u64,
    /// The stacks, by the weight of the event.
    pub stacks: Stacks,
}

/// The profiler of one live node. It is stopped when this is dropped.
#[derive(Debug)]
pub struct Profiler {
    node: String,
    pid: i32,
    folder: PathBuf,
    library: PathBuf,
    event: ProfileEvent,
    /// While it runs: how it samples.
    by: Option<Sampler>,
}

impl Profiler {
    /// Makes a node of ours ready to be profiled; its library is loaded with the first command.
    ///
    /// # Errors
    /// The node is not running or paused, or the profiler cannot be had.
    pub fn of(
        context: &Context,
        state: &ClusterState,
        node: &str,
        event: ProfileEvent,
    ) -> Result<Self, ClusterError> {
        let plan = state.node(node)?;
        let folder = PathBuf::from(&plan.folder);
        let pid = running(state, plan)?;
        let tool = Tool::async_profiler();
        let jar = Store::open(&context.paths.cache, &context.env)
            .and_then(|store| store.ensure_tool(tool, &context.cancel.flag(), &mut |_| {}))
            .map_err(|source| ProfilerError::Jar {
                name: tool.name,
                folder: context.paths.cache.join("tools").join(tool.name),
                source: Box::new(source),
            })?;
        let library = library(&jar, &folder, node)?;
        let node = node.to_owned();
        Ok(Self {
            node,
            pid,
            folder,
            library,
            event,
            by: None,
        })
    }

    /// Starts to sample, in the best way that works here; it ends by itself after `most`.
    ///
    /// # Errors
    /// It is profiled already, no way works, or the JVM does not answer.
    pub fn start(&mut self, most: Duration) -> Result<Sampler, ClusterError> {
        let mut refused = None;
        for (by, name) in Sampler::of(self.event) {
            let interval = match self.event {
                ProfileEvent::Cpu => format!(",interval={INTERVAL_MS}ms"),
                _ => String::new(),
            };
            let seconds = most.as_secs().max(1);
            let command =
                format!("start,event={name}{interval},jstackdepth={DEPTH},timeout={seconds}");
            match self.say(&command) {
                Ok(()) => {
                    self.by = Some(*by);
                    return Ok(*by);
                }
                Err(error) => match error.take::<ProfilerError>()? {
                    ProfilerError::Refused { why, node, .. } if why.contains(BUSY) => {
                        return Err(ProfilerError::Busy { node }.into());
                    }
                    error @ ProfilerError::Refused { .. } => {
                        tracing::info!(%error, "another way to sample is tried");
                        refused.get_or_insert(error);
                    }
                    error => return Err(error.into()),
                },
            }
        }
        let none = || ProfilerError::Refused {
            node: self.node.clone(),
            what: self.event.word().to_owned(),
            why: "there is no way to sample it".to_owned(),
        };
        Err(refused.unwrap_or_else(none).into())
    }

    /// Stops, and reads what was sampled since [`Self::start`].
    ///
    /// # Errors
    /// The JVM does not answer, or what was written cannot be read.
    pub fn stop(&mut self) -> Result<Sampled, ClusterError> {
        let by = self.end()?;
        let counted = self.dump("")?;
        let samples = counted.total();
        let stacks = match self.event.weighs() {
            Weight::Samples => counted,
            Weight::Bytes | Weight::Nanoseconds => self.dump(",total")?,
        };
        Ok(Sampled {
            by,
            samples,
            stacks,
        })
    }

    /// Stops, and keeps nothing.
    fn end(&mut self) -> Result<Sampler, ClusterError> {
        let by = self.by.take().ok_or_else(|| ProfilerError::Refused {
            node: self.node.clone(),
            what: "stop".to_owned(),
            why: "it was not started".to_owned(),
        })?;
        self.say("stop")?;
        Ok(by)
    }

    fn dump(&self, more: &str) -> Result<Stacks, ClusterError> {
        let out = self.folder.join(OUT);
        let _was_none = fs::remove_file(&out);
        self.say(&format!("dump,collapsed,ann,dot{more},file={OUT}"))?;
        let text = fs::read(&out).map_err(|source| self.io(source))?;
        fs::remove_file(&out).map_err(|source| self.io(source))?;
        Stacks::parse(&String::from_utf8_lossy(&text)).map_err(|source| {
            let node = self.node.clone();
            ProfilerError::Stacks { node, source }.into()
        })
    }

    /// One command; what the profiler has against it is in its log. Files are named from the node's working directory:
    /// its options have no escape for commas.
    fn say(&self, command: &str) -> Result<(), ClusterError> {
        let log = self.folder.join(LOG);
        let _was_none = fs::remove_file(&log);
        let options = format!("{command},log={LOG}");
        let answered = attach::load_library(self.pid, &self.library, &options);
        let said = fs::read_to_string(&log).unwrap_or_default();
        let _was_none = fs::remove_file(&log);
        match answered {
            Err(AttachError::Refused { answer, .. }) => {
                let errors = said.lines().filter_map(|line| line.strip_prefix("[ERROR]"));
                let errors: Vec<&str> = errors.map(str::trim).collect();
                let why = match errors.is_empty() {
                    true => answer,
                    false => errors.join("; "),
                };
                Err(ProfilerError::Refused {
                    node: self.node.clone(),
                    what: command.split(',').take(2).collect::<Vec<_>>().join(" "),
                    why,
                }
                .into())
            }
            other => Ok(other?),
        }
    }

    fn io(&self, source: io::Error) -> ClusterError {
        let node = self.node.clone();
        ProfilerError::Io { node, source }.into()
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        if self.by.is_some()
            && let Err(error) = self.end()
        {
            tracing::warn!(%error, "the profiler ends by itself");
        }
    }
}

/// The library for this processor, in the node's folder, where its process finds it.
fn library(jar: &Path, node_folder: &Path, node: &str) -> Result<PathBuf, ProfilerError> {
    let platform = match Arch::here() {
        Arch::X86_64 => "linux-x64",
        Arch::Aarch64 => "linux-arm64",
    };
    let entry = format!("{platform}/libasyncProfiler.so");
    let bytes = jar::read(jar, &entry).map_err(|source| ProfilerError::Library {
        jar: jar.to_owned(),
        entry,
        source,
    })?;
    let io = |source| ProfilerError::Io {
        node: node.to_owned(),
        source,
    };
    let folder = node_folder.join(FOLDER);
    fs::create_dir_all(&folder).map_err(io)?;
    let sum = sha256(&bytes);
    let library = folder.join(format!("libasyncProfiler-{}.so", &sum[..12]));
    let same = digest::of_file(&library, |_| Ok(())).is_ok_and(|there| there == sum);
    if !same {
        // A JVM may have the old file mapped: it is replaced, never written to.
        let fresh = folder.join(".library");
        fs::write(&fresh, &bytes).map_err(io)?;
        fs::rename(&fresh, &library).map_err(io)?;
    }
    Ok(library)
}
