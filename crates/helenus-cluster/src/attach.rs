//! JMX on demand: loads the management agent into a live JVM through its attach socket, needing no JDK tools.
//! Refuses to leave JMX open without a password, and the password anywhere but in a 0600 file.

use crate::error::{Class, Problem};
use crate::random::random;
use fs_err as fs;
use helenus_model::hex::hex;
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The user of the management agent.
pub const JMX_USER: &str = "helenus";

/// File in a node's folder that says which process was opened for MBeans.
const OPENED: &str = "opened";

/// The agent's files, named from the node's folder, its working directory: the words of a diagnostic command have no
/// escape for blanks and quotes.
const ACCESS: &str = "jmx/access";
const FOR_AGENT: &str = "jmx/password.agent";
/// The password for those who ask.
const PASSWORD: &str = "jmx/password";

/// Longest wait for a JVM to open its attach socket.
const ATTACH_WITHIN: Duration = Duration::from_secs(10);

/// Why a live JVM could not be attached to.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The JVM does not open its socket: it is paused, or attaching is switched off.
    #[error("the JVM with pid {pid} does not answer")]
    Silent {
        /// Process.
        pid: i32,
    },
    /// Another program listens where the node's JMX would.
    #[error("another program already listens at {listener}, the address for JMX")]
    Stranger {
        /// Where.
        listener: SocketAddr,
    },
    /// The JVM refused the command.
    #[error("the JVM with pid {pid} refused {command:?}: {answer}")]
    Refused {
        /// Process.
        pid: i32,
        /// What was asked.
        command: String,
        /// Its answer.
        answer: String,
    },
    /// No tool can be run beside this node.
    #[error("cannot run nodetool")]
    Tool(#[source] io::Error),
    /// Files or sockets.
    #[error("cannot attach to the JVM")]
    Io(#[from] io::Error),
}

impl Problem for AttachError {
    fn class(&self) -> Class {
        Class::Cluster
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Silent { .. } => {
                Some("if the node is paused, `helenus resume` continues it".into())
            }
            Self::Refused { command, .. } if command == "load" => Some(
                "the agent needs the module jdk.httpserver, which cut-down JVMs lack: \
                 `java --list-modules` shows it; start the cluster on a full JDK with --java-home"
                    .into(),
            ),
            _ => None,
        }
    }
}

/// How to reach a node's JMX.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jmx {
    /// File with the line `helenus PASSWORD`, readable by this user only.
    pub password_file: PathBuf,
}

/// Opens a node's JMX at `address:port`, unless it is open, protected by a random password.
///
/// # Errors
/// The JVM does not answer or refuses.
pub fn open_jmx(
    pid: i32,
    node_folder: &Path,
    address: &str,
    port: u16,
) -> Result<Jmx, AttachError> {
    let password = node_folder.join(PASSWORD);
    if !password.exists() {
        write_login(node_folder, &random_password()?)?;
    }
    let listener: SocketAddr = format!("{address}:{port}")
        .parse()
        .map_err(io::Error::other)?;
    let already = in_our_network(pid)
        && std::net::TcpStream::connect_timeout(&listener, Duration::from_secs(1)).is_ok();
    let ours = crate::socket::listens(pid, listener);
    // In a network of its own nobody else can listen, and what answers at that address here is somebody else's.
    if already && !ours {
        // The password would go to a stranger.
        return Err(AttachError::Stranger { listener });
    }
    mark_opened(node_folder, pid)?;
    if !ours {
        let command = format!(
            "ManagementAgent.start jmxremote.host={address} jmxremote.port={port} \
             jmxremote.rmi.port={port} jmxremote.ssl=false jmxremote.authenticate=true \
             jmxremote.password.file={FOR_AGENT} jmxremote.access.file={ACCESS}"
        );
        jcmd(pid, &command)?;
    }
    Ok(Jmx {
        password_file: password,
    })
}

/// The password with which a node's JMX is, or will be, opened; none before it was opened for the first time.
pub(crate) fn jmx_password(node_folder: &Path) -> Option<String> {
    let line = fs::read_to_string(node_folder.join(PASSWORD)).ok()?;
    let (_, password) = line.trim().split_once(' ')?;
    Some(password.to_owned())
}

/// Writes with which password a node's JMX will be opened, and what it allows. One that is open keeps its own.
pub(crate) fn write_login(node_folder: &Path, secret: &str) -> io::Result<()> {
    fs::create_dir_all(node_folder.join("jmx"))?;
    write_private(
        &node_folder.join(ACCESS),
        &format!("{JMX_USER} readwrite create javax.management.*,java.* unregister\n"),
    )?;
    // The JVM replaces the password in its file by a hash: the tool has a file of its own.
    for file in [FOR_AGENT, PASSWORD] {
        write_private(&node_folder.join(file), &format!("{JMX_USER} {secret}\n"))?;
    }
    Ok(())
}

/// Whether a process has the network that we have.
fn in_our_network(pid: i32) -> bool {
    let of = |who: &str| fs::read_link(format!("/proc/{who}/ns/net")).ok();
    of(&pid.to_string()) == of("self")
}

/// A password that nobody guesses: 48 hexadecimal digits.
pub(crate) fn random_password() -> io::Result<String> {
    Ok(hex(&random::<24>()?))
}

