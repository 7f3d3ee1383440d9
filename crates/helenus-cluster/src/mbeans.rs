//! MBEANS of a live node through Jolokia's agent, which is loaded when the first is asked for.
//! Refuses to talk to an agent that is not in our node's own process, or without a password.

pub(crate) mod http;

use crate::attach::{self, AttachError};
use crate::context::Context;
use crate::error::{Class, ClusterError, Problem};
use crate::socket::listens;
use crate::state::{self, ClusterState, NodeCondition};
use crate::store::{Store, StoreError};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fs_err as fs;
use helenus_cql::client::{Dial, Secret, TcpDialer};
use helenus_model::plan::NodePlan;
use helenus_model::release::Tool;
use serde_json::{Value, json};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// MBeans of Cassandra that several modules ask.
pub(crate) const STORAGE_SERVICE: &str = "org.apache.cassandra.db:type=StorageService";
pub(crate) const STORAGE_PROXY: &str = "org.apache.cassandra.db:type=StorageProxy";
pub(crate) const CACHES: &str = "org.apache.cassandra.db:type=Caches";

/// Jolokia's own port; the agent gets the first that is free from here on.
const FIRST_PORT: u16 = 8778;
/// How many ports are tried.
const PORTS: u16 = 32;
/// The agent starts to listen on a thread of its own.
const LISTENS_WITHIN: Duration = Duration::from_secs(5);
/// Longest wait for an answer: operations such as a flush end before they answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);
/// The agent's options and a link to its jar, from the node's folder.
const OPTIONS: &str = "jolokia/agent.properties";
const JAR: &str = "jolokia/agent.jar";
/// The agent's user.
const USER: &str = "helenus";

/// Why a node's MBeans cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum MbeansError {
    /// The agent's jar is not here and cannot be fetched.
    #[error("the MBean agent ({name}) is not in the cache and cannot be fetched")]
    Jar {
        /// The tool.
        name: &'static str,
        /// Its folder in the cache.
        folder: PathBuf,
        /// Why.
        source: Box<StoreError>,
    },
    /// The agent was loaded, but does not listen.
    #[error("the MBean agent in {node} does not listen at {address}")]
    Deaf {
        /// Node.
        node: String,
        /// Where it should.
        address: SocketAddr,
    },
    /// The agent gives no answer, or a wrong one.
    #[error("the MBean agent in {node} does not answer")]
    Silent {
        /// Node.
        node: String,
        /// Why.
        source: io::Error,
    },
    /// The node refused one request.
    #[error("{node} refused {what}: {why}")]
    Refused {
        /// Node.
        node: String,
        /// MBean with its attribute or operation.
        what: String,
        /// The exception's text.
        why: String,
    },
}

impl Problem for MbeansError {
    fn class(&self) -> Class {
        match self {
            Self::Jar { source, .. } => source.class(),
            Self::Deaf { .. } | Self::Silent { .. } | Self::Refused { .. } => Class::Cluster,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Jar { folder, source, .. } => Some(source.hint_of_tool(folder)),
            Self::Deaf { .. } => Some("`helenus logs` shows the agent's output".into()),
            Self::Silent { .. } | Self::Refused { .. } => None,
        }
    }
}

/// One thing to ask of an MBean.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask(Value);

impl Ask {
    /// The value of an attribute.
    pub fn read(mbean: &str, attribute: &str) -> Self {
        Self(json!({"type": "read", "mbean": mbean, "attribute": attribute}))
    }

    /// Sets an attribute.
    pub fn write(mbean: &str, attribute: &str, value: &Value) -> Self {
        Self(json!({"type": "write", "mbean": mbean, "attribute": attribute, "value": value}))
    }

    /// Calls an operation; one of several with the same name is chosen by its signature, such as
    /// `forceKeyspaceFlush(java.lang.String,[Ljava.lang.String;)`.
    pub fn exec(mbean: &str, operation: &str, arguments: &[Value]) -> Self {
        Self(
            json!({"type": "exec", "mbean": mbean, "operation": operation, "arguments": arguments}),
        )
    }

    /// The MBean with its attribute or operation, for errors.
    fn what(&self) -> String {
        let text = |key: &str| self.0[key].as_str().unwrap_or_default().to_owned();
        let part = if self.0["operation"].is_string() {
            "operation"
        } else {
            "attribute"
        };
        format!("{} {}", text("mbean"), text(part))
    }
}

