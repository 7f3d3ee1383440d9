//! `stress` beside the real cassandra-stress 4.0-alpha2: the same settings, distributions, and shape of what is printed.
//! Refuses a line that one takes and the other does not, unless it stands among the known differences.

#[path = "stress/lines.rs"]
mod lines;

use crate::home::{Home, jdk_17};
use helenus_model::dist::Dist;
use helenus_model::seed::Seed;
use helenus_model::stress::{Asked, percentiles, read};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;

/// Packages that cassandra-stress wants open on a JDK 17.
const OPEN: [&str; 13] = [
    "java.io",
    "java.lang",
    "java.lang.reflect",
    "java.math",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "sun.nio.ch",
    "jdk.internal.ref",
    "jdk.internal.misc",
    "jdk.internal.module",
];

/// What is compared: lines, and distributions.
const LINES: u64 = 300;
const DISTRIBUTIONS: u64 = 100;

/// The unpacked distribution, fetched by Maven once; none where Maven lacks.
fn distribution() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cassandra-stress");
    let unpacked = folder.join("apache-cassandra-4.0-alpha2");
    if unpacked.join("tools/lib/stress.jar").is_file() {
        return Some(unpacked);
    }
    fs_err::create_dir_all(&folder).expect("a folder");
    let fetched = Command::new("mvn")
        .args(["-q", "-B"])
        .arg("org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy")
        .arg("-Dartifact=org.apache.cassandra:apache-cassandra:4.0-alpha2:tar.gz:bin")
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    let archive = folder.join("apache-cassandra-4.0-alpha2-bin.tar.gz");
    let opened = Command::new("tar")
        .arg("xzf")
        .arg(&archive)
        .arg("-C")
        .arg(&folder)
        .status();
    (fetched.success() && opened.ok()?.success()).then_some(unpacked)
}

/// Whether this machine has what the comparison wants; otherwise what lacks.
pub(crate) fn lacking() -> Option<&'static str> {
    let javac = jdk_17().is_some_and(|home| Path::new(&home).join("bin/javac").is_file());
    if !javac {
        return Some("a comparison with cassandra-stress (apt install openjdk-17-jdk-headless)");
    }
    distribution()
        .is_none()
        .then_some("a comparison with cassandra-stress (install Maven: apt install maven)")
}

/// A folder with a logback.xml that logs nothing. Written once: a JVM that read half of it would print what it thinks
/// of it among its answers.
fn quiet(distribution: &Path) -> PathBuf {
    static WRITTEN: Once = Once::new();
    let folder = distribution.join("quiet");
    WRITTEN.call_once(|| {
        fs_err::create_dir_all(&folder).expect("a folder");
        let text = "<configuration><root level=\"OFF\"/></configuration>";
        fs_err::write(folder.join("logback.xml"), text).expect("writes");
    });
    folder
}

fn java(distribution: &Path) -> Command {
    let home = jdk_17().expect("looked for before");
    let mut command = Command::new(Path::new(&home).join("bin/java"));
    for package in OPEN {
        for word in ["--add-opens", "--add-exports"] {
            command
                .arg(word)
                .arg(format!("java.base/{package}=ALL-UNNAMED"));
        }
    }
    let quiet = quiet(distribution);
    let path = [quiet.display().to_string()]
        .into_iter()
        .chain(["lib/*", "tools/lib/*"].map(|jars| distribution.join(jars).display().to_string()));
    // What it unpacks and does not remove stays among what tests leave to the next build.
    command
        .arg(format!("-Djava.io.tmpdir={}", env!("CARGO_TARGET_TMPDIR")))
        .arg("-Duser.language=en")
        // An exception that is thrown often keeps its message.
        .arg("-XX:-OmitStackTraceInFastThrow")
        .arg("-Xmx512m")
        .arg("-cp")
        .arg(path.collect::<Vec<_>>().join(":"));
    command
}

/// What the real one says to each line: its text, and whether it takes the line.
fn ask(lines: &[String]) -> Vec<(String, bool, String)> {
    let distribution = distribution().expect("looked for before");
    let ask = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/stress/Ask.java");
    let mut child = java(&distribution)
        .arg("-Djava.security.manager=allow")
        .arg(ask)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("java runs");
    let mut input = child.stdin.take().expect("is piped");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().expect("java ends");
    writer.join().expect("no panic").expect("writes");
    let text = String::from_utf8(output.stdout).expect("is UTF-8");
    let answers: Vec<_> = text.split("=== begin\n").skip(1).collect();
    assert_eq!(
        answers.len(),
        lines.len(),
        "{}: {text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let answer = |text: &&str| {
        let (said, end) = text.rsplit_once("=== ").expect("an end");
        (
            said.to_owned(),
            end.trim() == "taken",
            end.trim().to_owned(),
        )
    };
    answers.iter().map(answer).collect()
}

/// The order of a Java map of commands is nobody's.
fn settled(settings: &str) -> String {
    let sorted = |line: &str| {
        let Some((head, rest)) = line.split_once("Command Ratios: {") else {
            return line.to_owned();
        };
        let mut each: Vec<&str> = rest.trim_end_matches('}').split(", ").collect();
        each.sort_unstable();
        format!("{head}Command Ratios: {{{}}}", each.join(", "))
    };
    let lines: Vec<String> = settings.lines().map(sorted).collect();
    lines.join("\n")
}

