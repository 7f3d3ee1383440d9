//! The cluster behind its native protocol: one loop over all connections, on the thread that measures.
//! Refuses retries, speculation and time-outs of its own: the measurement sees all.
//!
//! A request's bytes wait until the pass ends that made it and go out with all others of that pass, one system call a
//! connection. Other threads only open connections and watch the cluster; they hand over what they have.

mod bulk;
mod choice;
mod custom;
mod dialer;
mod fault;
mod forgotten;
mod link;
mod map;
mod opening;
mod profile;
mod statement;
#[cfg(test)]
mod tests;
mod traffic;

use crate::endpoint::{Call, Ended, Endpoint, EndpointError, Fault, Over};
use crate::poller::Poller;
use crate::stop::Stop;
use crate::sys;
use choice::{Chooser, Node, SENT_AT_ONCE};
use dialer::{Access, News};
use helenus_cql::client::{Compression, ConnectOptions, Credentials, HandedOver, Secret, Tls};
use helenus_cql::codec::envelope::{Opcode, flag};
use helenus_cql::codec::{Answer, Consistency, ServerErrorKind, answer, tracing_id};
use helenus_model::run_plan::{self, RunPlan};
use helenus_model::sample::FailureKind;
use helenus_model::seed::Seed;
use helenus_model::workload::Workload;
use helenus_model::workload::user_statements::Unchecked;
use link::{Link, Lost, Waits};
use map::{Map, Routes};
pub(crate) use opening::Ways;
use opening::{Opening, joined, may_coordinate};
use statement::{Draft, Statement, envelope, learn, prepared_again, unsendable};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
pub use traffic::Package;
use traffic::Traffic;

/// Longest wait for a connection, and for each request before the load begins.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// How long a wait lasts where there is no connection at all.
const PAUSE_WITHOUT_LINKS_NS: u64 = 1_000_000;

/// Bytes of one connection that are taken in before all else gets its turn: a server may send faster than they are read.
const READ_IN_A_PASS: usize = 256 << 10;

/// How often a node may forget a statement while one operation waits for it.
const MOST_FORGOTTEN: u8 = 3;

/// Connections to a cluster, and the operations that run over them.
pub(crate) struct Wire {
    consistency: Consistency,
    data_centre: Option<String>,
    /// Connections to each node.
    connections: usize,
    access: Arc<Access>,
    news: (Sender<News>, Receiver<News>),
    /// What is there before the statements are known.
    opening: Option<Opening>,
    traffic: Traffic,
    statements: Vec<Statement>,
    /// For each statement, who holds which tokens.
    routes: BTreeMap<String, Routes>,
    nodes: Vec<Node>,
    links: Vec<Option<Link>>,
    /// Links with bytes to send.
    unsent: Vec<usize>,
    poller: Poller,
    slots: Vec<Slot>,
    /// What ended without an answer.
    failed: Vec<Ended>,
    /// The link that was read last.
    heard: usize,
    /// Links that may have more than was read of them, and would not be reported as ready.
    unread: Vec<usize>,
    /// Connections that were lost and not yet asked for.
    lost: u64,
    chooser: Chooser,
}

/// The operation in a slot.
#[derive(Default)]
struct Slot {
    draft: Draft,
    start_ns: u64,
    place: Place,
    forgotten: u8,
    /// Its envelope's flags.
    flags: u8,
}

/// Where an operation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    /// There is none, or it has failed already.
    #[default]
    Nowhere,
    /// Its answer is waited for on this link and stream.
    Sent(usize, i16),
    /// It waits on this link for a statement to be prepared again.
    Waiting(usize, usize),
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let nodes = self.nodes.len();
        f.debug_struct("Wire").field("nodes", &nodes).finish()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.access.over.store(true, Ordering::Relaxed);
    }
}