/// The MBeans of one live node.
#[derive(Debug, Clone)]
pub struct Mbeans {
    node: String,
    pid: i32,
    folder: PathBuf,
    /// The agent, where it is to be loaded; a loaded one has its link.
    jar: Option<PathBuf>,
    address: SocketAddr,
    authorization: Secret,
    /// Longest wait for an answer.
    within: Duration,
    /// Of a cluster with a network of its own.
    dialer: Option<Arc<dyn Dial + Send + Sync>>,
}

impl Mbeans {
    /// Those of an agent that a test plays.
    #[cfg(test)]
    pub(crate) fn of_agent(address: SocketAddr) -> Self {
        Self {
            node: "node1".to_owned(),
            pid: 0,
            folder: PathBuf::new(),
            jar: None,
            address,
            authorization: authorization("secret"),
            within: ANSWER_WITHIN,
            dialer: None,
        }
    }

    /// The MBeans of a node of ours; the agent is loaded unless it is there already.
    ///
    /// The process is the one that holds our claim, and the listener must belong to it.
    ///
    /// # Errors
    /// The node is not running or paused, the agent's jar cannot be had, or it cannot be loaded.
    pub fn of(context: &Context, state: &ClusterState, node: &str) -> Result<Self, ClusterError> {
        let plan = state.node(node)?;
        let folder = PathBuf::from(&plan.folder);
        let pid = running(state, plan)?;
        attach::mark_opened(&folder, pid).map_err(AttachError::Io)?;
        let password = password(&folder).map_err(AttachError::Io)?;
        let ask = |port, jar| Self {
            node: node.to_owned(),
            pid,
            folder: folder.clone(),
            jar,
            address: SocketAddr::from((plan.address, port)),
            authorization: authorization(password.expose()),
            within: ANSWER_WITHIN,
            dialer: crate::reach::dialer(state),
        };
        if let Some(port) = recorded_port(&folder)
            && listens(pid, SocketAddr::from((plan.address, port)))
        {
            return Ok(ask(port, None));
        }
        let tool = Tool::jolokia(state.runtime_of(node).jdk_feature);
        let jar = Store::open(&context.paths.cache, &context.env)
            .and_then(|store| store.ensure_tool(tool, &context.cancel.flag(), &mut |_| {}))
            .map_err(|source| MbeansError::Jar {
                name: tool.name,
                folder: context.paths.cache.join("tools").join(tool.name),
                source: Box::new(source),
            })?;
        let mut last = None;
        for port in FIRST_PORT..FIRST_PORT + PORTS {
            let address = SocketAddr::from((plan.address, port));
            // In a network of its own nobody else could have it, and nobody outside could try.
            let here = state.plan.network.is_none();
            if here && TcpListener::bind(address).is_err() {
                continue;
            }
            let mbeans = ask(port, Some(jar.clone()));
            mbeans.load(password.expose())?;
            if mbeans.listening() {
                return Ok(mbeans);
            }
            last = Some(address);
        }
        Err(MbeansError::Deaf {
            node: node.to_owned(),
            address: last.unwrap_or_else(|| SocketAddr::from((plan.address, FIRST_PORT))),
        }
        .into())
    }

    /// Writes what the agent is to be, and loads it. The password goes by a file, not by a word of a command.
    fn load(&self, password: &str) -> Result<(), ClusterError> {
        let options = self.options_file();
        let text = format!(
            "host={}\nport={}\nuser={USER}\npassword={password}\ndiscoveryEnabled=false\n\
             executor=single\nserializeException=false\nallowErrorDetails=true\n",
            self.address.ip(),
            self.address.port()
        );
        attach::write_private(&options, &text)
            .and_then(|()| {
                fs::write(
                    folder_of(&self.folder).join("port"),
                    format!("{}\n", self.address.port()),
                )
            })
            .map_err(AttachError::Io)?;
        self.load_agent("")?;
        Ok(())
    }

    /// Loads the agent, by names from the node's folder, its working directory: they need no escapes.
    fn load_agent(&self, mode: &str) -> Result<(), AttachError> {
        if let Some(jar) = &self.jar {
            let link = self.folder.join(JAR);
            let _was_none = fs::remove_file(&link);
            fs::os::unix::fs::symlink(jar, &link)?;
        }
        attach::load_agent(self.pid, Path::new(JAR), &format!("{mode}config={OPTIONS}"))
    }

    fn options_file(&self) -> PathBuf {
        self.folder.join(OPTIONS)
    }