/// Writes a file that only its owner can read.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::from_parts(
        std::fs::OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(path)?,
        path,
    );
    file.write_all(text.as_bytes())?;
    // An older file keeps its mode when it is opened again.
    fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
}

/// Runs a diagnostic command (`jcmd`'s) in a live JVM and returns what it printed.
///
/// # Errors
/// The JVM does not answer or refuses.
pub fn jcmd(pid: i32, command: &str) -> Result<String, AttachError> {
    let (code, text) = ask(pid, ["jcmd", command, "", ""])?;
    if code == "0" {
        Ok(text)
    } else {
        let verb = command.split(' ').next().unwrap_or(command).to_owned();
        Err(AttachError::Refused {
            pid,
            command: verb,
            answer: text.trim().to_owned(),
        })
    }
}

/// Loads a Java agent into a live JVM and lets it read its options. The jar's name ends at the first equals sign.
///
/// An agent that fails inside is content as far as a JVM knows: look whether it does what it should.
///
/// # Errors
/// The JVM does not answer, or the jar cannot be loaded.
pub fn load_agent(pid: i32, jar: &Path, options: &str) -> Result<(), AttachError> {
    let argument = format!("{}={options}", jar.display());
    load(pid, ["instrument", "false", &argument])
}

/// Loads a native agent's library, named by its whole path, and lets it read its options.
///
/// # Errors
/// The JVM does not answer, the library cannot be loaded, or it does not take the options.
pub(crate) fn load_library(pid: i32, library: &Path, options: &str) -> Result<(), AttachError> {
    load(pid, [&library.to_string_lossy(), "true", options])
}

/// The name of an agent, whether that is a path, and what it is to read.
fn load(pid: i32, [agent, is_path, options]: [&str; 3]) -> Result<(), AttachError> {
    let (code, text) = ask(pid, ["load", agent, is_path, options])?;
    // The agent's own code stands in the second line, on new JVMs behind words.
    let inner = text.trim().rsplit(' ').next().unwrap_or_default();
    if code == "0" && (inner.is_empty() || inner == "0") {
        return Ok(());
    }
    Err(AttachError::Refused {
        pid,
        command: "load".into(),
        answer: format!("{code} {}", text.trim()),
    })
}

/// One request by version 1 of HotSpot's attach protocol: version, verb and three arguments, each ended by a zero.
fn ask(pid: i32, words: [&str; 4]) -> Result<(String, String), AttachError> {
    let mut socket = attach(pid)?;
    let request: String = std::iter::once("1")
        .chain(words)
        .flat_map(|word| [word, "\0"])
        .collect();
    socket.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (code, text) = answer.split_once('\n').unwrap_or((answer.as_str(), ""));
    Ok((code.trim().to_owned(), text.to_owned()))
}

/// Notes that this process was opened for MBeans: only then can its settings have been changed by them.
pub(crate) fn mark_opened(node_folder: &Path, pid: i32) -> io::Result<()> {
    fs::write(node_folder.join(OPENED), mark(pid))
}

/// Whether this very process was ever opened for MBeans by us.
pub fn was_opened(node_folder: &Path, pid: i32) -> bool {
    fs::read_to_string(node_folder.join(OPENED)).is_ok_and(|text| text == mark(pid))
}

/// A process's number comes again; together with its start it does not.
fn mark(pid: i32) -> String {
    let started = crate::state::started_at(pid).unwrap_or_default();
    format!("{pid} {started}\n")
}

/// HotSpot opens `/tmp/.java_pidN` when it gets SIGQUIT and finds a file `.attach_pidN`.
fn attach(pid: i32) -> Result<UnixStream, AttachError> {
    let socket = PathBuf::from(format!("/tmp/.java_pid{pid}"));
    if let Ok(stream) = UnixStream::connect(&socket) {
        stream.set_read_timeout(Some(ATTACH_WITHIN))?;
        return Ok(stream);
    }
    if !takes_quit(pid) {
        return Err(AttachError::Silent { pid });
    }
    let wish = PathBuf::from(format!("/proc/{pid}/cwd/.attach_pid{pid}"));
    fs::write(&wish, "")?;
    let result = wait_for_socket(pid, &socket);
    let _jvm_may_have_removed_it = fs::remove_file(&wish);
    result
}

/// Whether the process has a handler for SIGQUIT, which would end it otherwise: a JVM has one once it is up.
fn takes_quit(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|l| l.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // Signals count from 1, bits from 0.
    caught.is_some_and(|mask| mask & (1 << (rustix::process::Signal::QUIT.as_raw() - 1)) != 0)
}

fn wait_for_socket(pid: i32, socket: &Path) -> Result<UnixStream, AttachError> {
    let process = rustix::process::Pid::from_raw(pid).ok_or(AttachError::Silent { pid })?;
    let begin = Instant::now();
    crate::process::signal(process, rustix::process::Signal::QUIT)?;
    while begin.elapsed() < ATTACH_WITHIN {
        if let Ok(stream) = UnixStream::connect(socket) {
            stream.set_read_timeout(Some(ATTACH_WITHIN))?;
            return Ok(stream);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Err(AttachError::Silent { pid })
}
