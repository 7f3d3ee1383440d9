//! `helenus-fake-node BEHAVIOUR FOLDER`: a stand-in for Cassandra, for what the real one cannot be made to do: crash
//! here, hang there. FOLDER is that of a node. Tests name it in `HELENUS_FAKE_NODE`, as `PROGRAM BEHAVIOUR`.
//! Refuses to hold data, but for `serve`, which holds rows in memory; the others answer what readiness asks.

// What a stand-in knows.
mod me;
mod statement;
mod truth;

// Readiness, and the tables that it holds.
mod ready;
mod tables;

// The system's tables.
mod system;

// Answers.
mod answer;
mod mbeans;

// The server.
mod serve;

use me::Me;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// What the stand-in does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behaviour {
    /// Answers at once.
    Ready,
    /// Answers after a second.
    Slow,
    /// Ends with an error in its log before it listens.
    Crash,
    /// Crashes where it is the second node, or a node of the second cluster of a prefix, else answers.
    CrashSecond,
    /// Writes into its log until the disk is full, and ends then.
    FillDisk,
    /// Lives, and never listens.
    Hang,
    /// Answers, and takes no SIGTERM.
    IgnoreTerm,
    /// Answers, and leaves a grandchild behind that outlives it.
    Fork,
    /// Answers, and writes a great deal into its log.
    NoisyLog,
    /// Listens, and never answers.
    Deaf,
    /// Answers; from the moment its folder has a file `busy`, three seconds late.
    Busy,
    /// Answers until its disk is full, and lives on without listening.
    StopWhenFull,
    /// Serves a load, with service times whose distribution is known.
    Serve,
}

impl Behaviour {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "ready" => Self::Ready,
            "slow" => Self::Slow,
            "crash" => Self::Crash,
            "crash-second" => Self::CrashSecond,
            "fill-disk" => Self::FillDisk,
            "hang" => Self::Hang,
            "ignore-term" => Self::IgnoreTerm,
            "fork" => Self::Fork,
            "noisy-log" => Self::NoisyLog,
            "deaf" => Self::Deaf,
            "busy" => Self::Busy,
            "stop-when-full" => Self::StopWhenFull,
            "serve" => Self::Serve,
            _ => return None,
        })
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = match &arguments[..] {
        [behaviour, folder] => Behaviour::parse(behaviour).zip(Some(Path::new(folder))),
        _ => None,
    };
    let (ended, code) = match given {
        Some((behaviour, folder)) => (live(behaviour, folder), 1),
        None => {
            let usage = "usage: helenus-fake-node BEHAVIOUR FOLDER, with a behaviour that it knows";
            (Err(std::io::Error::other(usage)), 2)
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _log_gone = writeln!(std::io::stderr(), "ERROR fake node: {error}");
            ExitCode::from(code)
        }
    }
}

fn live(behaviour: Behaviour, folder: &Path) -> std::io::Result<()> {
    let me = Me::read(folder)?;
    match behaviour {
        Behaviour::Crash => {
            return Err(std::io::Error::other("the fake node was told to crash"));
        }
        Behaviour::Hang => loop {
            std::thread::sleep(Duration::from_secs(3600));
        },
        Behaviour::Slow => std::thread::sleep(Duration::from_secs(1)),
        Behaviour::IgnoreTerm => ignore_term()?,
        Behaviour::Fork => {
            // Longer than any test is patient: it ends because somebody ends it.
            std::process::Command::new("sleep")
                .arg("300")
                .current_dir("/")
                .spawn()?;
        }
        Behaviour::NoisyLog => {
            let line = "INFO  [main] nothing to see here\n".repeat(100_000);
            fs_err::write(folder.join("logs/system.log"), line)?;
        }
        Behaviour::CrashSecond if is_second(&me.node.name, folder) => {
            return Err(std::io::Error::other("the fake node was told to crash"));
        }
        Behaviour::FillDisk => {
            let mut log = fs_err::File::create(folder.join("logs/system.log"))?;
            // A test gives it a small disk; on a large one it gives up.
            for _ in 0..10_000 {
                log.write_all(&b"INFO  [main] more and more\n".repeat(1000))?;
            }
            return Err(std::io::Error::other("this disk is too large to fill"));
        }
        Behaviour::StopWhenFull => return stop_when_full(&me),
        Behaviour::Serve => return serve::run(me),
        Behaviour::Ready | Behaviour::CrashSecond | Behaviour::Deaf | Behaviour::Busy => {}
    }
    let listener = TcpListener::bind((me.address.as_str(), me.port))?;
    for stream in listener.incoming() {
        let stream = stream?;
        let me = me.clone();
        std::thread::spawn(move || {
            // A client that goes away ends its thread, nothing else.
            if behaviour == Behaviour::Busy && Path::new(&me.node.folder).join("busy").exists() {
                std::thread::sleep(Duration::from_secs(3));
            }
            let _client_gone = if behaviour == Behaviour::Deaf {
                hold(stream)
            } else {
                me.talk(stream)
            };
        });
    }
    Ok(())
}

/// What Cassandra's own policies, `stop`, make of a disk that is full.
fn stop_when_full(me: &Me) -> std::io::Result<()> {
    let listener = TcpListener::bind((me.address.as_str(), me.port))?;
    listener.set_nonblocking(true)?;
    let disk = me.node.storage();
    while rustix::fs::statvfs(disk.as_str())?.f_bavail > 0 {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                let me = me.clone();
                std::thread::spawn(move || {
                    let _client_gone = me.talk(stream);
                });
            }
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) => return Err(e),
        }
    }
    drop(listener);
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn ignore_term() -> std::io::Result<()> {
    let ignored = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGTERM, ignored)?;
    Ok(())
}

fn hold(mut stream: TcpStream) -> std::io::Result<()> {
    let mut byte = [0; 64];
    while stream.read(&mut byte)? > 0 {}
    Ok(())
}

/// `node2` of any cluster, or any node of a cluster such as `dev2`.
fn is_second(node: &str, folder: &Path) -> bool {
    let cluster = folder.parent().and_then(Path::file_name);
    node == "node2" || cluster.is_some_and(|name| name.to_string_lossy().ends_with('2'))
}
