//! The conversation of a stand-in that is ready and nothing more: STARTUP, and who it is.
//! Refuses everything else by closing the connection.

use crate::me::{Me, host_id};
use helenus_model::plan::NodePlan;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

impl Me {
    /// Speaks version 4 of the protocol, as little of it as readiness needs.
    pub(crate) fn talk(&self, mut stream: TcpStream) -> std::io::Result<()> {
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
        // Peers come and go.
        let peers = Me::read(Path::new(&self.node.folder)).map(|me| me.peers);
        let peers = peers.unwrap_or_default();
        let nodes: Vec<&NodePlan> = if query.contains("system.peers") {
            peers.iter().collect()
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
            body.extend(self.cell(&self.node, column).0);
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
    fn cell(&self, node: &NodePlan, column: &str) -> (Vec<u8>, Vec<u8>) {
        const VARCHAR: &[u8] = &[0, 0x0D];
        const INT: &[u8] = &[0, 0x09];
        const UUID: &[u8] = &[0, 0x0C];
        const INET: &[u8] = &[0, 0x10];
        const SET_OF_VARCHAR: &[u8] = &[0, 0x22, 0, 0x0D];
        let (kind, value) = match column {
            "tokens" => (SET_OF_VARCHAR, set_of(&node.tokens)),
            "host_id" => (UUID, host_id(&node.name).to_vec()),
            "schema_version" => (UUID, vec![9; 16]),
            "broadcast_address" | "rpc_address" | "peer" => (INET, node.address.octets().to_vec()),
            "broadcast_port" | "peer_port" => (INT, 7000_i32.to_be_bytes().to_vec()),
            "cluster_name" => (VARCHAR, self.cluster.clone().into_bytes()),
            "data_center" => (VARCHAR, node.data_center.clone().into_bytes()),
            "partitioner" => (VARCHAR, b"Murmur3Partitioner".to_vec()),
            "rack" => (VARCHAR, node.rack.clone().into_bytes()),
            _ => (VARCHAR, column.as_bytes().to_vec()),
        };
        (kind.to_vec(), value)
    }
}

/// A set as version 3 of the protocol and later write it.
fn set_of(tokens: &[i64]) -> Vec<u8> {
    let mut value = (tokens.len() as i32).to_be_bytes().to_vec();
    for token in tokens.iter().map(i64::to_string) {
        value.extend((token.len() as i32).to_be_bytes());
        value.extend(token.into_bytes());
    }
    value
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
