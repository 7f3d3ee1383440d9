//! Runs the release's own NodeTool against a node of ours, through JMX that is opened for it.
//! Refuses to put a password into argv.

use crate::alive;
use crate::attach::{self, AttachError, JMX_USER, Jmx};
use crate::error::ClusterError;
use crate::state::{self, ClusterState, NodeCondition};
use fs_err as fs;
use helenus_model::plan::file_url;
use std::path::Path;
use std::process::Command;

mod words;
pub use words::{Words, WordsError, part};

/// Where a node's JMX is, opened for whoever brings its password.
#[derive(Debug)]
pub struct OpenJmx {
    /// The URL that JMX clients take.
    pub url: String,
    /// How to log in.
    pub jmx: Jmx,
}

/// Opens a node's JMX at its address, protected by a password, unless it is open.
///
/// # Errors
/// The node is not running, or its JVM does not open JMX.
pub fn open(state: &ClusterState, node: &str) -> Result<OpenJmx, ClusterError> {
    let plan = state.node(node)?;
    let folder = Path::new(&plan.folder);
    let pid = alive::holder(folder)
        .map_err(ClusterError::io("the node's claim"))?
        .ok_or_else(|| ClusterError::NotRunning {
            cluster: state.plan.name.clone(),
            node: node.to_owned(),
        })?
        .as_raw_pid();
    let wanted = state.nodes[node].wanted;
    if state::condition(plan, wanted).is_ok_and(|(c, _)| c == NodeCondition::Paused) {
        return Err(AttachError::Silent { pid }.into());
    }
    let jmx = attach::open_jmx(pid, folder, &plan.address.to_string(), state.plan.ports.jmx)?;
    let url = url(state, node)?;
    Ok(OpenJmx { url, jmx })
}

/// The URL of a node's JMX, open or not.
///
/// # Errors
/// There is no such node.
pub fn url(state: &ClusterState, node: &str) -> Result<String, ClusterError> {
    let (address, port) = (state.node(node)?.address, state.plan.ports.jmx);
    Ok(format!(
        "service:jmx:rmi:///jndi/rmi://{address}:{port}/jmxrmi"
    ))
}

/// The command that runs nodetool with these arguments against a node; the caller decides where its output goes.
/// `-D…` before nodetool's verb goes to its JVM.
///
/// # Errors
/// The node is not running, or its JVM does not open JMX.
pub fn command(
    state: &ClusterState,
    node: &str,
    arguments: &[String],
) -> Result<Command, ClusterError> {
    let plan = state.node(node)?;
    let folder = Path::new(&plan.folder);
    let OpenJmx { jmx, .. } = open(state, node)?;
    let split = arguments.iter().position(|word| !word.starts_with("-D"));
    let (jvm, arguments) = arguments.split_at(split.unwrap_or(arguments.len()));
    let port = state.plan.ports.jmx;
    let address = plan.address.to_string();
    let tools = folder.join("tmp");
    let logback = folder.join("conf/logback-tools.xml");
    fs::write(&logback, LOGBACK_TOOLS).map_err(AttachError::Tool)?;
    let runtime = state.runtime_of(node);
    let class_path: Vec<String> = runtime
        .jars
        .iter()
        .map(|j| j.to_string_lossy().into_owned())
        .collect();
    let mut command = crate::reach::command(state, node, &runtime.java)
        .map_err(ClusterError::io("this program"))?;
    command
        .args([
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx128M",
            "-XX:-UsePerfData",
        ])
        .args(tool_flags(&runtime.module_flags))
        .args(jvm)
        .arg("-cp")
        .arg(class_path.join(":"))
        .arg(format!("-Dcassandra.storagedir={}", tools.display()))
        .arg(format!(
            "-Dlogback.configurationFile={}",
            file_url(&logback.to_string_lossy())
        ))
        // NodeTool writes its history below the home folder.
        .arg(format!("-Duser.home={}", tools.display()))
        .arg("org.apache.cassandra.tools.NodeTool")
        .args([
            "-h",
            &address,
            "-p",
            &port.to_string(),
            "-u",
            JMX_USER,
            "-pwf",
        ])
        .arg(&jmx.password_file)
        .args(arguments);
    Ok(command)
}

/// A tool measures no objects: it wants no agent, and none of the flags that an agent brings.
fn tool_flags(flags: &[String]) -> impl Iterator<Item = &String> {
    let of_agent = |f: &&String| f.starts_with("-javaagent:") || f.starts_with("-XX:");
    flags.iter().filter(move |f| !of_agent(f))
}

/// Warnings of the tool on its own standard error.
const LOGBACK_TOOLS: &str = r#"<configuration scan="false">
  <statusListener class="ch.qos.logback.core.status.NopStatusListener"/>
  <appender name="STDERR" class="ch.qos.logback.core.ConsoleAppender">
    <target>System.err</target>
    <encoder><pattern>%-5level %date{HH:mm:ss.SSS} %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="STDERR"/></root>
</configuration>
"#;
