//! A line of NoSQLBench's cql-iot: its words read, and its timers in the form in which NoSQLBench writes them.
//! Refuses other workloads by name, and parameters that cql-iot does not have.

use crate::built_in;
use crate::dist::whole_number;
use crate::histogram::Histogram;
use crate::nearest::nearest;
use crate::units::parse_rate;

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Parameters of the workload `iot`.
    pub parameters: Vec<(String, String)>,
    /// `cyclerate=`: operations a second of each phase.
    pub rate: Option<String>,
    /// `async=`, or `threads=` where there is none: operations in flight.
    pub in_flight: Option<u32>,
    /// `hosts=` or `host=`.
    pub hosts: Vec<String>,
    /// `port=`.
    pub port: u16,
    /// `localdc=`.
    pub data_centre: Option<String>,
    /// `username=`.
    pub user: Option<String>,
    /// Where the password is.
    pub password: Option<Password>,
}

/// A password, or the file that holds it.
#[derive(Clone, PartialEq, Eq)]
pub enum Password {
    /// `password=`, as it stands in the line.
    Word(String),
    /// `passfile=`.
    File(String),
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(_) => f.write_str("Word(***)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// Why a line cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NbError {
    /// No words.
    #[error("the line names no workload")]
    Empty,
    /// Another workload than cql-iot.
    #[error("NoSQLBench's {0} is not supported: of its workloads, only cql-iot is")]
    Workload(String),
    /// A parameter that cql-iot does not have.
    #[error("cql-iot has no parameter {name:?}")]
    Parameter {
        /// Asked for.
        name: String,
        /// The nearest that there is.
        near: Option<String>,
    },
    /// A value that a parameter does not take.
    #[error("{name}={value}: it must be {wanted}")]
    Value {
        /// The parameter.
        name: String,
        /// What was given.
        value: String,
        /// What it takes.
        wanted: &'static str,
    },
    /// A word that is neither an option nor a parameter.
    #[error("{0:?} is not a supported option of NoSQLBench")]
    Word(String),
    /// A name without a password, or the other way round.
    #[error("username= and password= (or passfile=) must be given together")]
    Login,
}

/// NoSQLBench's other workloads, and what comes near them here.
const OTHERS: [(&str, &str); 3] = [
    ("cql-keyvalue", "helenus run kv"),
    ("cql-tabular", "helenus run standard1"),
    ("cql-timeseries", "helenus run timeseries"),
];

/// Parameters of the line that are not the workload's.
const OWN: [&str; 11] = [
    "cyclerate",
    "async",
    "threads",
    "hosts",
    "host",
    "port",
    "localdc",
    "username",
    "password",
    "passfile",
    "driver",
];

/// Flags of helenus, which people write behind the line too.
const OURS: [&str; 6] = [
    "--cluster",
    "--format",
    "--tag",
    "--dry-run",
    "--quiet",
    "--i-may-write-to",
];

impl NbError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        const LINE: &str =
            "helenus nb cql-iot rampup-cycles=1k main-cycles=10k cyclerate=100 async=100";
        match self {
            Self::Empty => LINE.to_owned(),
            Self::Workload(name) => {
                let near = OTHERS.iter().find(|(other, _)| other == name);
                let near = near.map_or("helenus workload list shows all", |near| near.1);
                format!("{near}; or {LINE}")
            }
            Self::Parameter { near, .. } => match near {
                Some(near) => format!("did you mean {near}=? helenus workload show iot lists them"),
                None => "helenus workload show iot lists them".to_owned(),
            },
            Self::Value { name, .. } if name == "driver" => "leave it out".to_owned(),
            Self::Value { .. } => format!("as in {LINE}"),
            Self::Word(word) if OURS.contains(&word.as_str()) => {
                format!("flags of helenus go before the line: helenus nb {word} … cql-iot …")
            }
            Self::Word(_) => {
                "only --progress console:1s and -v are supported; leave the others out".to_owned()
            }
            Self::Login => "write both, or leave both out".to_owned(),
        }
    }
}

