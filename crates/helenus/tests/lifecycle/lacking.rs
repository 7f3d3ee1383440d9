//! What a machine may lack: a JDK, Maven, a network, disk. Each with its words, its cure and exit code 3.
//! Refuses to download anything: Maven is a script here.

use crate::lab::{PATIENCE, Running, TestLab, look, not_run, with_own_mounts};
use rustix::process::Signal;
use std::path::PathBuf;

/// A lab with a JDK 17 that the release runs on, and no other program at all.
fn with_jdk() -> TestLab {
    let mut lab = TestLab::new();
    lab.only_own_programs();
    lab.set("JAVA_HOME", lab.jdk("17.0.12"));
    lab
}

/// What a lab's command says in mounts of its own, made by a script that ends with `exec "$0" …`.
fn in_own_mounts(lab: &TestLab, script: &str) -> Option<Running> {
    let Some(mut command) = with_own_mounts(script) else {
        not_run(
            "a test in mounts of its own",
            "run as root, or allow user namespaces",
        );
        return None;
    };
    lab.dress(&mut command);
    Some(lab.begin_command(command))
}

/// A lab for mounts of its own: an ordinary user becomes another there, who has no claims to share.
fn for_own_mounts(mut lab: TestLab) -> TestLab {
    if !rustix::process::geteuid().is_root() {
        lab.set("XDG_RUNTIME_DIR", lab.path("person"));
    }
    lab
}

