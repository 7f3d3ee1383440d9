//! Runs the release's own NodeTool against a node of ours, through JMX that is opened for it.
//! Refuses to put a password into argv.

use crate::alive;
use crate::attach::{self, AttachError, JMX_USER, Jmx};
use crate::env::Env;
use crate::error::ClusterError;
use crate::jdk::{self, JdkError};
use crate::state::{self, ClusterState, NodeCondition, Runtime};
use fs_err as fs;
use helenus_model::plan::file_url;
use helenus_model::release::Release;
use std::path::{Path, PathBuf};
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
        .ok_or_else(|| ClusterError::not_running(&state.plan.name, node))?
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
/// The node is not running, its JVM does not open JMX, or no JDK can run the tool.
pub fn command(
    state: &ClusterState,
    node: &str,
    arguments: &[String],
) -> Result<Command, ClusterError> {
    let plan = state.node(node)?;
    let folder = Path::new(&plan.folder);
    let runtime = state.runtime_of(node);
    let (java, module_flags) = java_of(state.release_of(node), runtime, &Env::of_process())?;
    let OpenJmx { jmx, .. } = open(state, node)?;
    let split = arguments.iter().position(|word| !word.starts_with("-D"));
    let (jvm, arguments) = arguments.split_at(split.unwrap_or(arguments.len()));
    let port = state.plan.ports.jmx;
    let address = plan.address.to_string();
    let tools = folder.join("tmp");
    let logback = folder.join("conf/logback-tools.xml");
    fs::write(&logback, LOGBACK_TOOLS).map_err(AttachError::Tool)?;
    let class_path: Vec<String> = runtime
        .jars
        .iter()
        .map(|j| j.to_string_lossy().into_owned())
        .collect();
    let mut command =
        crate::reach::command(state, node, &java).map_err(ClusterError::io("this program"))?;
    command
        .args([
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-Xmx128M",
            "-XX:-UsePerfData",
        ])
        .args(tool_flags(&module_flags))
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

/// The program that runs the tool, with its flags about modules: the node's own, or another JDK's where the node's lacks
/// what a JMX client needs.
pub(crate) fn java_of(
    version: &str,
    runtime: &Runtime,
    env: &Env,
) -> Result<(PathBuf, Vec<String>), JdkError> {
    let own = || (runtime.java.clone(), runtime.module_flags.clone());
    let home = runtime.java.parent().and_then(Path::parent);
    let (Some(Ok(jdk)), Ok(release)) = (home.map(jdk::probe), Release::facts_for(version)) else {
        return Ok(own());
    };
    if !jdk.no_jmx_client {
        return Ok(own());
    }
    let other = jdk::for_tools(release, &jdk, &jdk::find(env))?;
    tracing::info!(node = %jdk, nodetool = %other, "the node's JDK has no JMX client");
    Ok((
        other.home.join("bin/java"),
        release.module_flags(other.feature),
    ))
}

/// A tool measures no objects: it needs no agent, and none of the flags that an agent brings.
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

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::release::NODE_MODULES;
    use std::os::unix::fs::PermissionsExt as _;

    fn jdk(root: &Path, name: &str, modules: &str) -> PathBuf {
        let java = root.join("opt").join(name).join("bin/java");
        fs::create_dir_all(java.parent().unwrap()).unwrap();
        fs::write(&java, "").unwrap();
        fs::set_permissions(&java, std::fs::Permissions::from_mode(0o755)).unwrap();
        let release = format!("JAVA_VERSION=\"11.0.2\"\nMODULES=\"{modules}\"\n");
        fs::write(root.join("opt").join(name).join("release"), release).unwrap();
        java
    }

    #[test]
    fn nodetool_takes_another_jdk_where_the_node_s_has_no_jmx_client() {
        let root = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(root.path()).unwrap();
        let env = Env {
            root: path.clone(),
            ..Env::default()
        };
        let runtime = Runtime {
            java: jdk(&path, "small", "java.base"),
            jvm: "11.0.2".to_owned(),
            jdk_feature: 11,
            jdk_caution: None,
            jars: Vec::new(),
            launcher: PathBuf::new(),
            archive: None,
            module_flags: vec!["--own".to_owned()],
            fake: None,
        };
        let of = |runtime: &Runtime| java_of("4.1.10", runtime, &env);
        assert!(matches!(of(&runtime), Err(JdkError::NoTools { .. })));
        let whole = format!("{} jdk.naming.rmi", NODE_MODULES.join(" "));
        let whole = jdk(&path, "whole", &whole);
        let (java, flags) = of(&runtime).unwrap();
        assert_eq!(java, whole);
        assert_eq!(flags, Release::find("4.1.10").unwrap().module_flags(11));
        let own = Runtime {
            java: whole.clone(),
            ..runtime
        };
        assert_eq!(of(&own).unwrap(), (whole, vec!["--own".to_owned()]));
    }
}