impl Wire {
    /// Connects as the plan says; none where `stop` was raised meanwhile.
    ///
    /// # Errors
    /// No node of the plan's endpoints answers, it refuses the credentials, or no node may coordinate.
    pub(crate) fn connect(
        plan: &RunPlan,
        password: Option<String>,
        tls: Option<Tls>,
        stop: &Stop,
    ) -> Result<Option<Self>, EndpointError> {
        let credentials = plan.credentials.as_ref().zip(password);
        let options = ConnectOptions {
            timeout: CONNECT_WITHIN,
            credentials: credentials.map(|(of, password)| Credentials {
                username: of.username.clone(),
                password: Secret::new(password),
            }),
            tls,
            compression: plan
                .compression
                .map(|run_plan::Compression::Lz4| Compression::Lz4),
            ..ConnectOptions::default()
        };
        let ways = Ways {
            endpoints: plan.endpoints.clone(),
            endpoints_only: plan.endpoints_only,
            local_data_centre: plan.local_data_centre.clone(),
            connections: plan.connections,
            consistency: plan.consistency.into(),
        };
        Self::open(&ways, options, stop)
    }

    /// Connects to the nodes; none where `stop` was raised meanwhile.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub(crate) fn open(
        plan: &Ways,
        options: ConnectOptions,
        stop: &Stop,
    ) -> Result<Option<Self>, EndpointError> {
        let access = Arc::new(Access::new(options));
        let machinery = |source: io::Error| EndpointError::Connect {
            endpoints: joined(&plan.endpoints),
            source: Box::new(source),
        };
        let (sender, opened) = channel();
        let (opener, asked) = (Arc::clone(&access), plan.clone());
        std::thread::spawn(move || {
            let _nobody_waits = sender.send(Opening::of(&opener, &asked));
        });
        let opening = loop {
            match opened.recv_timeout(Duration::from_millis(20)) {
                Ok(opening) => break opening?,
                Err(RecvTimeoutError::Timeout) if stop.reason().is_some() => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(machinery(io::Error::other(
                        "the thread that connects is gone",
                    )));
                }
            }
        };
        let mut wire = Self::without_links(plan, access).map_err(machinery)?;
        wire.meet(&opening.map);
        wire.opening = Some(opening);
        Ok(Some(wire))
    }

    /// Knows nobody yet.
    fn without_links(plan: &Ways, access: Arc<Access>) -> io::Result<Self> {
        Ok(Self {
            consistency: plan.consistency,
            data_centre: plan.local_data_centre.clone(),
            connections: plan.connections as usize,
            access,
            news: channel(),
            traffic: Traffic::Standard1(Seed(0)),
            statements: Vec::new(),
            routes: BTreeMap::new(),
            nodes: Vec::new(),
            links: Vec::new(),
            unsent: Vec::new(),
            poller: Poller::new()?,
            slots: Vec::new(),
            failed: Vec::new(),
            heard: 0,
            unread: Vec::new(),
            lost: 0,
            chooser: Chooser::default(),
            opening: None,
        })
    }

    /// Takes over who is there; nodes keep their places.
    fn meet(&mut self, map: &Map) {
        for node in &mut self.nodes {
            node.may_coordinate = false;
        }
        let mut places = Vec::with_capacity(map.peers.len());
        for peer in &map.peers {
            let may_coordinate = may_coordinate(self.data_centre.as_deref(), peer);
            let known = self.nodes.iter().position(|node| match peer.host {
                None => node.peer.address == peer.address,
                host => node.peer.host == host,
            });
            let place = known.unwrap_or(self.nodes.len());
            places.push(place);
            match self.nodes.get_mut(place) {
                Some(node) => {
                    node.peer = peer.clone();
                    node.may_coordinate = may_coordinate;
                }
                None => self.nodes.push(Node::new(peer.clone(), may_coordinate)),
            }
        }
        let coordinators = self.nodes.iter().enumerate();
        let coordinators = coordinators.filter(|(_, node)| node.may_coordinate);
        let addresses = coordinators.map(|(at, node)| (at, node.peer.address));
        *self.access.addresses() = addresses.collect();
        let used = self.statements.iter().filter_map(|s| s.keyspace.as_ref());
        let used: BTreeSet<&String> = used.collect();
        let data_centre = self.data_centre.as_deref();
        self.routes = used
            .into_iter()
            .filter_map(|keyspace| {
                let mut routes = map.routes(keyspace, |peer| may_coordinate(data_centre, peer))?;
                routes.renumber(|peer| places[peer]);
                Some((keyspace.clone(), routes))
            })
            .collect();
    }

    /// Takes over a connection to a node.
    fn take_over(&mut self, node: usize, opened: HandedOver) {
        let free = self.links.iter().position(Option::is_none);
        let at = free.unwrap_or(self.links.len());
        let link = Link::new(node, opened).and_then(|link| {
            self.poller.add(link.descriptor()?, at)?;
            Ok(link)
        });
        match link {
            Ok(link) => {
                if at == self.links.len() {
                    self.links.push(None);
                }
                self.links[at] = Some(link);
                self.nodes[node].links.push(at);
            }
            // It has failed in the very moment: another is opened.
            Err(_) => {
                let now_ns = sys::monotonic_ns();
                self.nodes[node].lost((now_ns, false), now_ns);
                self.lost += 1;
                self.dial_missing();
            }
        }
    }

    /// Opens the connections that the nodes which may coordinate lack.
    fn dial_missing(&mut self) {
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let has = node.links.len() + node.dialled;
            let lacks = match node.may_coordinate {
                true => self.connections.saturating_sub(has),
                false => 0,
            };
            for _ in 0..lacks {
                dialer::keep_dialling(&self.access, (at, node.pause), &self.news.0);
            }
            node.dialled += lacks;
        }
    }

    /// Takes in what the other threads have to say.
    fn hear(&mut self) {
        while let Ok(news) = self.news.1.try_recv() {
            match news {
                News::Opened(node, opened) => {
                    self.nodes[node].dialled -= 1;
                    self.take_over(node, opened);
                }
                News::GaveUp(node) => self.nodes[node].dialled -= 1,
                News::Changed(map) => {
                    self.meet(&map);
                    self.dial_missing();
                }
            }
        }
    }

    /// The link that a request takes.
    fn choose(&mut self, routing: Option<(usize, i64)>) -> Option<usize> {
        let routes = routing.and_then(|(place, token)| {
            let keyspace = self.statements[place].keyspace.as_ref()?;
            Some((self.routes.get(keyspace)?, token))
        });
        let replicas = routes.map_or(&[][..], |(routes, token)| routes.of(token));
        self.chooser.choose(&mut self.nodes, &self.links, replicas)
    }

    /// Makes a slot's request and puts it on a link.
    fn submit(&mut self, at: usize) -> Result<(), Fault> {
        let slot = &mut self.slots[at];
        self.traffic.make(&self.statements, &mut slot.draft)?;
        // One node has all replicas.
        let several = self.nodes.len() > 1;
        let routing = several.then(|| slot.draft.routing(&self.statements));
        let link_at = self
            .choose(routing.flatten())
            .ok_or_else(fault::of_no_connection)?;
        self.send(at, link_at)
    }

    /// Puts a slot's request on a link.
    fn send(&mut self, at: usize, link_at: usize) -> Result<(), Fault> {
        let slot = &mut self.slots[at];
        let link = self.links[link_at].as_mut();
        let link = link.ok_or_else(fault::of_no_connection)?;
        if link.pending() == 0 {
            self.unsent.push(link_at);
        }
        let version = link.version;
        let opcode = match slot.draft.batch.is_some() {
            true => Opcode::Batch,
            false => Opcode::Execute,
        };
        let (draft, flags) = (&slot.draft, slot.flags);
        let pushed = link.push(Waits::Slot(at), |stream, out| {
            envelope(out, (version, flags, stream, opcode), |out| {
                draft.encode(&self.statements, version, self.consistency, out)
            })
        });
        let stream = pushed.map_err(|error| unsendable(&error))?;
        // A link without a free stream is never chosen.
        let stream = stream.ok_or_else(fault::of_no_connection)?;
        slot.place = Place::Sent(link_at, stream);
        if link.pending() >= SENT_AT_ONCE {
            self.flush(link_at);
        }
        Ok(())
    }

    fn flush(&mut self, at: usize) {
        let Some(link) = &mut self.links[at] else {
            return;
        };
        let slots = &mut self.slots;
        let flushed = link.flush(|slot, now_ns| {
            // One that is sent again has started already.
            if slots[slot].start_ns == 0 {
                slots[slot].start_ns = now_ns;
            }
        });
        let watched = flushed.and_then(|()| {
            if let Some(wanted) = link.write_interest() {
                let poller = &self.poller;
                poller.until_writable(link.descriptor()?, at, wanted)?;
            }
            Ok(())
        });
        if let Err(lost) = watched {
            self.lose(at, &lost);
        }
    }

    /// Takes in what a link has received.
    fn receive(&mut self, at: usize, ended: &mut Vec<Ended>) {
        let mut forgotten = Vec::new();
        let mut left = READ_IN_A_PASS;
        self.heard = at;
        let lost = loop {
            let Some(link) = &mut self.links[at] else {
                return;
            };
            let read = match link.read() {
                Ok(read) => read,
                Err(lost) => break Some(lost),
            };
            if read.bytes > 0
                && let Err(lost) = self.judge_all(at, sys::monotonic_ns(), (ended, &mut forgotten))
            {
                break Some(lost);
            }
            left = left.saturating_sub(read.bytes);
            if !read.more {
                break None;
            }
            if left == 0 {
                // The rest comes in the next pass: what is due and what has timed out does not wait for this server.
                self.unread.push(at);
                break None;
            }
        };
        for (slot, statement) in forgotten {
            self.prepare_again(at, slot, statement);
        }
        if let Some(lost) = lost {
            self.lose(at, &lost);
        }
    }

    /// Judges every answer that is there.
    fn judge_all(
        &mut self,
        at: usize,
        end_ns: u64,
        (ended, forgotten): (&mut Vec<Ended>, &mut Vec<(usize, usize)>),
    ) -> Result<(), Lost> {
        let Some(link) = &mut self.links[at] else {
            return Ok(());
        };
        let mut prepared = Vec::new();
        let (node, connection) = (small(link.node), small(at));
        while let Some(view) = link.inbox.next_view()? {
            if view.header.stream < 0 && view.header.opcode == Opcode::Event {
                // Only the watcher's connection asks for them.
                continue;
            }
            // Read before its stream is free: whoever waits on it fails with the connection where it cannot be read.
            let said = answer(&view.header, view.body)?;
            let waits = link.streams.answered(view.header.stream);
            let waits = waits.map_err(|stranger| match &said {
                // What a server says of the connection before it closes that.
                Err(error) => Lost::Said(error.to_string()),
                Ok(_) => stranger,
            })?;
            link.has_answered = true;
            let slot_at = match waits {
                Waits::Slot(slot) => slot,
                Waits::Statement(place) => {
                    prepared.push((place, prepared_again(said, &self.statements[place])));
                    continue;
                }
                Waits::Abandoned | Waits::Nobody => continue,
            };
            let slot = &mut self.slots[slot_at];
            let said = match said {
                Ok(Answer::Rows(rows)) => {
                    learn(&mut self.statements, slot.draft.statement(), &rows);
                    Ok(Answer::Rows(rows))
                }
                Ok(other) => Ok(other),
                Err(error) => match &error.kind {
                    ServerErrorKind::Unprepared { id } if slot.forgotten < MOST_FORGOTTEN => {
                        let place = self.statements.iter().position(|s| s.id == *id);
                        slot.forgotten += 1;
                        forgotten.push((slot_at, place.unwrap_or(slot.draft.statement())));
                        continue;
                    }
                    _ => Err(fault::of_server(&error)),
                },
            };
            let (touched, result) = self.traffic.judge(&self.statements, &mut slot.draft, said);
            slot.place = Place::Nowhere;
            ended.push(Ended {
                slot: slot_at,
                start_ns: slot.start_ns,
                end_ns,
                touched,
                over: Some(Over {
                    coordinator: node,
                    connection,
                    stream: view.header.stream,
                    trace: tracing_id(&view.header, view.body),
                }),
                result,
            });
        }
        for (place, known) in prepared {
            self.go_on(at, place, known, end_ns);
        }
        Ok(())
    }

    /// Ends a slot's operation without an answer.
    fn fail(&mut self, at: usize, why: &Fault, now_ns: u64) {
        let slot = &mut self.slots[at];
        slot.place = Place::Nowhere;
        let why = Err(why.clone());
        let (touched, result) = self.traffic.judge(&self.statements, &mut slot.draft, why);
        self.failed.push(Ended {
            slot: at,
            start_ns: slot.start_ns,
            end_ns: now_ns,
            touched,
            over: None,
            result,
        });
    }

    /// A link is gone: all that waited on it fails, and another is opened.
    fn lose(&mut self, at: usize, lost: &Lost) {
        let Some(link) = self.links[at].take() else {
            return;
        };
        let now_ns = sys::monotonic_ns();
        let why = fault::of_loss(self.nodes[link.node].peer.address, lost);
        for slot in link.streams.slots() {
            self.fail(slot, &why, now_ns);
        }
        for slot in 0..self.slots.len() {
            if matches!(self.slots[slot].place, Place::Waiting(on, _) if on == at) {
                self.fail(slot, &why, now_ns);
            }
        }
        self.lost += 1;
        self.nodes[link.node].links.retain(|other| *other != at);
        self.nodes[link.node].lost((link.opened_ns, link.has_answered), now_ns);
        self.dial_missing();
    }
}

