//! Lines and distributions made from 64 bits: what people write, and now and then what nobody should.
//! Refuses randomness of its own: the same bits make the same line.

use helenus_model::seed::Seed;

/// Choices from one seed, one after the other.
struct Choice {
    seed: Seed,
    next: u64,
}

impl Choice {
    fn new(bits: u64) -> Self {
        Self {
            seed: Seed(bits),
            next: 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next += 1;
        self.seed.at(self.next) % bound
    }

    fn yes(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

/// A distribution.
pub(super) fn distribution(bits: u64) -> String {
    drawn(&mut Choice::new(bits))
}

fn drawn(choice: &mut Choice) -> String {
    let min = choice.below(1000) + 1;
    let max = min + 2 + choice.below(100_000);
    let turned = if choice.yes(5) { "~" } else { "" };
    let name = |choice: &mut Choice, names: &[&'static str]| choice.of(names);
    let text = match choice.below(9) {
        0 => format!("{}({min})", name(choice, &["fixed", "FIXED"])),
        1 => format!("{}({min}..{max})", name(choice, &["uniform", "UNIFORM"])),
        2 => format!("seq({min}..{max})"),
        3 => format!("exp({min}..{max})"),
        4 => format!(
            "{}({min}..{max})",
            name(choice, &["gaussian", "gauss", "normal", "NORM"])
        ),
        5 => format!("gaussian({min}..{max},{})", choice.below(9) + 1),
        6 => format!(
            "norm({min}..{max},{},{})",
            (min + max) / 2,
            (max - min) / 7 + 1
        ),
        7 => format!(
            "{}({min}..{max},{})",
            name(choice, &["extreme", "extr"]),
            choice.below(5) + 1
        ),
        _ => {
            let name = name(choice, &["qextreme", "QEXTR"]);
            format!(
                "{name}({min}..{max},{},{})",
                choice.below(4) + 1,
                choice.below(8) + 2
            )
        }
    };
    format!("{turned}{text}")
}

/// A line: its words behind `cassandra-stress`.
pub(super) fn line(bits: u64) -> Vec<String> {
    let choice = &mut Choice::new(bits);
    let command = choice.of(&[
        "write",
        "read",
        "mixed",
        "counter_write",
        "counterread",
        "insert",
        "COUNTER_ADD",
        "Write",
        "Mixed",
    ]);
    let mut words = vec![command.to_owned()];
    ending(choice, &mut words);
    shared(choice, &mut words);
    if command.eq_ignore_ascii_case("mixed") {
        mixed(choice, &mut words);
    }
    let groups: [fn(&mut Choice, &mut Vec<String>); 10] = [
        rate, population, insert, columns, errors, schema, node, mode, log, others,
    ];
    for group in groups {
        if choice.yes(2) {
            group(choice, &mut words);
        }
    }
    if choice.yes(8) {
        words.push(
            choice
                .of(&[
                    "-bogus",
                    "threads=x",
                    "n=3",
                    "cl=nobody",
                    "dist=fixed",
                    "ratio(read=)",
                    "-rate",
                    "interval=0",
                ])
                .to_owned(),
        );
    }
    words
}

fn number(choice: &mut Choice) -> String {
    let suffix = choice.of(&["", "", "k", "m", "M", "b"]);
    format!("{}{suffix}", choice.below(900) + 1)
}

fn ending(choice: &mut Choice, words: &mut Vec<String>) {
    match choice.below(5) {
        0 => {}
        1 => words.push(format!(
            "duration={}{}",
            choice.below(99) + 1,
            choice.of(&["s", "m", "h", "S"])
        )),
        2 => {
            words.push(format!("err<0.{:02}", choice.below(90) + 1));
            if choice.yes(2) {
                words.extend([
                    format!("n>{}", choice.below(30)),
                    format!("n<{}", choice.below(3000)),
                ]);
            }
        }
        _ => words.push(format!("n={}", number(choice))),
    }
}

fn shared(choice: &mut Choice, words: &mut Vec<String>) {
    if choice.yes(3) {
        words.push("no-warmup".to_owned());
    }
    if choice.yes(3) {
        let level = choice.of(&[
            "ONE",
            "quorum",
            "LOCAL_QUORUM",
            "Each_Quorum",
            "ALL",
            "ANY",
            "TWO",
            "SERIAL",
        ]);
        words.push(format!("cl={level}"));
    }
    if choice.yes(4) {
        words.push(format!(
            "truncate={}",
            choice.of(&["never", "once", "always"])
        ));
    }
    if choice.yes(4) {
        words.push(format!("keysize={}", choice.below(50) + 1));
    }
    if choice.yes(5) {
        words.push(format!("add={}", drawn(choice)));
    }
}

fn mixed(choice: &mut Choice, words: &mut Vec<String>) {
    match choice.below(4) {
        0 => {}
        1 => words.push(format!(
            "ratio(read={},write={})",
            choice.below(9) + 1,
            choice.below(9)
        )),
        2 => words.push(format!(
            "ratio ( write = 0.{} , read=2 )",
            choice.below(9) + 1
        )),
        _ => words.push("ratio(counter_write=1,counter_read=2.5)".to_owned()),
    }
    if choice.yes(3) {
        words.push(format!("clustering={}", drawn(choice)));
    }
}

fn rate(choice: &mut Choice, words: &mut Vec<String>) {
    words.push(choice.of(&["-rate", "-RATE"]).to_owned());
    match choice.below(6) {
        0 => words.push("auto".to_owned()),
        1 => words.extend([
            "threads>=2".to_owned(),
            format!("threads<={}", choice.below(2000)),
        ]),
        2 => words.extend([
            format!("threads={}", choice.below(500) + 1),
            format!("throttle={}/s", choice.below(9999)),
        ]),
        3 => words.extend([
            format!("threads={}", choice.below(500) + 1),
            format!("fixed={}/s", choice.below(9999)),
        ]),
        4 => words.extend(["threads=3", "fixed=5/s", "throttle=7/s"].map(str::to_owned)),
        _ => words.push(format!("threads= {}", choice.below(500) + 1)),
    }
}

fn population(choice: &mut Choice, words: &mut Vec<String>) {
    words.push("-pop".to_owned());
    if choice.yes(2) {
        let dots = choice.of(&["..", "..", "..."]);
        words.push(format!(
            "seq={}{dots}{}",
            choice.below(99) + 1,
            number(choice)
        ));
        if choice.yes(2) {
            words.push("no-wrap".to_owned());
        }
        if choice.yes(3) {
            words.push(format!("read-lookback={}", drawn(choice)));
        }
    } else {
        words.push(format!("dist={}", drawn(choice)));
    }
    if choice.yes(3) {
        words.push(format!("contents={}", choice.of(&["sorted", "SHUFFLED"])));
    }
}

fn insert(choice: &mut Choice, words: &mut Vec<String>) {
    words.push("-insert".to_owned());
    if choice.yes(2) {
        words.push(format!("visits={}", drawn(choice)));
    }
    if choice.yes(3) {
        words.push(format!("revisit={}", drawn(choice)));
    }
    if choice.yes(2) {
        words.push(format!("partitions={}", drawn(choice)));
        words.push(format!("select-ratio={}/{}", drawn(choice), number(choice)));
    }
    if choice.yes(3) {
        words.push(format!(
            "batchtype={}",
            choice.of(&["LOGGED", "UNLOGGED", "COUNTER"])
        ));
    }
    if choice.yes(3) {
        words.push(format!("row-population-ratio={}/10", drawn(choice)));
    }
}

fn columns(choice: &mut Choice, words: &mut Vec<String>) {
    words.push("-col".to_owned());
    match choice.below(3) {
        0 => words.push("names=b,a,C10".to_owned()),
        1 => words.push(format!("n=uniform(1..{})", choice.below(30) + 2)),
        _ => words.push(format!("n=fixed({})", choice.below(30) + 1)),
    }
    if choice.yes(2) {
        words.push(format!("size={}", drawn(choice)));
    }
    for word in ["slice", "timestamp=123", "comparator=UTF8Type"] {
        if choice.yes(4) {
            words.push(word.to_owned());
        }
    }
}

fn errors(choice: &mut Choice, words: &mut Vec<String>) {
    words.push("-errors".to_owned());
    if choice.yes(2) {
        words.push(format!("retries={}", choice.below(20)));
    }
    for word in ["ignore", "skip-read-validation"] {
        if choice.yes(3) {
            words.push(word.to_owned());
        }
    }
}

fn schema(choice: &mut Choice, words: &mut Vec<String>) {
    words.push("-schema".to_owned());
    match choice.below(5) {
        0 => words.push("replication(factor=3)".to_owned()),
        1 => words.push("replication(strategy=NetworkTopologyStrategy,DC1=3,DC2=2)".to_owned()),
        2 => words.push("replication(strategy=SimpleStrategy, factor=2)".to_owned()),
        3 => words.push(
            "replication(strategy=org.apache.cassandra.locator.NetworkTopologyStrategy,factor=2)"
                .to_owned(),
        ),
        _ => words.push("replication()".to_owned()),
    }
    if choice.yes(2) {
        words.push("keyspace=Mine".to_owned());
    }
    if choice.yes(2) {
        words.push(
            "compaction(strategy=LeveledCompactionStrategy,sstable_size_in_mb=10)".to_owned(),
        );
    }
    if choice.yes(3) {
        words.push("compression=LZ4Compressor".to_owned());
    }
}

fn node(choice: &mut Choice, words: &mut Vec<String>) {
    words.push("-node".to_owned());
    for word in ["whitelist", "datacenter=DC1"] {
        if choice.yes(3) {
            words.push(word.to_owned());
        }
    }
    words.push(
        choice
            .of(&["10.0.0.1", "a,b,c", "a , b", "localhost"])
            .to_owned(),
    );
}

fn mode(choice: &mut Choice, words: &mut Vec<String>) {
    words.push("-mode".to_owned());
    match choice.below(4) {
        0 => words.extend(["simplenative", "cql3"].map(str::to_owned)),
        1 => words.extend(["simplenative", "prepared", "cql3", "port=9"].map(str::to_owned)),
        _ => {
            words.extend(["native", "cql3"].map(str::to_owned));
            for word in [
                "user=me",
                "password=it",
                "unprepared",
                "maxPending=7",
                "connectionsPerHost=3",
            ] {
                if choice.yes(3) {
                    words.push(word.to_owned());
                }
            }
            if choice.yes(3) {
                words.push(format!(
                    "compression={}",
                    choice.of(&["lz4", "SNAPPY", "none"])
                ));
            }
        }
    }
}

fn log(choice: &mut Choice, words: &mut Vec<String>) {
    words.push("-log".to_owned());
    for word in [
        "no-summary",
        "no-settings",
        "file=/dev/null",
        "hdrfile=/dev/null",
        "level=verbose",
    ] {
        if choice.yes(4) {
            words.push(word.to_owned());
        }
    }
    words.push(format!(
        "interval={}{}",
        choice.below(90) + 1,
        choice.of(&["", "s", "ms"])
    ));
}

fn others(choice: &mut Choice, words: &mut Vec<String>) {
    if choice.yes(2) {
        words.extend([
            "-port".to_owned(),
            format!("native={}", choice.below(60_000)),
            "jmx=77".to_owned(),
        ]);
    }
    if choice.yes(2) {
        words.extend(["-tokenrange", "wrap", "split-factor=2k"].map(str::to_owned));
    }
    if choice.yes(3) {
        words.extend(["-transport", "truststore=/t", "ssl-protocol=TLSv1.2"].map(str::to_owned));
    }
}