#[test]
fn no_jdk() {
    let lab = for_own_mounts(TestLab::new());
    let script = "for b in /usr/lib/jvm/*/bin /opt/*/bin /usr/java/*/bin; do\n\
                  [ ! -e $b/java ] || mount -t tmpfs none $b || exit 9\ndone\n\
                  PATH=/nowhere exec \"$0\" up c";
    if let Some(up) = in_own_mounts(&lab, script) {
        shot!(up.end(), @"
        exit code: 3
        --- standard error
        error: no JDK for Cassandra 5.0.9 was found
        hint: install JDK 17: [command], or set JAVA17_HOME; no JDK was found
        ");
    }
}

#[test]
fn a_jdk_that_the_release_cannot_run_on() {
    let mut lab = TestLab::new();
    lab.set("JAVA17_HOME", lab.jdk("17.0.12"));
    let wrong = lab.jdk("25.0.1");
    let mut said = lab.run(&["up", "c", "--java-home", &wrong.to_string_lossy()]);
    // Which others would do is this machine's business.
    let hint = said.err.find("suitable: ").expect("a hint");
    assert!(said.err[hint..].contains("[LAB]/jdk-17.0.12"), "{said}");
    said.err.truncate(hint + "suitable:".len());
    shot!(said, @"
    exit code: 3
    --- standard error
    error: JDK 25.0.1 (Lab) at [LAB]/jdk-25.0.1 was given, but Cassandra 5.0.9 cannot run on JDK 25: it installs a SecurityManager when it starts, which JDK 24 removed; it supports 11 and 17
    hint: suitable:
    ");
    shot!(lab.run(&["up", "c", "--java-home", "/nowhere"]), @"
    exit code: 3
    --- standard error
    error: /nowhere is not a JDK: it has no bin/java that can be started
    hint: name the folder that holds bin/java
    ");
}

#[test]
fn no_maven_and_an_empty_cache() {
    let lab = with_jdk();
    shot!(lab.run(&["up", "c"]), @"
    exit code: 3
    --- standard error
    error: mvn (Apache Maven) is not on PATH, and the release's 89 jars are not cached yet
    hint: install Maven: [command], or unpack a binary distribution and name it with --cassandra-home DIR
    ");
    shot!(lab.run(&["releases", "fetch"]), @"
    exit code: 3
    --- standard error
    error: mvn (Apache Maven) is not on PATH, and the release's 89 jars are not cached yet
    hint: install Maven: [command], or unpack a binary distribution and name it with --cassandra-home DIR
    ");
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
}

#[test]
fn maven_without_a_network() {
    let lab = with_jdk();
    lab.program(
        "bin/mvn",
        "#!/bin/sh\n\
         echo '[INFO] Scanning for projects...'\n\
         echo '[ERROR] Could not transfer artifact: repo.invalid: Name or service not known'\n\
         exit 1\n",
    );
    shot!(lab.run(&["up", "c"]), @"
    exit code: 3
    --- standard error
    fetching 89 jars, 61.5 MiB, once
    error: mvn failed (exit status: 1): Could not transfer artifact: repo.invalid: Name or service not known
    hint: this machine cannot reach Maven's repositories: set a mirror or proxy in ~/.m2/settings.xml, or copy the cache folder from a machine that has the release
    ");
    assert_eq!(look::entries(&lab.path("home/state/clusters")).len(), 0);
}

#[test]
fn a_disk_that_cannot_be_made_slower() {
    let lab = for_own_mounts(TestLab::fake("ready"));
    let script = "mkdir -p \"$HELENUS_HOME\" && mount -t tmpfs none \"$HELENUS_HOME\" || exit 9\n\
                  exec \"$0\" up c --disk-read 100M";
    let Some(up) = in_own_mounts(&lab, script) else {
        return;
    };
    shot!(up.end(), @"
    exit code: 3
    --- standard error
    error: the nodes' disk cannot be slowed down: [LAB]/home/state is on tmpfs, which has no separate block device
    hint: leave --disk-read, --disk-write and --disk-iops out; `helenus doctor` shows what the system allows, and HELENUS_HOME puts the nodes on another disk
    ");
}

#[test]
fn maven_that_fails_for_a_reason_of_its_own() {
    let lab = with_jdk();
    lab.program(
        "bin/mvn",
        "#!/bin/sh\necho 'The JAVA_HOME environment variable is not defined correctly' >&2\nexit 1\n",
    );
    shot!(lab.run(&["releases", "fetch"]), @"
    exit code: 3
    --- standard error
    fetching 89 jars, 61.5 MiB, once
    error: mvn failed (exit status: 1): The JAVA_HOME environment variable is not defined correctly
    hint: the lines above are Maven's own; `mvn -version` shows which Java and settings it uses
    ");
}

#[test]
fn maven_that_fills_the_disk() {
    let lab = with_jdk();
    lab.program(
        "bin/mvn",
        "#!/bin/sh\necho '[ERROR] x.jar: No space left on device'\nexit 1\n",
    );
    shot!(lab.run(&["up", "c"]), @"
    exit code: 3
    --- standard error
    fetching 89 jars, 61.5 MiB, once
    error: the disk of [LAB]/cache is full
    hint: free some space (a release takes about 65 MiB), or set HELENUS_CACHE to another disk
    ");
}

#[test]
fn maven_that_delivers_nothing() {
    let lab = with_jdk();
    lab.program("bin/mvn", "#!/bin/sh\nexit 0\n");
    let said = lab.run(&["up", "c"]);
    assert_eq!(said.code, "3", "{said}");
    assert!(said.err.contains("but did not fetch"), "{said}");
}

#[test]
fn ctrl_c_while_maven_fetches() {
    let lab = with_jdk();
    lab.program("bin/mvn", "#!/bin/sh\n: > started\nexec /bin/sleep 300\n");
    let up = lab.begin(&["up", "c"]);
    look::wait_for("Maven", PATIENCE, || {
        let sleeps = lab.processes().iter().any(|p| p.command.contains("sleep"));
        if sleeps {
            Ok(())
        } else {
            Err("it does not run".into())
        }
    });
    up.signal(Signal::INT);
    shot_live!(up.end(), @"
    exit code: 130
    --- standard error
    fetching 89 jars, [size], once
    error: interrupted, and cleaned up
    hint: run it again: nothing incomplete was left behind
    ");
    assert_eq!(lab.processes(), vec![]);
    assert_eq!(half_done(&lab), Vec::<PathBuf>::new());
}

/// Releases that are on their way into the cache.
fn half_done(lab: &TestLab) -> Vec<PathBuf> {
    let mut left = look::entries(&lab.path("cache"));
    left.retain(|p| {
        p.file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with('.'))
    });
    left
}

#[test]
fn kill_9_while_maven_fetches() {
    let lab = with_jdk();
    lab.program("bin/mvn", "#!/bin/sh\nexec /bin/sleep 300\n");
    let mut up = lab.begin(&["up", "c"]);
    look::wait_for("Maven", PATIENCE, || {
        let sleeps = lab.processes().iter().any(|p| p.command.contains("sleep"));
        if sleeps {
            Ok(())
        } else {
            Err("it does not run".into())
        }
    });
    assert!(up.runs());
    up.signal(Signal::KILL);
    up.end();
    look::wait_for("Maven's end", PATIENCE, || {
        let left = lab.processes();
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:?}"))
        }
    });
    // What it was working on is cleared by the next fetch.
    assert_eq!(half_done(&lab).len(), 1);
    lab.program("bin/mvn", "#!/bin/sh\nexit 1\n");
    assert_eq!(lab.run(&["releases", "fetch"]).code, "3");
    assert_eq!(half_done(&lab), Vec::<PathBuf>::new());
}

#[test]
fn a_cache_that_cannot_be_written() {
    let mut lab = with_jdk();
    let file = lab.write("a-file", "");
    lab.set("HELENUS_CACHE", file);
    shot!(lab.run(&["up", "c"]), @"
    exit code: 3
    --- standard error
    error: the cache [LAB]/a-file cannot be written to
      caused by: failed to create directory `[LAB]/a-file/releases`: Not a directory (os error 20)
    hint: set HELENUS_CACHE to a folder that you may write to
    ");
}

#[test]
fn a_full_disk() {
    let lab = for_own_mounts(TestLab::fake("ready"));
    let script = "mkdir -p $HELENUS_HOME && mount -t tmpfs -o size=8m none $HELENUS_HOME || exit 9\n\
                  \"$0\" up c\necho up: $?\n\"$0\" list\nexec \"$0\" rm --all";
    if let Some(up) = in_own_mounts(&lab, script) {
        shot_live!(up.end(), @"
        exit code: 0
        --- standard output
        up: 3
        no cluster; bring one up with `helenus up`
        no cluster to remove
        --- standard error
        error: 1 node needs [size] of disk, [LAB]/home/state has [size]
        hint: free some space, or put the state elsewhere with HELENUS_HOME=/a/larger/disk
        ");
    }
}

#[test]
fn a_disk_without_one_free_block() {
    let lab = for_own_mounts(TestLab::fake("ready"));
    // What only looks still works, the log for developers apart.
    let script = "mkdir -p $HELENUS_HOME && mount -t tmpfs -o size=8m none $HELENUS_HOME || exit 9\n\
                  \"$0\" list\nhead -c 9000000 /dev/zero > $HELENUS_HOME/full 2> /dev/null\n\
                  \"$0\" list\n\"$0\" up c\necho up: $?\nexec \"$0\" rm --all";
    if let Some(up) = in_own_mounts(&lab, script) {
        shot_live!(up.end(), @"
        exit code: 0
        --- standard output
        no cluster; bring one up with `helenus up`
        no cluster; bring one up with `helenus up`
        up: 3
        no cluster to remove
        --- standard error
        error: 1 node needs [size] of disk, [LAB]/home/state has [size]
        hint: free some space, or put the state elsewhere with HELENUS_HOME=/a/larger/disk
        ");
    }
}

#[test]
fn a_disk_that_a_node_fills() {
    let lab = for_own_mounts(TestLab::fake("fill-disk"));
    // Enough to begin with.
    let script = "mkdir -p $HELENUS_HOME && mount -t tmpfs -o size=104m none $HELENUS_HOME || exit 9\n\
                  \"$0\" up c\necho up: $?\n\"$0\" list\nexec \"$0\" rm --all";
    if let Some(up) = in_own_mounts(&lab, script) {
        let mut said = up.end();
        // Where the last line is cut depends on what else is on the disk.
        assert!(
            said.err.contains("  | INFO  [main] more and more\n"),
            "{said}"
        );
        let kept = said
            .err
            .lines()
            .filter(|line| !line.starts_with("  | INFO"));
        said.err = kept.map(|line| format!("{line}\n")).collect();
        shot_live!(said, @"
        exit code: 0
        --- standard output
        up: 4
        node  state  release  preset  address  pid  planned  anon  file  pss
        c/node1  died  5.0.9  tiny  [address]:[port]  [size]
        removed c: 1 node (0 running), [size] in [LAB]/home/state/clusters/c
        --- standard error
        error: node1 died [time] after its start (exit status: 1)
          | No space left on device: [LAB]/home/state/clusters/c/node1
        hint: free some disk space: [LAB]/home/state/clusters/c/node1/logs/system.log
        ");
    }
}