/// A place among nodes or connections.
fn small(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

impl Endpoint for Wire {
    fn prepare(
        &mut self,
        workload: &Workload,
        used: &BTreeSet<String>,
        data: Seed,
    ) -> Result<(), EndpointError> {
        let Some(opening) = self.opening.take() else {
            return Ok(());
        };
        let mut opening = opening;
        let ring = std::mem::take(&mut opening.ring);
        (self.traffic, self.statements) =
            Traffic::prepare(&mut opening.control.0, (workload, used), data, ring)?;
        self.go(opening);
        Ok(())
    }

    fn unchecked(&self) -> Vec<Unchecked> {
        self.traffic.unchecked()
    }

    fn takes_several(&self) -> bool {
        self.traffic.takes_several()
    }

    fn partitions(&self, operation: usize, number: u64) -> u32 {
        self.traffic.partitions(operation, number)
    }

    fn coordinator(&self, place: u32) -> Option<SocketAddr> {
        let node = self.nodes.get(place as usize)?;
        Some(node.peer.address)
    }

    fn connections_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    fn begin(&mut self, at: usize, call: Call<'_>) {
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, Slot::default);
        }
        let slot = &mut self.slots[at];
        slot.flags = if call.trace { flag::TRACING } else { 0 };
        slot.draft.begin(call);
        (slot.start_ns, slot.forgotten, slot.place) = (0, 0, Place::Nowhere);
        if let Err(why) = self.submit(at) {
            self.fail(at, &why, sys::monotonic_ns());
        }
    }

    fn poll(&mut self, until_ns: u64, ended: &mut Vec<Ended>) -> io::Result<()> {
        while let Some(at) = self.unsent.pop() {
            self.flush(at);
        }
        ended.append(&mut self.failed);
        let until_ns = match ended.is_empty() {
            true => until_ns,
            false if self.links.iter().any(Option::is_some) => 0,
            // Whoever fails at once tries at once again: there is no need to burn a processor over it.
            false => until_ns.min(sys::monotonic_ns() + PAUSE_WITHOUT_LINKS_NS),
        };
        let mut unread = std::mem::take(&mut self.unread);
        self.poller
            .wait(if unread.is_empty() { until_ns } else { 0 })?;
        let mut at = 0;
        while let Some(ready) = self.poller.ready(at) {
            if ready.writable {
                self.flush(ready.key);
            }
            if ready.readable {
                unread.retain(|at| *at != ready.key);
                self.receive(ready.key, ended);
            }
            at += 1;
        }
        for at in unread {
            self.receive(at, ended);
        }
        self.hear();
        ended.append(&mut self.failed);
        Ok(())
    }

    fn follow(&self) {
        let link = self.links.get(self.heard).and_then(Option::as_ref);
        if let Some(Ok(socket)) = link.map(Link::descriptor) {
            sys::follow(socket);
        }
    }

    fn give_up(&mut self, at: usize) -> u64 {
        let Some(slot) = self.slots.get_mut(at) else {
            return 0;
        };
        let mut silent = None;
        if let Place::Sent(link_at, stream) = std::mem::take(&mut slot.place)
            && let Some(link) = &mut self.links[link_at]
        {
            silent = link.give_up(at, stream).map(|lost| (link_at, lost));
        }
        let given_up = Fault {
            kind: FailureKind::ClientTimeout,
            message: String::new(),
        };
        let _not_counted = self
            .traffic
            .judge(&self.statements, &mut slot.draft, Err(given_up));
        self.failed.retain(|ended| ended.slot != at);
        let start_ns = slot.start_ns;
        if let Some((link_at, lost)) = silent {
            self.lose(link_at, &lost);
        }
        start_ns
    }
}