impl Line {
    /// Reads the words behind `nb`.
    ///
    /// # Errors
    /// Another workload, an unknown parameter or option, a value that makes no sense.
    pub fn read(words: &[String]) -> Result<Self, NbError> {
        let (first, rest) = words.split_first().ok_or(NbError::Empty)?;
        if first != "cql-iot" {
            return Err(NbError::Workload(first.clone()));
        }
        let mut line = Self {
            parameters: Vec::new(),
            rate: None,
            in_flight: None,
            hosts: Vec::new(),
            port: 9042,
            data_centre: None,
            user: None,
            password: None,
        };
        let mut threads = None;
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            if word == "--progress" {
                // How often progress is printed here is for this program to say.
                rest.next();
                continue;
            }
            if word
                .strip_prefix('-')
                .is_some_and(|v| !v.is_empty() && v.chars().all(|c| c == 'v'))
            {
                continue;
            }
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| NbError::Word(word.clone()))?;
            if name.starts_with('-') {
                return Err(NbError::Word(word.clone()));
            }
            match name {
                "threads" => {
                    threads = (value != "auto").then(|| number(name, value)).transpose()?
                }
                _ => line.take(name, value)?,
            }
        }
        line.in_flight = line.in_flight.or(threads);
        if line.user.is_some() != line.password.is_some() {
            return Err(NbError::Login);
        }
        Ok(line)
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), NbError> {
        match name {
            "cyclerate" => {
                let rate = parse_rate(value);
                rate.map_err(|_| wrong(name, value, "operations per second, such as 100 or 2k"))?;
                self.rate = Some(value.to_owned());
            }
            "async" => self.in_flight = Some(number(name, value)?),
            "hosts" | "host" => {
                let hosts = value
                    .split(',')
                    .map(str::trim)
                    .filter(|host| !host.is_empty());
                self.hosts.extend(hosts.map(str::to_owned));
            }
            "port" => {
                let port = u16::try_from(number(name, value)?);
                self.port = port.map_err(|_| wrong(name, value, "a port"))?;
            }
            "localdc" => self.data_centre = Some(value.to_owned()),
            "username" => self.user = Some(value.to_owned()),
            "password" => self.password = Some(Password::Word(value.to_owned())),
            "passfile" => self.password = Some(Password::File(value.to_owned())),
            "driver" if value == "cql" => {}
            "driver" => return Err(wrong(name, value, "cql, the only supported one")),
            _ => self.parameters.push(self::parameter(name, value)?),
        }
        Ok(())
    }
}

fn wrong(name: &str, value: &str, wanted: &'static str) -> NbError {
    NbError::Value {
        name: name.to_owned(),
        value: value.to_owned(),
        wanted,
    }
}

fn number(name: &str, value: &str) -> Result<u32, NbError> {
    let number = whole_number(value).and_then(|n| u32::try_from(n).ok());
    let number = number.filter(|n| *n > 0);
    number.ok_or_else(|| wrong(name, value, "a number above 0, such as 100 or 10k"))
}

/// A parameter of the workload itself; NoSQLBench writes them with `-` and with `_`.
fn parameter(name: &str, value: &str) -> Result<(String, String), NbError> {
    let known: Vec<&str> = built_in::find("iot").map_or_else(
        |_| Vec::new(),
        |iot| iot.parameters.iter().map(|known| known.name).collect(),
    );
    let plain = |name: &str| name.replace('-', "_");
    if known.iter().any(|known| plain(known) == plain(name)) {
        return Ok((name.to_owned(), value.to_owned()));
    }
    Err(NbError::Parameter {
        name: name.to_owned(),
        near: nearest(name, known.into_iter().chain(OWN)).map(str::to_owned),
    })
}

/// Operations of a phase as they ended: how many, in how many seconds, one after the other.
pub type Marks = Vec<(u64, f64)>;

/// A timer as NoSQLBench prints it at the end of a run, in microseconds: `cqliot_default_PHASE.cycles.KIND`.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
pub fn timer(phase: &str, kind: &str, times: &Histogram, marks: &Marks) -> String {
    let us = |ns: f64| ns / 1e3;
    let at = |quantile| us(times.rough_percentile_ns(quantile).unwrap_or(0) as f64);
    let mean = times.mean_ns().unwrap_or(0.0);
    let count = times.count();
    let squares = times.buckets().map(|bucket| {
        let off = bucket.middle_ns as f64 - mean;
        off * off * bucket.count as f64
    });
    let deviation = (squares.sum::<f64>() / count.max(1) as f64).sqrt();
    let seconds: f64 = marks.iter().map(|(_, seconds)| seconds).sum();
    let rate = if seconds > 0.0 {
        count as f64 / seconds
    } else {
        0.0
    };
    format!(
        "type=TIMER, name=cqliot_default_{phase}.cycles.{kind}, count={count}, min={}, max={}, mean={}, stddev={}, \
         median={}, p75={}, p95={}, p98={}, p99={}, p999={}, mean_rate={rate}, m1={}, m5={}, m15={}, \
         rate_unit=events/second, duration_unit=microseconds",
        us(times.min_ns().unwrap_or(0) as f64),
        us(times.max_ns().unwrap_or(0) as f64),
        us(mean),
        us(deviation),
        at(0.5),
        at(0.75),
        at(0.95),
        at(0.98),
        at(0.99),
        at(0.999),
        recent(marks, 1.0),
        recent(marks, 5.0),
        recent(marks, 15.0),
    )
}

