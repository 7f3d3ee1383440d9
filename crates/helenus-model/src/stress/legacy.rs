//! Lines of release 2.0 and older (`--operation READ -n 1000`), translated into today's.
//! Refuses operations that only Thrift had.

use super::error::StressError;
use crate::nearest::nearest;

/// An option of old: its letters, its long name, whether a value follows.
struct Old {
    short: &'static str,
    long: &'static str,
    value: bool,
}

macro_rules! olds {
    ($($short:literal $long:literal $value:literal;)*) => {
        const OLD: &[Old] = &[$(Old { short: $short, long: $long, value: $value }),*];
    };
}

olds! {
    "h" "help" false;
    "n" "num-keys" true;
    "F" "num-different-keys" true;
    "t" "threads" true;
    "t" "threadCount" true;
    "c" "columns" true;
    "S" "column-size" true;
    "C" "cardinality" true;
    "d" "nodes" true;
    "D" "nodesfile" true;
    "s" "stdev" true;
    "r" "random" false;
    "f" "file" true;
    "p" "port" true;
    "o" "operation" true;
    "u" "supercolumns" true;
    "y" "family-type" true;
    "K" "keep-trying" true;
    "k" "keep-going" false;
    "i" "progress-interval" true;
    "g" "keys-per-call" true;
    "l" "replication-factor" true;
    "L" "enable-cql" false;
    "L3" "enable-cql3" false;
    "b" "enable-native-protocol" false;
    "P" "use-prepared-statements" false;
    "e" "consistency-level" true;
    "x" "create-index" true;
    "R" "replication-strategy" true;
    "O" "strategy-properties" true;
    "W" "no-replicate-on-write" false;
    "V" "average-size-values" false;
    "T" "send-to" true;
    "I" "compression" true;
    "Q" "query-names" true;
    "Z" "compaction-strategy" true;
    "U" "comparator" true;
    "tf" "transport-factory" true;
    "ns" "no-statistics" false;
    "ts" "truststore" true;
    "tspw" "truststore-password" true;
    "prtcl" "ssl-protocol" true;
    "alg" "ssl-alg" true;
    "st" "store-type" true;
    "ciphers" "ssl-ciphers" true;
    "th" "throttle" true;
}

/// The old options, where the words are a line of old: `legacy …`, none at all, or an old option first.
pub(super) fn arguments(words: &[String]) -> Option<&[String]> {
    let Some(first) = words.first() else {
        return Some(words);
    };
    if first.eq_ignore_ascii_case("legacy") {
        return Some(&words[1..]);
    }
    let name = first.strip_prefix('-')?;
    let old = match name.strip_prefix('-') {
        // Nothing of today begins with two hyphens.
        Some(_) => true,
        // `-h` asks today's program for help.
        None => name != "h" && OLD.iter().any(|old| old.short == name),
    };
    old.then_some(words)
}

/// What was given, by its long name.
struct Given(Vec<(&'static str, String)>);

impl Given {
    fn read(words: &[String]) -> Result<Self, StressError> {
        let mut given = Vec::new();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let (name, attached) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let old = OLD.iter().find(|old| {
                name.strip_prefix("--").is_some_and(|long| long == old.long)
                    || name
                        .strip_prefix('-')
                        .is_some_and(|short| short == old.short)
            });
            let old = old.ok_or_else(|| unknown(name))?;
            let value = match (old.value, attached) {
                (false, _) => String::new(),
                (true, Some(value)) => value,
                (true, None) => rest.next().cloned().ok_or_else(|| {
                    StressError::Rule(format!("legacy: a value must follow --{}", old.long))
                })?,
            };
            let long = if old.long == "threadCount" {
                "threads"
            } else {
                old.long
            };
            given.push((long, value));
        }
        Ok(Self(given))
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(n, _)| *n == name)
    }

    fn get(&self, name: &str) -> Option<&str> {
        let mut all = self.0.iter().rev();
        all.find(|(n, _)| *n == name)
            .map(|(_, value)| value.as_str())
    }

    /// A whole number, or what stands where none is given.
    fn number(&self, name: &str, otherwise: u64) -> Result<u64, StressError> {
        let read = |text: &str| {
            text.parse().map_err(|_| {
                StressError::Rule(format!("legacy: --{name} {text:?} is not a whole number"))
            })
        };
        self.get(name).map_or(Ok(otherwise), read)
    }
}

fn unknown(name: &str) -> StressError {
    let bare = name.trim_start_matches('-');
    StressError::Parameter {
        group: "legacy".to_owned(),
        parameter: name.to_owned(),
        nearest: nearest(bare, OLD.iter().map(|old| old.long)).map(|near| format!("--{near}")),
        elsewhere: None,
        known: OLD.iter().map(|old| format!("--{}", old.long)).collect(),
    }
}

