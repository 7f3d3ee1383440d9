//! The bare loop: the least that a client can do on one thread. It is the limit that the generator is held to.
//! Refuses checks, routing, histograms while it runs, and everything else that a load generator is for.
//!
//! `bare-loop ADDRESS SECONDS paced RATE`, `bare-loop ADDRESS SECONDS closed IN_FLIGHT CONNECTIONS`: writes rows of
//! `keyspace1.standard1` and prints one line of JSON.

#![expect(
    clippy::print_stdout,
    reason = "what it measured is for whoever started it"
)]

use helenus_cql::client::{Client, ConnectOptions, Stream};
use helenus_cql::codec::envelope::{HEADER_BYTES, Header, Opcode};
use helenus_cql::codec::wire::Write as _;
use helenus_cql::codec::{BoundStatement, Consistency, Execution, Version};
use helenus_model::workload::standard1;
use rustix::event::epoll;
use rustix::thread::set_current_timer_slack;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::num::NonZeroU64;

const ROOM: usize = 64 << 10;

/// Operations in flight at most where they are sent at a rate.
const PACED_IN_FLIGHT: usize = 64;

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

fn timespec(at_ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(at_ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(at_ns % 1_000_000_000).unwrap_or(0),
    }
}

/// One connection, the frame that it sends, and when what is on its way was sent.
struct Connection {
    stream: Box<dyn Stream>,
    frame: Vec<u8>,
    key_at: usize,
    started_ns: Vec<u64>,
    free: Vec<i16>,
    out: Vec<u8>,
    received: Vec<u8>,
    end: usize,
}

impl Connection {
    fn open(address: SocketAddr, in_flight: usize) -> Result<Self, Box<dyn Error>> {
        let options = ConnectOptions {
            protocol: Version::V4,
            ..ConnectOptions::default()
        };
        let mut client = Client::connect(address, &options)?;
        let prepared = client.prepare(standard1::STATEMENTS[0].1)?;
        let mut values = Vec::new();
        values.put_bytes("key", Some(&[0; standard1::KEY_BYTES]))?;
        for _ in 0..standard1::COLUMNS {
            values.put_bytes("column", Some(&[7; standard1::COLUMN_BYTES]))?;
        }
        let execution = Execution {
            consistency: Consistency::One,
            skip_metadata: false,
            page_size: None,
            paging_state: None,
            serial_consistency: None,
            timestamp: None,
        };
        let statement = BoundStatement {
            id: &prepared.id,
            result_metadata_id: &[],
            count: 1 + standard1::COLUMNS,
            values: &values,
        };
        let mut body = Vec::new();
        execution.execute(Version::V4, &statement, &mut body)?;
        let mut frame = Vec::new();
        Header {
            version: Version::V4,
            response: false,
            flags: 0,
            stream: 0,
            opcode: Opcode::Execute,
            length: body.len(),
        }
        .encode(&mut frame)?;
        frame.extend(&body);
        let key_at = frame.len() - values.len() + 4;
        Ok(Self {
            stream: client.hand_over().stream,
            frame,
            key_at,
            started_ns: vec![0; in_flight],
            free: (0..i16::try_from(in_flight)?).collect(),
            out: Vec::with_capacity(ROOM),
            received: vec![0; ROOM],
            end: 0,
        })
    }

    /// Sends as many operations as streams are free, at most so many, in one call.
    fn send(&mut self, most: usize, next: &mut u64) -> io::Result<()> {
        let now_ns = now_ns();
        self.out.clear();
        for _ in 0..most {
            let Some(stream) = self.free.pop() else {
                break;
            };
            self.frame[2..4].copy_from_slice(&stream.to_be_bytes());
            self.frame[self.key_at..self.key_at + standard1::KEY_BYTES]
                .copy_from_slice(&standard1::key(*next));
            *next += 1;
            self.started_ns[stream.unsigned_abs() as usize] = now_ns;
            self.out.extend_from_slice(&self.frame);
        }
        self.stream.write_all(&self.out)
    }

    /// Reads once; how many answers came.
    fn receive(&mut self, times_ns: &mut Vec<u32>) -> io::Result<usize> {
        let count = self.stream.read(&mut self.received[self.end..])?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.end += count;
        let now_ns = now_ns();
        let (mut at, mut answers) = (0, 0);
        while self.end - at >= HEADER_BYTES {
            let head = &self.received[at..at + HEADER_BYTES];
            let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) as usize;
            if self.end - at < HEADER_BYTES + length {
                break;
            }
            if head[4] != Opcode::Result as u8 {
                return Err(io::Error::other("not a RESULT"));
            }
            let stream = i16::from_be_bytes([head[2], head[3]]);
            let took = now_ns - self.started_ns[stream.unsigned_abs() as usize];
            times_ns.push(u32::try_from(took).unwrap_or(u32::MAX));
            self.free.push(stream);
            answers += 1;
            at += HEADER_BYTES + length;
        }
        self.received.copy_within(at..self.end, 0);
        self.end -= at;
        Ok(answers)
    }
}

