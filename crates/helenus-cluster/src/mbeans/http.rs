//! One HTTP request to an agent of ours: a JSON text goes, a JSON text comes.
//! Refuses to be a client for anybody else: no redirects, no names, no TLS, one request a connection.
//!
//! HTTP/1.0 is spoken on purpose: the answer then ends with the connection, in one piece and without chunks.

use helenus_cql::client::Dial;
use serde_json::Value;
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

/// Longest wait for a connection to loopback.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Sends `body` and takes the answer; `authorization` is the header's value.
///
/// # Errors
/// The connection, an answer that is not 200 with JSON, or none `within`.
pub(super) fn post(
    dialer: &dyn Dial,
    address: SocketAddr,
    authorization: &str,
    body: &Value,
    within: Duration,
) -> io::Result<Value> {
    let body = body.to_string();
    let mut stream = dialer.dial(address, CONNECT_WITHIN)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    let head = format!(
        "POST /jolokia/ HTTP/1.0\r\nHost: {address}\r\nAuthorization: {authorization}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    read(&answer)
}

/// The JSON of an answer.
fn read(answer: &[u8]) -> io::Result<Value> {
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .ok_or_else(|| wrong("the agent's answer ends in its head".into()))?;
    let head = String::from_utf8_lossy(&answer[..end]);
    let status = head.lines().next().unwrap_or_default();
    if status.split(' ').nth(1) != Some("200") {
        // An operation that does not exist is told so, in words and for the whole request.
        let words = String::from_utf8_lossy(&answer[end + 4..]);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        return Err(wrong(format!("the agent answers {status:?} {words}")));
    }
    serde_json::from_slice(&answer[end + 4..])
        .map_err(|error| wrong(format!("the agent's answer is not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_its_json_and_nothing_else_is_one() {
        let good = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{\"value\":[1]}";
        assert_eq!(read(good).unwrap()["value"][0], 1);
        let told = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(told(b"HTTP/1.1 401 Unauthorized\r\n\r\n").contains("401"));
        assert!(told(b"HTTP/1.1 200 OK\r\n").contains("head"));
        // Cut off on the way.
        assert!(told(&good[..good.len() - 1]).contains("not JSON"));
    }
}
