//! One HTTP request to an agent of ours, or to a part of a stack: a text goes, a text comes.
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
    let headers = format!("Authorization: {authorization}\r\nContent-Type: application/json\r\n");
    let answer = exchange(
        dialer,
        address,
        ("POST /jolokia/", &headers),
        &body.to_string(),
        within,
    )?;
    read(&answer)
}

/// Asks with a line such as `GET /ping`; the answer's code and body.
///
/// # Errors
/// The connection, an answer without a head, or none `within`.
pub(crate) fn ask(
    dialer: &dyn Dial,
    address: SocketAddr,
    line: &str,
    within: Duration,
) -> io::Result<(u16, Vec<u8>)> {
    let mut answer = exchange(dialer, address, (line, ""), "", within)?;
    let (code, end) = head(&answer)?;
    answer.drain(..end);
    Ok((code, answer))
}

fn exchange(
    dialer: &dyn Dial,
    address: SocketAddr,
    (line, headers): (&str, &str),
    body: &str,
    within: Duration,
) -> io::Result<Vec<u8>> {
    let mut stream = dialer.dial(address, CONNECT_WITHIN)?;
    stream.set_read_timeout(Some(within))?;
    stream.set_write_timeout(Some(within))?;
    let head = format!(
        "{line} HTTP/1.0\r\nHost: {address}\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// The code of an answer, and where its body begins.
fn head(answer: &[u8]) -> io::Result<(u16, usize)> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let status = String::from_utf8_lossy(&answer[..end.unwrap_or(0)]);
    let code = status.split(' ').nth(1).and_then(|code| code.parse().ok());
    match (code, end) {
        (Some(code), Some(end)) => Ok((code, end + 4)),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the answer ends in its head",
        )),
    }
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
        // Where an operation does not exist, the agent says so in words, and for the whole request.
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
        let message = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(message(b"HTTP/1.1 401 Unauthorized\r\n\r\n").contains("401"));
        assert!(message(b"HTTP/1.1 200 OK\r\n").contains("head"));
        // Cut off on the way.
        assert!(message(&good[..good.len() - 1]).contains("not JSON"));
    }

    #[test]
    fn the_code_of_an_answer_stands_in_its_head() {
        let none = b"HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n";
        assert_eq!(head(none).unwrap(), (204, none.len()));
        assert!(head(b"HTTP/1.1 200 OK\r\n").is_err());
        assert!(head(b"\r\n\r\n").is_err());
    }
}
