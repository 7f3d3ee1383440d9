//! Pages over HTTP, for one machine: an address, and a function that answers.
//! Refuses to change anything: only GET and HEAD are answered.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tiny_http::{Header, Method, Request, Response, Server};

/// How long the end of an address is waited for.
const FREE_WITHIN: Duration = Duration::from_secs(2);

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The path, from `/` on, without the query.
    pub path: &'a str,
    /// Behind the question mark; empty without one.
    pub query: &'a str,
    /// The header `Host`; empty without one.
    pub host: &'a str,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its status, such as 200.
    pub code: u16,
    /// Its media type.
    pub kind: &'static str,
    /// More headers.
    pub headers: Vec<(&'static str, String)>,
    /// The page.
    pub body: String,
}

impl Page {
    /// A text.
    pub fn text(code: u16, body: &str) -> Self {
        Self {
            code,
            kind: "text/plain; charset=utf-8",
            headers: Vec::new(),
            body: body.to_owned(),
        }
    }
}

/// An address that is served until this is dropped; it is free again then.
pub struct Pages {
    server: Option<Arc<Server>>,
    thread: Option<JoinHandle<()>>,
    at: SocketAddr,
}

impl Pages {
    /// Serves an address; port 0 is a free one. Whoever asks waits for those before.
    ///
    /// # Errors
    /// The address is taken or not ours, or no thread can be had.
    pub fn serve(
        at: SocketAddr,
        mut answer: impl FnMut(Asked<'_>) -> Page + Send + 'static,
    ) -> io::Result<Self> {
        let server = Server::http(at).map_err(io::Error::other)?;
        let at = server.server_addr().to_ip().unwrap_or(at);
        let server = Arc::new(server);
        let serving = Arc::clone(&server);
        let thread = std::thread::Builder::new()
            .name("pages".into())
            .spawn(move || {
                for request in serving.incoming_requests() {
                    respond(request, &mut answer);
                }
            })?;
        Ok(Self {
            server: Some(server),
            thread: Some(thread),
            at,
        })
    }

    /// Where it is served.
    pub fn at(&self) -> SocketAddr {
        self.at
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.unblock();
            let _panicked = self.thread.take().map(JoinHandle::join);
        }
        // The server's own thread closes its socket a little after the server is dropped.
        let until = Instant::now() + FREE_WITHIN;
        while TcpListener::bind(self.at).is_err() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn respond(request: Request, answer: &mut impl FnMut(Asked<'_>) -> Page) {
    let reads = matches!(request.method(), Method::Get | Method::Head);
    let host = request
        .headers()
        .iter()
        .find(|header| header.field.equiv("Host"))
        .map(|header| header.value.to_string())
        .unwrap_or_default();
    let page = if reads {
        let url = request.url();
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        answer(Asked {
            path,
            query,
            host: &host,
        })
    } else {
        Page::text(405, "only GET\n")
    };
    let mut response = Response::from_string(page.body).with_status_code(page.code);
    let kind = std::iter::once(("Content-Type", page.kind.to_owned()));
    for (name, value) in kind.chain(page.headers) {
        if let Ok(header) = Header::from_bytes(name, value) {
            response.add_header(header);
        }
    }
    let _reader_is_gone = request.respond(response);
}
