//! Every file that a command line can name, where it is a device, a named pipe, a folder, too large or no text.
//! Refuses to wait for any of them: each is an error at once, and says what the file is.

use crate::lab::TestLab;
use std::process::Stdio;

/// What is read from a file.
#[derive(Clone, Copy, PartialEq)]
enum Reads {
    /// All of it, as text.
    Text,
    /// All of it, as text or bytes that must be the owner's alone.
    Private,
    /// All of it, as bytes.
    Bytes,
    /// Pieces: it may be of any size.
    Pieces,
}

/// Each way to name a file, as `FILE`; `stress` knows one exit code for all.
const INPUTS: &[(&str, Reads)] = &[
    ("up x --schema FILE --dry-run", Reads::Text),
    ("up x --like FILE --dry-run", Reads::Text),
    ("up x --topology FILE --dry-run", Reads::Text),
    ("up x --plan FILE --dry-run", Reads::Text),
    ("machine --from FILE", Reads::Text),
    ("plan --from FILE", Reads::Text),
    ("bench --schema FILE --insert INSERT --dry-run", Reads::Text),
    (
        "bench --hosts 127.0.0.1 --user u --password-from FILE",
        Reads::Private,
    ),
    ("bench --hosts 127.0.0.1 --tls-ca FILE", Reads::Bytes),
    (
        "bench --hosts 127.0.0.1 --tls-ca CA --tls-cert FILE --tls-key KEY",
        Reads::Bytes,
    ),
    (
        "bench --hosts 127.0.0.1 --tls-ca CA --tls-cert CA --tls-key FILE",
        Reads::Private,
    ),
    (
        "bench --hosts 127.0.0.1 --agent h:1 --agent-token-from FILE",
        Reads::Private,
    ),
    (
        "count k.t --hosts 127.0.0.1 --user u --password-from FILE",
        Reads::Private,
    ),
    ("count k.t --hosts 127.0.0.1 --tls-ca FILE", Reads::Bytes),
    ("run FILE --dry-run", Reads::Text),
    ("populate FILE --cluster c --rows 9 --dry-run", Reads::Text),
    ("check-data FILE --cluster c --seed 1", Reads::Text),
    ("workload check FILE", Reads::Text),
    ("compare --ab FILE FILE --dry-run", Reads::Text),
    ("experiment check FILE", Reads::Text),
    ("experiment plan FILE", Reads::Text),
    ("experiment run FILE --dry-run", Reads::Text),
    ("topology check FILE", Reads::Text),
    ("topology show FILE", Reads::Text),
    ("ledger show FILE", Reads::Pieces),
    ("ledger check FILE", Reads::Pieces),
    ("cqlsh c -f FILE", Reads::Text),
    ("cqlsh c -f FILE --dry-run", Reads::Text),
    ("stress user profile=FILE ops(insert=1) n=1", Reads::Text),
    ("stress write n=1 -node file=FILE", Reads::Text),
    (
        "stress write n=1 -node 127.0.0.1 -credentials-file FILE",
        Reads::Private,
    ),
];

/// Above every limit; it holds nothing, and takes no room.
const HUGE: u64 = (256 << 20) + 1;

fn named_pipe(lab: &TestLab, name: &str) {
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        lab.path(name),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    );
    made.expect("a named pipe");
}

/// A lab with a cluster and a file of each sort.
fn with_files() -> TestLab {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    named_pipe(&lab, "pipe.yaml");
    fs_err::create_dir(lab.path("folder.yaml")).expect("a folder");
    fs_err::File::create(lab.path("huge.yaml"))
        .and_then(|file| file.set_len(HUGE))
        .expect("a file with a hole");
    lab.write("zero.yaml", "a: 1\n\0");
    for name in ["CA", "KEY", "huge.yaml", "zero.yaml"] {
        let path = lab.path(name);
        if !path.exists() {
            lab.write(name, "no certificate");
        }
        let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs_err::set_permissions(path, owner).expect("a file of ours");
    }
    lab
}

/// What is wrong with the answer to a file of this sort; none where it is right.
fn wrong(lab: &TestLab, line: &str, file: &str, message: &str) -> Option<String> {
    let path = if file.starts_with('/') {
        file.to_owned()
    } else {
        format!("./{file}")
    };
    let line = line.replace("FILE", &path);
    let words: Vec<&str> = line.split(' ').collect();
    let said = lab.run(&words);
    let code = if line.starts_with("stress") { "1" } else { "2" };
    let as_it_should = said.code == code && said.out.is_empty() && said.err.contains(message);
    (!as_it_should).then(|| format!("{line}: not {message:?}: {} {}", said.code, said.err))
}

#[test]
fn no_input_is_read_for_ever() {
    let lab = with_files();
    let mut all = Vec::new();
    for (line, reads) in INPUTS {
        let mut look = |file: &str, message: &str| all.extend(wrong(&lab, line, file, message));
        look("pipe.yaml", "it is a named pipe, not a file");
        // Others can read these, and that is reported first.
        if *reads != Reads::Private {
            look("/dev/zero", "it is a device, not a file");
            look("folder.yaml", "it is a folder, not a file");
        }
        if *reads != Reads::Pieces {
            look("huge.yaml", "MiB, the most that is read");
        }
        if *reads == Reads::Text {
            look("zero.yaml", "it is not text: line 2 contains a zero byte");
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn a_release_that_is_a_named_pipe_is_not_waited_for() {
    let lab = TestLab::new();
    named_pipe(&lab, "cassandra.tar.gz");
    let said = lab.run(&["up", "x", "--cassandra", "./cassandra.tar.gz"]);
    assert!(
        said.err.contains("it is a named pipe, not a file"),
        "{said}"
    );
    assert_ne!(said.code, "0", "{said}");
}

#[test]
fn standard_input_has_a_limit_too() {
    let lab = TestLab::fake("serve");
    lab.done(&["up", "c"]);
    let zeros = fs_err::File::open("/dev/zero").expect("Linux has it");
    let mut command = lab.command(&["cqlsh", "c"]);
    command.stdin(Stdio::from(zeros.into_parts().0));
    shot!(lab.begin_command(command).end(), @"
    exit code: 2
    --- standard error
    error: cannot read `standard input`: it is larger than 256 MiB, the most that is read
    hint: did you mean another file? else split it
    ");
}

#[test]
fn a_pipe_that_the_shell_opened_is_read() {
    let lab = TestLab::fake("serve");
    let mut piped = std::process::Command::new("/bin/sh");
    let line = format!(
        "echo 'SELECT 1;' | {} cqlsh c --dry-run -f /dev/stdin",
        crate::lab::HELENUS
    );
    lab.done(&["up", "c"]);
    piped.args(["-c", &line]);
    lab.dress(&mut piped);
    shot!(lab.begin_command(piped).end(), @"
    exit code: 0
    --- standard output
    line 1: SELECT 1
    nothing was run (--dry-run)
    ");
}

#[test]
fn a_pipe_that_nobody_reads_is_not_waited_for_by_a_report() {
    let lab = with_files();
    let run = "run standard1 --cluster c --ops write=1 --count 20 --rate 200 --warmup 0s";
    lab.measured(&run.split(' ').collect::<Vec<_>>());
    for (file, message) in [
        ("pipe.yaml", "it is a named pipe without a reader"),
        ("folder.yaml", "it is a folder"),
    ] {
        assert_eq!(wrong(&lab, "report r1 --out FILE", file, message), None);
    }
}