/// An open loop: an operation is sent when it is due, whether or not those before it were answered. The timer is a
/// descriptor that is set once for each start; `ppoll` with a time-out, alone or beside `clock_nanosleep` while nothing is in
/// flight, cost a tenth to a third more when they were tried.
fn paced(mut one: Connection, rate: f64, until_ns: u64, times_ns: &mut Vec<u32>) -> io::Result<()> {
    // As exact as the system allows: by default it may delay each wake, and with it each start, by 50 us.
    set_current_timer_slack(NonZeroU64::new(1))?;
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let socket = one.stream.descriptor().ok_or(io::ErrorKind::Unsupported)?;
    let answers = epoll::EventData::new_u64(0);
    epoll::add(&epoll, socket, answers, epoll::EventFlags::IN)?;
    let starts = epoll::EventData::new_u64(1);
    epoll::add(&epoll, &timer, starts, epoll::EventFlags::IN)?;
    let mut events = Vec::with_capacity(2);
    let (begin_ns, mut next, mut set_to_ns) = (now_ns(), 0, 0);
    loop {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a moment within a minute"
        )]
        let at_ns = begin_ns + (next as f64 * 1e9 / rate) as u64;
        if at_ns >= until_ns {
            break;
        }
        if one.free.is_empty() {
            one.receive(times_ns)?;
            continue;
        }
        if at_ns <= now_ns() {
            one.send(1, &mut next)?;
            continue;
        }
        if set_to_ns != at_ns {
            let once = Itimerspec {
                it_interval: Timespec::default(),
                it_value: timespec(at_ns),
            };
            // Setting it anew forgets that it has expired: it is never read.
            timerfd_settime(&timer, TimerfdTimerFlags::ABSTIME, &once)?;
            set_to_ns = at_ns;
        }
        events.clear();
        epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None)?;
        if events.iter().any(|event| event.data.u64() == 0) {
            one.receive(times_ns)?;
        }
    }
    while one.free.len() < one.started_ns.len() {
        one.receive(times_ns)?;
    }
    Ok(())
}

fn closed(all: &mut [Connection], until_ns: u64, times_ns: &mut Vec<u32>) -> io::Result<()> {
    let mut next = 0;
    for one in all.iter_mut() {
        one.send(usize::MAX, &mut next)?;
    }
    if let [one] = all {
        while now_ns() < until_ns {
            let answers = one.receive(times_ns)?;
            one.send(answers, &mut next)?;
        }
        return Ok(());
    }
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (at, one) in all.iter().enumerate() {
        let socket = one.stream.descriptor().ok_or(io::ErrorKind::Unsupported)?;
        let key = epoll::EventData::new_u64(at as u64);
        epoll::add(&epoll, socket, key, epoll::EventFlags::IN)?;
    }
    let mut events = Vec::with_capacity(all.len());
    while now_ns() < until_ns {
        events.clear();
        epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let one = &mut all[usize::try_from(event.data.u64()).unwrap_or(0)];
            let answers = one.receive(times_ns)?;
            one.send(answers, &mut next)?;
        }
    }
    Ok(())
}

/// CPU of the whole process since it began, as the other tools are judged by.
fn cpu_us() -> u64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec.unsigned_abs() * 1_000_000 + used.tv_nsec.unsigned_abs() / 1000
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|w| w != "--bench")
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [address, seconds, shape @ ..] = &words[..] else {
        return Err("bare-loop ADDRESS SECONDS paced RATE | closed IN_FLIGHT CONNECTIONS".into());
    };
    let address: SocketAddr = address.parse()?;
    let seconds: u64 = seconds.parse()?;
    let mut times_ns = Vec::with_capacity(1 << 22);
    let (in_flight, connections) = match shape {
        ["closed", in_flight, connections] => (in_flight.parse()?, connections.parse()?),
        _ => (PACED_IN_FLIGHT, 1),
    };
    let all = (0..connections).map(|_| Connection::open(address, in_flight));
    let mut all: Vec<Connection> = all.collect::<Result<_, _>>()?;
    let begin_ns = now_ns();
    let until_ns = begin_ns + seconds * 1_000_000_000;
    match shape {
        ["paced", rate] => paced(all.remove(0), rate.parse()?, until_ns, &mut times_ns)?,
        _ => closed(&mut all, until_ns, &mut times_ns)?,
    }
    let (took_ns, used_us) = (now_ns() - begin_ns, cpu_us());
    times_ns.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let (count, took_s, used_us) = (times_ns.len() as f64, took_ns as f64 / 1e9, used_us as f64);
    let quantile = |per_mille: usize| {
        let at = times_ns.len() * per_mille / 1000;
        f64::from(times_ns.get(at).copied().unwrap_or(0)) / 1000.0
    };
    println!(
        "{{\"operations\":{count},\"rate_per_s\":{:.1},\"cpu_us\":{:.3},\"p50_us\":{:.1},\"p99_us\":{:.1}}}",
        count / took_s,
        used_us / count,
        quantile(500),
        quantile(990)
    );
    Ok(())
}