pub(crate) fn settings_are_those_of_cassandra_stress() {
    let lines: Vec<Vec<String>> = (0..LINES).map(|n| lines::line(Seed(4).at(n))).collect();
    let asked: Vec<String> = lines.iter().map(|words| words.join("\t")).collect();
    let mut wrong = Vec::new();
    let mut taken = 0;
    for (words, (theirs, takes, end)) in lines.iter().zip(ask(&asked)) {
        let line = words.join(" ");
        match read(words) {
            Ok(Asked::Run { stress, .. }) if takes => {
                taken += 1;
                let (ours, theirs) = (settled(&stress.settings()), settled(&theirs));
                let pairs = ours.lines().zip(theirs.lines());
                let differs = pairs.into_iter().find(|(a, b)| a != b);
                if let Some((a, b)) = differs {
                    wrong.push(format!("{line}\n  ours:   {a}\n  theirs: {b}"));
                } else if ours.lines().count() != theirs.lines().count() {
                    wrong.push(format!(
                        "{line}\n  {} and {} lines",
                        ours.len(),
                        theirs.len()
                    ));
                }
            }
            Err(_) if !takes => {}
            ours => wrong.push(format!("{line}\n  ours: {ours:?}\n  theirs: {end}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {LINES}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(taken > LINES / 2, "only {taken} lines were taken");
}

pub(crate) fn distributions_are_those_of_cassandra_stress() {
    let texts: Vec<String> = (0..DISTRIBUTIONS)
        .map(|n| lines::distribution(Seed(5).at(n)))
        .collect();
    let tables = texts.iter().map(|text| format!("print\tdist={text}"));
    let draws = texts.iter().map(|text| format!("draw {text}"));
    let mut asked: Vec<String> = tables.collect();
    asked.extend(draws);
    let answers = ask(&asked);
    let (tables, draws) = answers.split_at(texts.len());
    for ((text, table), drawn) in texts.iter().zip(tables).zip(draws) {
        assert!(table.1, "{text}: {}", table.2);
        let dist: Dist = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
        same_table(text, &percentiles(&dist), &table.0);
        if drawn.2.contains("Index -1") {
            // Its quantised distribution stumbles over the smallest value.
            assert!(text.to_ascii_lowercase().contains("qext"), "{text}");
            continue;
        }
        assert!(drawn.1, "{text}: {}", drawn.2);
        let number = |text: &str| text.trim().parse::<f64>().expect("a number");
        let (mean, deviation) = drawn.0.split_once(' ').expect("two numbers");
        same_moments(text, &dist, (number(mean), number(deviation)));
    }
}

/// Values differ by one at most, where two ways to the same root cut differently; shares of the whole follow.
fn same_table(text: &str, ours: &str, theirs: &str) {
    assert_eq!(
        ours.lines().count(),
        theirs.lines().count(),
        "{text}\n{theirs}"
    );
    for (a, b) in ours.lines().zip(theirs.lines()).skip(1) {
        let cells =
            |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
        let (a, b) = (cells(a), cells(b));
        let number = |cell: &String| cell.parse::<f64>().expect("a number");
        assert_eq!(a[0], b[0], "{text}");
        let near = (number(&a[1]) - number(&b[1])).abs() <= 1.0 + 1e-9 * number(&b[1]).abs();
        assert!(near, "{text}: {a:?} {b:?}");
        assert!(a[1] != b[1] || a[2] == b[2], "{text}: {a:?} {b:?}");
    }
}

/// Means of 20,000 draws lie within six standard errors of each other.
fn same_moments(text: &str, dist: &Dist, (mean, deviation): (f64, f64)) {
    const DRAWS: u64 = 20_000;
    let own = Seed(6);
    let values: Vec<f64> = (0..DRAWS).map(|n| dist.at(n, own.at(n)) as f64).collect();
    let ours = values.iter().sum::<f64>() / DRAWS as f64;
    let squares = values.iter().map(|v| (v - ours).powi(2)).sum::<f64>();
    let spread = (squares / DRAWS as f64).sqrt();
    let error = (deviation.powi(2) + spread.powi(2)).sqrt() / (DRAWS as f64).sqrt();
    // A sequence is in another place after so many draws.
    let sequence = text.to_ascii_lowercase().contains("seq");
    let allowed = 6.0 * error + 1.0 + if sequence { deviation } else { 0.0 };
    assert!(
        (ours - mean).abs() <= allowed,
        "{text}: mean {ours} and {mean}, allowed {allowed}"
    );
    assert!(
        (spread - deviation).abs() <= 0.1 * deviation + 1.0 || sequence,
        "{text}: deviation {spread} and {deviation}"
    );
}

/// Lines whose text is compared: ours first, on the same cluster. Theirs finds its own rows, ours ours.
const BESIDE: [&[&str]; 3] = [
    &[
        "write",
        "n=600",
        "-rate",
        "threads=4",
        "-schema",
        "keyspace=beside",
    ],
    &[
        "mixed",
        "ratio(read=3,write=1)",
        "n=400",
        "-pop",
        "seq=1..600",
        "-rate",
        "threads=4",
        "-schema",
        "keyspace=beside",
        "-log",
        "no-settings",
    ],
    &[
        "read",
        "n=300",
        "no-warmup",
        "-pop",
        "seq=1..600",
        "-rate",
        "threads>=2",
        "threads<=4",
        "-schema",
        "keyspace=beside",
        "-log",
        "no-settings",
    ],
];

/// What of a text is everybody's: figures as one sign, rows and blanks once, the driver's own lines left out.
fn shape(text: &str) -> Vec<String> {
    let mut shape: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with("Connected to cluster") || line.starts_with("Datacenter:") {
            continue;
        }
        let mut plain = String::new();
        for letter in line.replace("NaN", "0.0").chars() {
            let sign = if letter.is_ascii_digit() { '0' } else { letter };
            let again = plain.ends_with(sign) && (sign == '0' || sign == ' ');
            if !again {
                plain.push(sign);
            }
        }
        let plain = plain
            .replace("0,0", "0")
            .replace("0,0", "0")
            .replace(" -0", " 0");
        if shape.last() != Some(&plain) {
            shape.push(plain);
        }
    }
    // How many rows there are depends on the time that it took; which ones alternate.
    let row = |line: &&String| {
        ["total,", "READ,", "WRITE,"]
            .iter()
            .any(|name| line.starts_with(name))
    };
    let (rows, others): (Vec<&String>, Vec<&String>) = shape.iter().partition(row);
    let mut names: Vec<String> = rows.into_iter().cloned().collect();
    names.sort_unstable();
    names.dedup();
    others.into_iter().cloned().chain(names).collect()
}

pub(crate) fn text_is_that_of_cassandra_stress() {
    let distribution = distribution().expect("looked for before");
    let home = Home::new();
    home.helenus(&["up", "c"]).ok();
    let env = home.helenus(&["env", "c", "--format", "json"]).ok().json();
    let address = env["contact_points"][0]
        .as_str()
        .expect("an address")
        .to_owned();
    for (place, line) in BESIDE.iter().enumerate() {
        let words: Vec<&str> = ["stress"].into_iter().chain(line.iter().copied()).collect();
        let mut theirs = java(&distribution);
        theirs
            .arg("org.apache.cassandra.stress.Stress")
            .args(*line)
            .args(["-node", &address])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // Side by side, but for the first: it makes the tables.
        let early = (place > 0).then(|| theirs.spawn().expect("java runs"));
        let ours = home.helenus(&words);
        let child = early.unwrap_or_else(|| theirs.spawn().expect("java runs"));
        let output = child.wait_with_output().expect("java ends");
        let theirs = String::from_utf8(output.stdout).expect("is UTF-8");
        let theirs = theirs.replace(&address, "localhost");
        assert_eq!(
            Some(ours.code),
            output.status.code(),
            "{ours}\n--- theirs\n{theirs}"
        );
        let (ours, theirs) = (shape(&ours.stdout), shape(&theirs));
        let lacks = |these: &[String], those: &[String]| -> Vec<String> {
            these
                .iter()
                .filter(|line| !those.contains(line))
                .cloned()
                .collect()
        };
        assert_eq!(
            (lacks(&ours, &theirs), lacks(&theirs, &ours)),
            (Vec::new(), Vec::new()),
            "{line:?}: only ours, only theirs"
        );
        assert_eq!(ours, theirs, "{line:?}: in another order");
    }
    documents(&home, &address, &distribution);
}

/// The lines of documents 001 and 004, with fewer rows and the hyphens that a copy had turned into dashes.
fn documents(home: &Home, address: &str, distribution: &Path) {
    let profile = format!(
        "profile={}",
        distribution
            .join("tools/cqlstress-insanity-example.yaml")
            .display()
    );
    let few = ["-n", "500", "-i", "1"];
    let lines: [&[&str]; 4] = [
        &few,
        &["--operation", "READ", "-n", "500", "-i", "1"],
        &[
            "user",
            &profile,
            "ops(insert=1)",
            "no-warmup",
            "cl=ONE",
            "n=100",
            "-mode",
            "native",
            "cql3",
            "-pop",
            "seq=1..100",
            "-node",
            address,
            "-rate",
            "threads=4",
        ],
        &[
            "user",
            &profile,
            "ops(insert=20,simple1=80)",
            "no-warmup",
            "cl=ONE",
            "duration=2s",
            "-mode",
            "native",
            "cql3",
            "-pop",
            "dist=uniform(1..100)",
            "-node",
            address,
            "-rate",
            "threads=",
            "4",
        ],
    ];
    for line in lines {
        let words: Vec<&str> = ["stress"].into_iter().chain(line.iter().copied()).collect();
        let said = home.helenus(&words).ok();
        assert!(said.stdout.ends_with("\nEND\n"), "{said}");
        assert!(
            said.stdout
                .contains("Total errors              :          0 ["),
            "{said}"
        );
    }
}
