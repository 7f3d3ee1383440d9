//! Threads that open connections and watch the cluster, so that the loop never waits for either.
//! Refuses to touch a connection once it is handed over.

use super::map::{Map, Peer};
use helenus_cql::client::{Client, ClientError, ConnectOptions, HandedOver};
use helenus_cql::codec::Event;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Pauses between tries to reach a node: twice as long each time, from the first to the second.
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), LONGEST_PAUSE);

/// The longest pause before a node is tried again.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The pause that follows this one.
pub(super) fn longer(pause: Duration) -> Duration {
    (pause * 2).clamp(PAUSE.0, PAUSE.1)
}

/// How long a wait lasts before it is looked whether all is over.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long after an event the cluster is read: what the event is about reaches the tables a moment later.
const READ_AFTER: Duration = Duration::from_secs(1);

/// How often the cluster is read where no event says so.
const READ_EVERY: Duration = Duration::from_secs(60);

/// What a new connection needs.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) options: ConnectOptions,
    /// Statements that it prepares before it is handed over.
    pub(super) statements: Mutex<Vec<String>>,
    /// Where nodes that may coordinate are now, by their places.
    pub(super) addresses: Mutex<BTreeMap<usize, SocketAddr>>,
    /// Nobody takes news any more.
    pub(super) over: AtomicBool,
}

/// What the threads have to say.
#[derive(Debug)]
pub(super) enum News {
    /// A connection to a node, by its place.
    Opened(usize, HandedOver),
    /// The node with this place coordinates no longer: no connection was opened.
    GaveUp(usize),
    /// The cluster has changed.
    Changed(Map),
}

impl Access {
    pub(super) fn new(options: ConnectOptions) -> Self {
        Self {
            options,
            statements: Mutex::default(),
            addresses: Mutex::default(),
            over: AtomicBool::new(false),
        }
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Opens a connection on which all statements are prepared.
    fn open(&self, address: SocketAddr) -> Result<Client, ClientError> {
        let mut client = Client::connect(address, &self.options)?;
        self.prepare_on(&mut client)?;
        Ok(client)
    }

    pub(super) fn statements(&self) -> MutexGuard<'_, Vec<String>> {
        let locked = self.statements.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn addresses(&self) -> MutexGuard<'_, BTreeMap<usize, SocketAddr>> {
        let locked = self.addresses.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    fn prepare_on(&self, client: &mut Client) -> Result<(), ClientError> {
        let statements = self.statements().clone();
        statements
            .iter()
            .try_for_each(|cql| client.prepare(cql).map(drop))
    }
}

/// Connections to all of these nodes at once.
pub(super) fn open_all(
    access: &Access,
    peers: &[(usize, SocketAddr)],
) -> Vec<(usize, Result<Client, ClientError>)> {
    thread::scope(|scope| {
        let opening: Vec<_> = peers
            .iter()
            .map(|(node, address)| (*node, scope.spawn(|| access.open(*address))))
            .collect();
        opening
            .into_iter()
            .map(|(node, opened)| (node, opened.join().unwrap_or(Err(ClientError::Broken))))
            .collect()
    })
}

/// Prepares all statements on connections that were opened before they were known; those on which that fails are dropped.
pub(super) fn prepare_on_all(
    access: &Access,
    clients: Vec<(usize, Client)>,
) -> Vec<(usize, HandedOver)> {
    thread::scope(|scope| {
        let preparing = clients.into_iter().map(|(node, mut client)| {
            scope.spawn(move || {
                let prepared = access.prepare_on(&mut client);
                prepared.ok().map(|()| (node, client.hand_over()))
            })
        });
        let preparing: Vec<_> = preparing.collect();
        let done = preparing.into_iter().map(|one| one.join().ok().flatten());
        done.flatten().collect()
    })
}

/// Opens a connection to a node after a pause, however often that takes and wherever it is by then, until it coordinates no
/// longer.
pub(super) fn keep_dialling(
    access: &Arc<Access>,
    (node, mut pause): (usize, Duration),
    news: &Sender<News>,
) {
    let (access, news) = (Arc::clone(access), news.clone());
    thread::spawn(move || {
        loop {
            thread::sleep(pause);
            pause = longer(pause);
            if access.is_over() {
                return;
            }
            let address = access.addresses().get(&node).copied();
            let Some(address) = address else {
                let _nobody_listens = news.send(News::GaveUp(node));
                return;
            };
            if let Ok(client) = access.open(address) {
                let _nobody_listens = news.send(News::Opened(node, client.hand_over()));
                return;
            }
        }
    });
}

/// Watches the cluster over a connection to the node at `address`, or to another once that is lost.
pub(super) fn watch(
    access: &Arc<Access>,
    (client, address): (Client, SocketAddr),
    map: Map,
    news: &Sender<News>,
) {
    let (access, news) = (Arc::clone(access), news.clone());
    thread::spawn(move || {
        let mut watching = Some((client, address));
        let mut last = map;
        let mut pause = PAUSE.0;
        while !access.is_over() {
            if let Some((client, address)) = watching.take() {
                pause = PAUSE.0;
                // Only a lost connection ends it: another is opened.
                let _lost = watch_over(&access, client, address, (&mut last, &news));
            }
            thread::sleep(pause);
            pause = longer(pause);
            let candidates = last.peers.iter().map(|peer: &Peer| peer.address);
            watching = candidates
                .filter_map(|at| Some((Client::connect(at, &access.options).ok()?, at)))
                .next();
        }
    });
}

fn watch_over(
    access: &Access,
    mut client: Client,
    address: SocketAddr,
    (last, news): (&mut Map, &Sender<News>),
) -> Result<(), ClientError> {
    client.register(&["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"])?;
    let mut read_at = Instant::now();
    while !access.is_over() {
        if Instant::now() >= read_at {
            let map = Map::read(&mut client, address)?;
            if map != *last {
                *last = map.clone();
                if news.send(News::Changed(map)).is_err() {
                    return Ok(());
                }
            }
            read_at = Instant::now() + READ_EVERY;
        }
        let left = read_at.saturating_duration_since(Instant::now());
        let left = left.clamp(Duration::from_millis(1), LOOK_EVERY);
        match client.event(left)? {
            None => {}
            Some(Event::Schema(change)) if !is_of_keyspaces(&change) => {}
            // Events that keep coming do not put it off.
            Some(_) => read_at = read_at.min(Instant::now() + READ_AFTER),
        }
    }
    Ok(())
}

fn is_of_keyspaces(change: &helenus_cql::codec::SchemaChange) -> bool {
    change.target == helenus_cql::codec::SchemaTarget::Keyspace
}