    /// Waits a little until our process listens: the agent reports to nobody that it could not.
    fn listening(&self) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < LISTENS_WITHIN {
            if listens(self.pid, self.address) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    /// The same, with patience for operations that take their time.
    #[must_use]
    pub fn waiting(self, within: Duration) -> Self {
        Self { within, ..self }
    }

    /// The node's process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The value of an attribute.
    ///
    /// # Errors
    /// No such MBean or attribute, or the node does not answer.
    pub fn read(&self, mbean: &str, attribute: &str) -> Result<Value, MbeansError> {
        self.one(Ask::read(mbean, attribute))
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// As [`Self::read`], or a value that the node does not take.
    pub fn write(&self, mbean: &str, attribute: &str, value: &Value) -> Result<(), MbeansError> {
        self.one(Ask::write(mbean, attribute, value)).map(|_| ())
    }

    /// Calls an operation and returns what it returned.
    ///
    /// # Errors
    /// As [`Self::read`], or what the operation threw.
    pub fn exec(
        &self,
        mbean: &str,
        operation: &str,
        arguments: &[Value],
    ) -> Result<Value, MbeansError> {
        self.one(Ask::exec(mbean, operation, arguments))
    }

    fn one(&self, ask: Ask) -> Result<Value, MbeansError> {
        let mut answers = self.bulk(&[ask])?;
        answers.pop().unwrap_or_else(|| Err(self.cut()))
    }

    /// Many at once, in order; each may be refused by itself.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn bulk(&self, asks: &[Ask]) -> Result<Vec<Result<Value, MbeansError>>, MbeansError> {
        if asks.is_empty() {
            return Ok(Vec::new());
        }
        let body = Value::Array(asks.iter().map(|ask| ask.0.clone()).collect());
        let dialer: &dyn Dial = match &self.dialer {
            Some(dialer) => dialer.as_ref(),
            None => &TcpDialer,
        };
        let answer = http::post(
            dialer,
            self.address,
            self.authorization.expose(),
            &body,
            self.within,
        )
        .map_err(|source| MbeansError::Silent {
            node: self.node.clone(),
            source,
        })?;
        let answers = answer.as_array().filter(|a| a.len() == asks.len());
        let answers = answers.ok_or_else(|| self.cut())?;
        Ok(asks
            .iter()
            .zip(answers)
            .map(|(ask, answer)| self.value(ask, answer))
            .collect())
    }

    fn value(&self, ask: &Ask, answer: &Value) -> Result<Value, MbeansError> {
        if answer["status"] == 200 {
            return Ok(answer["value"].clone());
        }
        let why = answer["error"].as_str().unwrap_or("no reason was given");
        Err(MbeansError::Refused {
            node: self.node.clone(),
            what: ask.what(),
            why: why.to_owned(),
        })
    }

    fn cut(&self) -> MbeansError {
        MbeansError::Silent {
            node: self.node.clone(),
            source: io::Error::new(
                io::ErrorKind::InvalidData,
                "the agent answered other questions",
            ),
        }
    }

    /// Ends the agent's listener and threads; its classes stay until the node stops.
    ///
    /// # Errors
    /// The JVM does not answer.
    pub fn stop(self) -> Result<(), AttachError> {
        self.load_agent("mode=stop,")
    }
}

/// The process of a node that can be talked to.
///
/// # Errors
/// It is not running, or paused.
pub(crate) fn running(state: &ClusterState, plan: &NodePlan) -> Result<i32, ClusterError> {
    let wanted = state.nodes[&plan.name].wanted;
    let found = state::condition(plan, wanted).map_err(ClusterError::io("the node's claim"))?;
    match found {
        (NodeCondition::Paused, Some(pid)) => Err(AttachError::Silent { pid }.into()),
        (_, Some(pid)) => Ok(pid),
        _ => Err(ClusterError::not_running(&state.plan.name, &plan.name)),
    }
}

fn folder_of(node_folder: &Path) -> PathBuf {
    node_folder.join("jolokia")
}

/// The node's password for its agent, made once; only this user can read it.
fn password(node_folder: &Path) -> io::Result<Secret> {
    let folder = folder_of(node_folder);
    fs::create_dir_all(&folder)?;
    let file = folder.join("password");
    if let Ok(known) = fs::read_to_string(&file)
        && known.trim().len() == 48
    {
        return Ok(Secret::new(known.trim()));
    }
    let fresh = attach::random_password()?;
    attach::write_private(&file, &format!("{fresh}\n"))?;
    Ok(Secret::new(fresh))
}

fn recorded_port(node_folder: &Path) -> Option<u16> {
    let text = fs::read_to_string(folder_of(node_folder).join("port")).ok()?;
    text.trim().parse().ok()
}

fn authorization(password: &str) -> Secret {
    let login = BASE64_STANDARD.encode(format!("{USER}:{password}"));
    Secret::new(format!("Basic {login}"))
}