/// The rate of the last minutes, older operations counting ever less: exponentially weighted, as load averages are.
#[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
fn recent(marks: &Marks, minutes: f64) -> f64 {
    let mut rate = None;
    for (count, seconds) in marks.iter().filter(|(_, seconds)| *seconds > 0.0) {
        let now = *count as f64 / seconds;
        let weight = 1.0 - (-seconds / 60.0 / minutes).exp();
        rate = Some(rate.map_or(now, |before: f64| before + weight * (now - before)));
    }
    rate.unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Line, NbError> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Line::read(&words)
    }

    #[test]
    fn the_line_that_k8ssandra_s_benchmark_has_is_read() {
        let line = read("cql-iot rampup-cycles=1k cyclerate=100 username=me password=hunter2 main-cycles=10k write_ratio=7 read_ratio=3 async=100 hosts=one,10.0.0.2 --progress console:1s -v").expect("a line");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            line.parameters,
            [
                pair("rampup-cycles", "1k"),
                pair("main-cycles", "10k"),
                pair("write_ratio", "7"),
                pair("read_ratio", "3")
            ]
        );
        assert_eq!(
            (line.rate.as_deref(), line.in_flight),
            (Some("100"), Some(100))
        );
        assert_eq!((line.hosts.len(), line.port), (2, 9042));
        assert_eq!(line.password, Some(Password::Word("hunter2".to_owned())));
        assert!(!format!("{line:?}").contains("hunter2"));
    }

    #[test]
    fn what_is_not_taken_is_refused_by_name() {
        let said = |line: &str| {
            let error = read(line).expect_err("refused");
            format!("{error}; {}", error.hint())
        };
        insta::assert_snapshot!(
            [
                said("cql-keyvalue main-cycles=5"),
                said("run driver=cql"),
                said("cql-iot cycle_rate=100"),
                said("cql-iot async=many"),
                said("cql-iot cyclerate=fast"),
                said("cql-iot driver=http"),
                said("cql-iot --report-csv-to x"),
                said("cql-iot --cluster c"),
                said("cql-iot username=me"),
            ]
            .join("\n"),
            @r#"
            NoSQLBench's cql-keyvalue is not supported: of its workloads, only cql-iot is; helenus run kv; or helenus nb cql-iot rampup-cycles=1k main-cycles=10k cyclerate=100 async=100
            NoSQLBench's run is not supported: of its workloads, only cql-iot is; helenus workload list shows all; or helenus nb cql-iot rampup-cycles=1k main-cycles=10k cyclerate=100 async=100
            cql-iot has no parameter "cycle_rate"; did you mean cyclerate=? helenus workload show iot lists them
            async=many: it must be a number above 0, such as 100 or 10k; as in helenus nb cql-iot rampup-cycles=1k main-cycles=10k cyclerate=100 async=100
            cyclerate=fast: it must be operations per second, such as 100 or 2k; as in helenus nb cql-iot rampup-cycles=1k main-cycles=10k cyclerate=100 async=100
            driver=http: it must be cql, the only supported one; leave it out
            "--report-csv-to" is not a supported option of NoSQLBench; only --progress console:1s and -v are supported; leave the others out
            "--cluster" is not a supported option of NoSQLBench; flags of helenus go before the line: helenus nb --cluster … cql-iot …
            username= and password= (or passfile=) must be given together; write both, or leave both out
            "#
        );
    }

    #[test]
    fn a_timer_is_printed_in_microseconds() {
        let mut times = Histogram::new();
        for _ in 0..99 {
            times.record(1_000_000);
        }
        times.record(5_000_000);
        let line = timer("main", "responsetime", &times, &vec![(50, 0.5), (50, 0.5)]);
        assert!(
            line.starts_with(
                "type=TIMER, name=cqliot_default_main.cycles.responsetime, count=100, min="
            ),
            "{line}"
        );
        let value = |name: &str| -> f64 {
            let at = line.find(&format!(" {name}=")).expect("a value") + name.len() + 2;
            let text: String = line[at..].chars().take_while(|c| *c != ',').collect();
            text.parse().expect("a number")
        };
        let near = |name: &str, wanted: f64| {
            assert!((value(name) / wanted - 1.0).abs() < 0.01, "{name}: {line}");
        };
        near("min", 1_000.0);
        near("max", 5_000.0);
        near("mean", 1_040.0);
        near("stddev", 398.0);
        near("median", 1_000.0);
        near("p98", 1_000.0);
        near("p999", 5_000.0);
        near("mean_rate", 100.0);
        near("m1", 100.0);
        assert!(line.ends_with("rate_unit=events/second, duration_unit=microseconds"));
    }
}