/// Today's words; none where help is asked for.
pub(super) fn translate(words: &[String]) -> Result<Option<Vec<String>>, StressError> {
    let given = Given::read(words)?;
    if given.has("help") {
        return Ok(None);
    }
    let command = command(&given)?;
    let keys = given.number("num-keys", 1_000_000)?;
    let mut new = vec![
        command.to_owned(),
        format!("n={keys}"),
        "no-warmup".to_owned(),
    ];
    let level = given.get("consistency-level").unwrap_or("ONE");
    new.push(format!("cl={}", level.to_ascii_uppercase()));
    population(&given, command, keys, &mut new)?;
    columns(&given, &mut new)?;
    let threads = given.number("threads", 50)?;
    new.extend(["-rate".to_owned(), format!("threads={threads}")]);
    if let Some(most) = given.get("throttle") {
        new.push(format!("throttle={most}/s"));
    }
    errors(&given, &mut new);
    schema(&given, &mut new);
    let interval = given.number("progress-interval", 10)?;
    new.extend(["-log".to_owned(), format!("interval={interval}s")]);
    if let Some(file) = given.get("file") {
        new.push(format!("file={file}"));
    }
    if given.has("no-statistics") {
        new.push("no-summary".to_owned());
    }
    if let Some(nodes) = given.get("nodes") {
        new.extend(["-node".to_owned(), nodes.to_owned()]);
    } else if let Some(file) = given.get("nodesfile") {
        new.extend(["-node".to_owned(), format!("file={file}")]);
    }
    Ok(Some(new))
}

fn command(given: &Given) -> Result<&'static str, StressError> {
    let asked = given
        .get("operation")
        .unwrap_or("INSERT")
        .to_ascii_uppercase();
    let gone = |why| StressError::Gone {
        what: format!("--operation {asked}"),
        why,
        cure: Some(
            "write a profile with the query, and run it with: helenus stress user profile=…"
                .to_owned(),
        ),
    };
    Ok(match asked.as_str() {
        "INSERT" | "WRITE" => "write",
        "READ" => "read",
        "READWRITE" => "mixed",
        "COUNTER_ADD" | "COUNTERADD" | "COUNTERWRITE" | "COUNTER_WRITE" => "counter_write",
        "COUNTER_GET" | "COUNTERGET" | "COUNTER_READ" => "counter_read",
        "RANGE_SLICE" | "INDEXED_RANGE_SLICE" | "MULTI_GET" => {
            return Err(gone("it was an operation of Thrift"));
        }
        _ => {
            let known = ["INSERT", "READ", "READWRITE", "COUNTER_ADD", "COUNTER_GET"];
            return Err(StressError::Parameter {
                group: "legacy".to_owned(),
                parameter: format!("--operation {asked}"),
                nearest: nearest(&asked, known).map(str::to_owned),
                elsewhere: None,
                known: known.map(str::to_owned).to_vec(),
            });
        }
    })
}

/// Writes went through the keys in order; reads were drawn around the middle, or from anywhere with `--random`.
fn population(
    given: &Given,
    command: &str,
    keys: u64,
    new: &mut Vec<String>,
) -> Result<(), StressError> {
    let distinct = given.number("num-different-keys", keys)?.max(1);
    new.push("-pop".to_owned());
    new.push(if matches!(command, "write" | "counter_write") {
        format!("seq=1..{distinct}")
    } else if given.has("random") {
        format!("dist=uniform(1..{distinct})")
    } else {
        let share = given.get("stdev").unwrap_or("0.1");
        let share: f64 = share.parse().ok().filter(|s| *s > 0.0).ok_or_else(|| {
            StressError::Rule(format!("legacy: --stdev {share:?} is not a share above 0"))
        })?;
        format!("dist=gaussian(1..{distinct},{:.2})", 0.5 / share)
    });
    Ok(())
}

fn columns(given: &Given, new: &mut Vec<String>) -> Result<(), StressError> {
    if given
        .get("family-type")
        .is_some_and(|kind| kind.eq_ignore_ascii_case("super"))
    {
        return Err(StressError::Gone {
            what: "--family-type Super".to_owned(),
            why: "super columns no longer exist",
            cure: Some("leave --family-type and --supercolumns out".to_owned()),
        });
    }
    let size = given.number("column-size", 34)?;
    new.push("-col".to_owned());
    new.push(match given.get("query-names") {
        Some(names) => format!("names={names}"),
        None => format!("n=fixed({})", given.number("columns", 5)?),
    });
    new.push(if given.has("average-size-values") {
        format!("size=uniform(1..{})", size.saturating_mul(2))
    } else {
        format!("size=fixed({size})")
    });
    Ok(())
}

fn errors(given: &Given, new: &mut Vec<String>) {
    let tries = given
        .get("keep-trying")
        .map(|tries| format!("retries={tries}"));
    if tries.is_none() && !given.has("keep-going") {
        return;
    }
    new.push("-errors".to_owned());
    new.extend(tries);
    if given.has("keep-going") {
        new.push("ignore".to_owned());
    }
}

fn schema(given: &Given, new: &mut Vec<String>) {
    let mut replication = Vec::new();
    replication.extend(
        given
            .get("replication-strategy")
            .map(|s| format!("strategy={s}")),
    );
    replication.extend(
        given
            .get("replication-factor")
            .map(|n| format!("factor={n}")),
    );
    replication.extend(
        given
            .get("strategy-properties")
            .map(|all| all.replace(':', "=")),
    );
    let mut all = Vec::new();
    if !replication.is_empty() {
        all.push(format!("replication({})", replication.join(",")));
    }
    all.extend(
        given
            .get("compression")
            .map(|class| format!("compression={class}")),
    );
    all.extend(
        given
            .get("compaction-strategy")
            .map(|s| format!("compaction(strategy={s})")),
    );
    if !all.is_empty() {
        new.push("-schema".to_owned());
        new.extend(all);
    }
}
