//! A stand-in for Cassandra, for what the real one cannot be made to do: crash here, hang there.
//! Refuses to hold data: it answers what readiness asks, and nothing else.

use helenus_model::plan::NodePlan;
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
    /// Crashes where it is the second node, else answers.
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
    /// Answers; the generator does not ask it, but answers itself ([`super::fake_load`]).
    Database,
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
            super::fake_load::BEHAVIOUR => Self::Database,
            _ => return None,
        })
    }
}

pub(crate) fn run(behaviour: &str, folder: &Path) -> ExitCode {
    let Some(behaviour) = Behaviour::parse(behaviour) else {
        return ExitCode::from(2);
    };
    match serve(behaviour, folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _log_gone = writeln!(std::io::stderr(), "ERROR fake node: {error}");
            ExitCode::from(1)
        }
    }
}

fn serve(behaviour: Behaviour, folder: &Path) -> std::io::Result<()> {
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
        Behaviour::CrashSecond if me.node.name == "node2" => {
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
        Behaviour::Ready | Behaviour::CrashSecond | Behaviour::Deaf | Behaviour::Database => {}
    }
    let listener = TcpListener::bind((me.address.as_str(), me.port))?;
    for stream in listener.incoming() {
        let stream = stream?;
        let me = me.clone();
        std::thread::spawn(move || {
            // A client that goes away ends its thread, nothing else.
            let _client_gone = if behaviour == Behaviour::Deaf {
                hold(stream)
            } else {
                me.talk(stream)
            };
        });
    }
    Ok(())
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

/// What the stand-in knows of itself, from the state that it was started with.
#[derive(Debug, Clone)]
struct Me {
    cluster: String,
    node: NodePlan,
    address: String,
    port: u16,
    peers: Vec<NodePlan>,
}

impl Me {
    fn read(folder: &Path) -> std::io::Result<Self> {
        let cluster = folder.parent().unwrap_or(folder).join("cluster.json");
        let text = fs_err::read_to_string(cluster)?;
        let state: helenus_cluster::state::ClusterState =
            serde_json::from_str(&text).map_err(std::io::Error::other)?;
        let own = folder.to_string_lossy();
        let (mine, peers): (Vec<NodePlan>, Vec<NodePlan>) =
            state.plan.nodes.into_iter().partition(|n| n.folder == own);
        let node = mine
            .into_iter()
            .next()
            .ok_or_else(|| std::io::Error::other("no such node in the state"))?;
        Ok(Self {
            cluster: state.plan.name,
            address: node.address.to_string(),
            node,
            port: state.plan.ports.cql,
            peers,
        })
    }

    /// Speaks version 4 of the protocol, as little of it as readiness needs.
    fn talk(&self, mut stream: TcpStream) -> std::io::Result<()> {
        loop {
            let mut header = [0; 9];
            stream.read_exact(&mut header)?;
            let length = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
            let mut body = vec![0; length.min(1 << 20) as usize];
            stream.read_exact(&mut body)?;
            if header[0] != 4 {
                // ERROR, code 0x000A: what a server says to a version that it does not know.
                let mut error = 0x0A_i32.to_be_bytes().to_vec();
                put_string(&mut error, "Invalid or unsupported protocol version: use 4");
                reply(&mut stream, [0, 0], 0x00, &error)?;
                continue;
            }
            let stream_id = [header[2], header[3]];
            match header[4] {
                0x01 => reply(&mut stream, stream_id, 0x02, &[])?,
                0x07 => {
                    let rows = self.rows(&body);
                    reply(&mut stream, stream_id, 0x08, &rows)?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// A RESULT of kind Rows: the asked columns of itself or of its peers; other tables are empty.
    fn rows(&self, body: &[u8]) -> Vec<u8> {
        let query = String::from_utf8_lossy(body);
        let nodes: Vec<&NodePlan> = if query.contains("system.peers") {
            self.peers.iter().collect()
        } else if query.contains("system.local") {
            vec![&self.node]
        } else {
            Vec::new()
        };
        let columns: Vec<&str> = query
            .split_once("SELECT ")
            .and_then(|(_, rest)| rest.split_once(" FROM "))
            .map(|(columns, _)| columns.split(',').map(str::trim).collect())
            .filter(|_| !nodes.is_empty())
            .unwrap_or_default();
        let mut body = 2_i32.to_be_bytes().to_vec();
        body.extend(1_i32.to_be_bytes());
        body.extend((columns.len() as i32).to_be_bytes());
        put_string(&mut body, "system");
        put_string(&mut body, "local");
        for column in &columns {
            put_string(&mut body, column);
            body.extend(self.cell(&self.node, column).0.to_be_bytes());
        }
        body.extend((nodes.len() as i32).to_be_bytes());
        for node in nodes {
            for column in &columns {
                let value = self.cell(node, column).1;
                body.extend((value.len() as i32).to_be_bytes());
                body.extend(value);
            }
        }
        body
    }

    /// Type and value of a node's column.
    fn cell(&self, node: &NodePlan, column: &str) -> (u16, Vec<u8>) {
        const VARCHAR: u16 = 0x000D;
        const INT: u16 = 0x0009;
        const UUID: u16 = 0x000C;
        const INET: u16 = 0x0010;
        match column {
            "host_id" => (UUID, host_id(&node.name).to_vec()),
            "schema_version" => (UUID, vec![9; 16]),
            "broadcast_address" | "rpc_address" | "peer" => (INET, node.address.octets().to_vec()),
            "broadcast_port" | "peer_port" => (INT, 7000_i32.to_be_bytes().to_vec()),
            "cluster_name" => (VARCHAR, self.cluster.clone().into_bytes()),
            "data_center" => (VARCHAR, node.data_center.clone().into_bytes()),
            "rack" => (VARCHAR, node.rack.clone().into_bytes()),
            _ => (VARCHAR, column.as_bytes().to_vec()),
        }
    }
}

/// A host id that depends on the node's name only.
fn host_id(name: &str) -> [u8; 16] {
    let mut id = [7; 16];
    let bytes = name.as_bytes();
    let length = bytes.len().min(16);
    id[..length].copy_from_slice(&bytes[..length]);
    id
}

fn put_string(to: &mut Vec<u8>, text: &str) {
    to.extend((text.len() as u16).to_be_bytes());
    to.extend(text.as_bytes());
}

fn reply(stream: &mut TcpStream, id: [u8; 2], opcode: u8, body: &[u8]) -> std::io::Result<()> {
    let mut frame = vec![0x84, 0, id[0], id[1], opcode];
    frame.extend((body.len() as u32).to_be_bytes());
    frame.extend(body);
    stream.write_all(&frame)
}
