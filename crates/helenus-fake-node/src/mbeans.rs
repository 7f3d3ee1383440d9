//! MBeans of a stand-in: what is written into an attribute is read from it again, as Jolokia's agent answers.
//! Refuses to do anything with it: what it was set to stands in a file, for tests to read.

use crate::me::Me;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

/// The flag of the JVM that names the file; without it there are no MBeans.
const FLAG: &str = "-Dmbeans.log=";

/// Listens as an agent that was loaded long ago, where the node is asked to.
pub(crate) fn begin(me: &Me) -> io::Result<()> {
    let mut flags = me.node.jvm.iter();
    let Some(log) = flags.find_map(|flag| flag.strip_prefix(FLAG)) else {
        return Ok(());
    };
    let log = PathBuf::from(log);
    let listener = TcpListener::bind((me.address.as_str(), 0))?;
    let folder = Path::new(&me.node.folder).join("jolokia");
    fs_err::create_dir_all(&folder)?;
    let port = listener.local_addr()?.port();
    fs_err::write(folder.join("port"), format!("{port}\n"))?;
    std::thread::spawn(move || {
        let mut values = BTreeMap::new();
        for stream in listener.incoming().flatten() {
            let _client_gone = talk(stream, &log, &mut values);
        }
    });
    Ok(())
}

/// One request, and its answer.
fn talk(mut stream: TcpStream, log: &Path, values: &mut BTreeMap<String, Value>) -> io::Result<()> {
    let (mut text, mut block) = (Vec::new(), [0_u8; 4096]);
    let asks: Vec<Value> = loop {
        let read = stream.read(&mut block)?;
        if read == 0 {
            return Ok(());
        }
        text.extend_from_slice(&block[..read]);
        // A body that is not whole is no JSON.
        let head = text.windows(4).position(|four| four == b"\r\n\r\n");
        let body = head.and_then(|end| serde_json::from_slice(&text[end..]).ok());
        if let Some(asks) = body {
            break asks;
        }
    };
    let mut answers = Vec::new();
    for ask in &asks {
        answers.push(answer(ask, log, values)?);
    }
    let body = Value::Array(answers);
    stream.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{body}").as_bytes())
}

fn answer(ask: &Value, log: &Path, values: &mut BTreeMap<String, Value>) -> io::Result<Value> {
    let word = |key: &str| ask[key].as_str().unwrap_or_default();
    let name = format!("{} {}", word("mbean"), word("attribute"));
    match word("type") {
        "write" => {
            let mut log = fs_err::OpenOptions::new()
                .create(true)
                .append(true)
                .open(log)?;
            writeln!(log, "{name} {}", ask["value"])?;
            values.insert(name, ask["value"].clone());
        }
        "read" if !values.contains_key(&name) => {
            return Ok(json!({"status": 404, "error": "it was never written"}));
        }
        "read" => return Ok(json!({"status": 200, "value": values[&name]})),
        _ => {}
    }
    Ok(json!({"status": 200, "value": null}))
}
