//! The store against a made-up Maven: what lands, what never lands, and what each failure says.
//! Refuses the network: `mvn` is a shell script on a `PATH` of the test's own.

use super::*;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

/// What `a-1.jar` and the native jars hold.
const CONTENT: &str = "jar";

/// Maven that copies both jars from its local repository, and logs that it was called.
const GOOD: &str = "echo '[INFO] Scanning for projects...'\n\
    mkdir -p \"$DIR/lib\"\n\
    for jar in a-1.jar b-2-linux-x86_64.jar; do\n\
      printf jar > \"$DIR/lib/$jar\"\n\
      echo \"Downloaded from central: some://where/$jar (3 B at 1 kB/s)\"\n\
      echo \"[INFO] Copying $jar to $DIR/lib/$jar\"\n\
    done\n";

struct Kitchen {
    root: tempfile::TempDir,
    lock: Lock,
    cancel: AtomicBool,
}

impl Kitchen {
    fn new() -> Self {
        let sha = verify_sha(CONTENT);
        let lines = [
            format!("g\ta\t1\t-\tany\ta-1.jar\t{sha}\t3"),
            format!("g\tb\t2\tlinux-x86_64\tx86_64\tb-2-linux-x86_64.jar\t{sha}\t3"),
            format!("g\tb\t2\tlinux-aarch_64\taarch64\tb-2-linux-aarch_64.jar\t{sha}\t3"),
        ];
        Self {
            root: tempfile::tempdir().unwrap(),
            lock: Lock::parse(&lines.join("\n")).unwrap(),
            cancel: AtomicBool::new(false),
        }
    }

    fn wanted(&self) -> Wanted<'_> {
        Wanted {
            kind: "releases",
            version: "5.0.9",
            lock: &self.lock,
            arch: Arch::X86_64,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// A store whose `mvn` does what that script says; `$DIR` is the folder of the pom.
    fn store(&self, script: &str) -> Store {
        fs_err::write(self.at("script"), script).unwrap();
        Store::open(&self.at("cache"), &self.env()).unwrap()
    }

    fn env(&self) -> Env {
        // The fake is a committed file: one just written may still be open in another test's fork.
        let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/src/store/fake:/usr/bin:/bin");
        let vars = [
            ("PATH".into(), fake.into()),
            ("FAKE_MVN".into(), self.at("script").into()),
            ("FAKE_CALLS".into(), self.at("calls").into()),
        ];
        Env {
            vars: vars.into(),
            ..Env::default()
        }
    }

    fn ensure(&self, store: &Store) -> (Result<PathBuf, StoreError>, Vec<StoreEvent>) {
        let mut events = Vec::new();
        let done = store.ensure_wanted(self.wanted(), &self.cancel, &mut |e| events.push(e));
        (done, events)
    }

    fn fails(&self, script: &str) -> StoreError {
        let store = self.store(script);
        let error = self.ensure(&store).0.unwrap_err();
        self.nothing_landed();
        error
    }

    /// Neither the release nor a temporary folder.
    fn nothing_landed(&self) {
        let releases = fs_err::read_dir(self.at("cache/releases")).unwrap();
        assert_eq!(releases.count(), 0);
        let cache = fs_err::read_dir(self.at("cache")).unwrap();
        let names: Vec<_> = cache.map(|e| e.unwrap().file_name()).collect();
        let hidden = names
            .iter()
            .filter(|n| n.to_string_lossy().starts_with('.'));
        assert_eq!(hidden.count(), 0, "{names:?}");
    }

    fn calls(&self) -> usize {
        let text = fs_err::read_to_string(self.at("calls")).unwrap_or_default();
        text.lines().count()
    }
}

fn verify_sha(content: &str) -> String {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content.as_bytes()).unwrap();
    crate::digest::of_file(file.path(), |_| Ok(())).unwrap()
}

#[test]
fn sha256_is_sha256() {
    assert_eq!(
        verify_sha("abc"),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn a_release_is_fetched_once_and_then_found() {
    let kitchen = Kitchen::new();
    let store = kitchen.store(GOOD);
    let (home, events) = kitchen.ensure(&store);
    let home = home.unwrap();
    assert_eq!(home, kitchen.at("cache/releases/5.0.9/x86_64"));
    assert_eq!(
        events,
        [
            StoreEvent::Fetching { total: 2, bytes: 6 },
            StoreEvent::Fetched { done: 1, total: 2 },
            StoreEvent::Fetched { done: 2, total: 2 },
            StoreEvent::Verified { done: 1, total: 2 },
            StoreEvent::Verified { done: 2, total: 2 },
        ]
    );
    let (again, events) = kitchen.ensure(&store);
    assert_eq!((again.unwrap(), events), (home.clone(), vec![]));
    assert_eq!(kitchen.calls(), 1);
    assert!(!home.join("pom.xml").exists());
    let call = fs_err::read_to_string(kitchen.at("calls")).unwrap();
    assert!(
        call.starts_with("--batch-mode") && call.trim_end().ends_with(":copy"),
        "{call}"
    );
}

#[test]
fn the_pom_names_each_artifact_and_no_host() {
    let kitchen = Kitchen::new();
    let keep = format!("cp \"$4\" {}\n{GOOD}", kitchen.at("pom").display());
    let store = kitchen.store(&keep);
    kitchen.ensure(&store).0.unwrap();
    let pom = fs_err::read_to_string(kitchen.at("pom")).unwrap();
    assert_eq!(pom.matches("<artifactItem>").count(), 2);
    assert!(pom.contains("<classifier>linux-x86_64</classifier>"));
    assert!(!pom.contains("aarch") && !pom.contains("<repositor"));
}

#[test]
fn a_damaged_release_is_fetched_again() {
    let kitchen = Kitchen::new();
    let store = kitchen.store(GOOD);
    let home = kitchen.ensure(&store).0.unwrap();
    fs_err::write(home.join("lib/a-1.jar"), "short and wrong").unwrap();
    let (done, events) = kitchen.ensure(&store);
    done.unwrap();
    // A process that another test is starting may hold the lock for a moment, which is an event, too.
    let damaged = events.iter().find_map(|event| match event {
        StoreEvent::Damaged { what } => Some(what.as_str()),
        _ => None,
    });
    assert_eq!(damaged, Some("a-1.jar has 15 bytes, not 3"), "{events:?}");
    assert_eq!(
        fs_err::read_to_string(home.join("lib/a-1.jar")).unwrap(),
        CONTENT
    );
    assert_eq!(kitchen.calls(), 2);
    let beside = fs_err::read_dir(home.parent().unwrap()).unwrap().count();
    assert_eq!(beside, 1, "the damaged one is gone");
}

#[test]
fn a_wrong_checksum_lands_nothing() {
    let kitchen = Kitchen::new();
    let wrong = GOOD.replace("printf jar", "printf JAR");
    let error = kitchen.fails(&wrong);
    let StoreError::Checksum { file, wanted, got } = &error else {
        panic!("{error}");
    };
    assert_eq!((file.as_str(), got), ("a-1.jar", &verify_sha("JAR")));
    assert_eq!(wanted, &verify_sha(CONTENT));
    assert!(error.hint().contains("nothing was installed"));
}

#[test]
fn a_jar_that_maven_forgot_is_named() {
    let kitchen = Kitchen::new();
    let error = kitchen.fails(&GOOD.replace("a-1.jar b-2", "b-2"));
    assert!(
        matches!(&error, StoreError::Missing { file } if file == "a-1.jar"),
        "{error}"
    );
}

#[test]
fn without_maven_the_cure_is_reported() {
    let kitchen = Kitchen::new();
    let store = Store::open(&kitchen.at("cache"), &Env::default()).unwrap();
    let error = kitchen.ensure(&store).0.unwrap_err();
    assert!(matches!(error, StoreError::NoMaven { .. }), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("the release's 2 jars are not cached yet")
    );
    assert!(error.hint().contains("--cassandra-home"));
    kitchen.nothing_landed();
}

#[test]
fn a_maven_that_cannot_start_is_named() {
    let kitchen = Kitchen::new();
    let mvn = kitchen.at("mvn");
    fs_err::write(&mvn, "#!/no/such/interpreter\n").unwrap();
    fs_err::set_permissions(&mvn, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = kitchen.root.path().as_os_str().to_owned();
    let env = Env {
        vars: [("PATH".into(), path)].into(),
        ..Env::default()
    };
    let store = Store::open(&kitchen.at("cache"), &env).unwrap();
    let error = kitchen.ensure(&store).0.unwrap_err();
    assert!(matches!(error, StoreError::MavenStart { .. }), "{error}");
}

#[test]
fn mavens_own_error_lines_are_carried() {
    let kitchen = Kitchen::new();
    let error = kitchen.fails(
        "echo '[INFO] BUILD FAILURE'\n\
         echo '[ERROR] Could not find artifact g:a:jar:1 in mirror'\n\
         echo '[ERROR] '\n\
         echo '[ERROR] Re-run Maven using the -X switch'\nexit 1\n",
    );
    assert_eq!(
        error.to_string(),
        "mvn failed (exit status: 1): Could not find artifact g:a:jar:1 in mirror"
    );
    assert!(matches!(
        error,
        StoreError::MavenFailed { offline: false, .. }
    ));
    let error = kitchen.fails("echo 'The JAVA_HOME variable is wrong' >&2; exit 1\n");
    assert_eq!(
        error.to_string(),
        "mvn failed (exit status: 1): The JAVA_HOME variable is wrong"
    );
}

#[test]
fn credentials_of_a_mirror_reach_no_error() {
    let kitchen = Kitchen::new();
    let error =
        kitchen.fails("echo '[ERROR] from https://ada:s3cret@mirror.test/x/y@1 no'; exit 1\n");
    assert!(!error.to_string().contains("s3"), "{error}");
    assert!(error.to_string().ends_with("no"), "{error}");
}

#[test]
fn an_offline_machine_and_a_full_disk_are_recognised() {
    let kitchen = Kitchen::new();
    let error = kitchen.fails("echo '[ERROR] transfer: Unknown host mirror.test'; exit 1\n");
    assert!(
        matches!(error, StoreError::MavenFailed { offline: true, .. }),
        "{error}"
    );
    assert!(error.hint().contains("cannot reach"));
    let error = kitchen.fails("echo '[ERROR] a-1.jar (No space left on device)'; exit 1\n");
    let full = matches!(&error, StoreError::DiskFull { folder } if *folder == kitchen.at("cache"));
    assert!(full, "{error:?}");
    let kind = std::io::ErrorKind::StorageFull;
    let ours = StoreError::of_cache(Path::new("/c"), kind.into());
    assert!(matches!(ours, StoreError::DiskFull { .. }));
}

#[test]
fn a_cache_that_cannot_be_written_to_is_named() {
    let kitchen = Kitchen::new();
    // Root writes through permissions, so a file stands where the folder should be.
    fs_err::write(kitchen.at("file"), "").unwrap();
    let error = Store::open(&kitchen.at("file/cache"), &kitchen.env()).unwrap_err();
    assert!(matches!(error, StoreError::NotWritable { .. }), "{error:?}");
    assert!(error.hint().contains("HELENUS_CACHE"));
}

#[test]
fn cancelling_ends_maven_and_its_children() {
    let kitchen = Kitchen::new();
    let pid = kitchen.at("pid");
    // A grandchild that ignores the polite signal.
    let script = format!(
        "(trap '' TERM; echo $$ > {}; sleep 60) & wait\n",
        pid.display()
    );
    let store = kitchen.store(&script);
    let since = Instant::now();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !pid.exists() && since.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(5));
            }
            kitchen.cancel.store(true, Ordering::Relaxed);
        });
        kitchen.ensure(&store).0.unwrap_err()
    });
    assert!(matches!(error, StoreError::Cancelled), "{error}");
    assert!(since.elapsed() < Duration::from_secs(30));
    kitchen.nothing_landed();
    let leader = fs_err::read_to_string(&pid).unwrap();
    assert!(!Path::new("/proc").join(leader.trim()).exists());
}

#[test]
fn a_second_process_waits_and_finds_it_done() {
    let kitchen = Kitchen::new();
    let slow = format!("sleep 0.4\n{GOOD}");
    let store = kitchen.store(&slow);
    let waited = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (done, events) = kitchen.ensure(&store);
                done.unwrap();
                let waiting = events
                    .iter()
                    .filter(|e| matches!(e, StoreEvent::Waiting { .. }));
                waited.fetch_add(waiting.count(), Ordering::Relaxed);
            });
        }
    });
    assert_eq!((kitchen.calls(), waited.load(Ordering::Relaxed)), (1, 1));
}

#[test]
fn a_wait_can_be_cancelled() {
    let kitchen = Kitchen::new();
    let store = kitchen.store(GOOD);
    let _held = store
        .hold("5.0.9-x86_64", &kitchen.cancel, &mut || {})
        .unwrap();
    kitchen.cancel.store(true, Ordering::Relaxed);
    let (done, events) = kitchen.ensure(&store);
    assert!(matches!(done, Err(StoreError::Cancelled)));
    assert_eq!(
        events,
        [StoreEvent::Waiting {
            version: "5.0.9".to_owned()
        }]
    );
}

#[test]
fn what_a_killed_process_left_is_swept() {
    let kitchen = Kitchen::new();
    let store = kitchen.store(GOOD);
    let left = kitchen.at("cache/.fetch-5.0.9-x86_64-dead");
    fs_err::create_dir_all(left.join("lib")).unwrap();
    kitchen.ensure(&store).0.unwrap();
    assert!(!left.exists());
}

/// An unpacked distribution with those jars.
fn distribution(home: &Path, jars: &[&str]) {
    fs_err::create_dir_all(home.join("lib")).unwrap();
    for jar in jars {
        fs_err::write(home.join("lib").join(jar), CONTENT).unwrap();
    }
}

#[test]
fn an_unpacked_distribution_is_read() {
    let tmp = tempfile::tempdir().unwrap();
    let home = tmp.path();
    distribution(
        home,
        &[
            "apache-cassandra-5.0.94.jar",
            "guava.jar",
            "x-osx-x86_64.jar",
            "notes.txt",
            "netty-linux-aarch_64.jar",
            "netty-linux-x86_64.jar",
        ],
    );
    let files = Store::from_home(home).unwrap();
    assert_eq!(
        (files.version.as_str(), files.release.series),
        ("5.0.94", "5.0")
    );
    assert!(!files.exact());
    let names: Vec<_> = files.jars.iter().map(|j| j.file_name().unwrap()).collect();
    let native = match Arch::here() {
        Arch::X86_64 => "netty-linux-x86_64.jar",
        Arch::Aarch64 => "netty-linux-aarch_64.jar",
    };
    assert_eq!(names, ["apache-cassandra-5.0.94.jar", "guava.jar", native]);
}

#[test]
fn a_relative_folder_is_a_distribution_from_everywhere() {
    let tmp = tempfile::tempdir().unwrap();
    let home = fs_err::canonicalize(tmp.path()).unwrap();
    distribution(&home, &["apache-cassandra-5.0.9.jar"]);
    let here = std::env::current_dir().unwrap();
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let files = Store::from_home(&up.join(home.strip_prefix("/").unwrap())).unwrap();
    assert!(files.home.is_absolute() && files.jars[0].is_absolute());
    let jar = fs_err::canonicalize(&files.jars[0]).unwrap();
    assert_eq!(jar, home.join("lib/apache-cassandra-5.0.9.jar"));
}

#[test]
fn folders_that_are_no_known_distribution_are_refused() {
    let tmp = tempfile::tempdir().unwrap();
    let error = |home: &Path| Store::from_home(home).unwrap_err();
    assert!(matches!(
        error(tmp.path()),
        StoreError::NotADistribution { .. }
    ));
    let empty = tmp.path().join("empty");
    distribution(&empty, &["guava.jar", "apache-cassandra-thrift.jar"]);
    assert!(
        error(&empty)
            .to_string()
            .contains("no apache-cassandra-VERSION.jar")
    );
    let old = tmp.path().join("old");
    distribution(&old, &["apache-cassandra-2.2.19.jar"]);
    let refused = error(&old);
    assert!(matches!(refused, StoreError::Unknown { .. }) && refused.hint().contains("5.0.9"));
    let two = tmp.path().join("two");
    distribution(
        &two,
        &["apache-cassandra-5.0.4.jar", "apache-cassandra-5.0.9.jar"],
    );
    assert!(error(&two).to_string().contains("both 5.0.4 and 5.0.9"));
}

/// A compressed archive of plain files, whose paths are written unchecked.
fn archive(path: &Path, entries: &[&str]) {
    let file = fs_err::File::create(path).unwrap();
    let gz = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    let mut builder = tar::Builder::new(gz);
    for name in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(CONTENT.len() as u64);
        header.set_mode(0o644);
        let kind = match name.ends_with(".link") {
            true => tar::EntryType::Symlink,
            false => tar::EntryType::Regular,
        };
        header.set_entry_type(kind);
        if kind == tar::EntryType::Symlink {
            header.set_link_name("/etc").unwrap();
        }
        // `set_path` refuses what an attacker would write.
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, CONTENT.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap();
}

#[test]
fn an_archive_is_unpacked_once() {
    let kitchen = Kitchen::new();
    let store = kitchen.store(GOOD);
    let tarball = kitchen.at("dist.tar.gz");
    archive(
        &tarball,
        &[
            "top/lib/apache-cassandra-5.0.9.jar",
            "top/lib/x.jar",
            "top/out.link",
        ],
    );
    let mut events = Vec::new();
    let files = store
        .from_tarball(&tarball, &kitchen.cancel, &mut |e| events.push(e))
        .unwrap();
    assert_eq!(events.len(), 1);
    assert!(files.exact() && files.origin == Origin::Tarball);
    assert_eq!(files.jars.len(), 2);
    assert!(files.home.ends_with("top") && !files.home.join("out.link").exists());
    let again = store
        .from_tarball(&tarball, &kitchen.cancel, &mut |e| events.push(e))
        .unwrap();
    assert_eq!((again.home, events.len()), (files.home, 1));
}

#[test]
fn archives_that_reach_outside_are_refused() {
    let kitchen = Kitchen::new();
    let store = kitchen.store(GOOD);
    for bad in ["../evil", "lib/../../evil", "/evil"] {
        let tarball = kitchen.at("bad.tar.gz");
        archive(&tarball, &["lib/apache-cassandra-5.0.9.jar", bad]);
        let error = store
            .from_tarball(&tarball, &kitchen.cancel, &mut |_| {})
            .unwrap_err();
        assert!(matches!(&error, StoreError::Escapes { entry, .. } if entry == Path::new(bad)));
        assert!(!kitchen.at("evil").exists() && !kitchen.at("cache/evil").exists());
        let landed = fs_err::read_dir(kitchen.at("cache/distributions")).unwrap();
        assert_eq!(landed.count(), 0);
        kitchen.nothing_landed();
    }
    fs_err::write(kitchen.at("no.tar.gz"), "no archive").unwrap();
    let error = store
        .from_tarball(&kitchen.at("no.tar.gz"), &kitchen.cancel, &mut |_| {})
        .unwrap_err();
    assert!(matches!(error, StoreError::Tarball { .. }), "{error}");
}

#[test]
fn a_wrong_archive_is_refused_by_its_name_and_an_interrupt_blames_none() {
    let kitchen = Kitchen::new();
    let store = kitchen.store(GOOD);
    let tarball = kitchen.at("wrong.tar.gz");
    archive(&tarball, &["top/lib/x.jar"]);
    let refused = || {
        let unpacked = store.from_tarball(&tarball, &kitchen.cancel, &mut |_| {});
        unpacked.unwrap_err()
    };
    let wanted = "is not a Cassandra distribution: lib holds no apache-cassandra-VERSION.jar";
    assert_eq!(
        refused().to_string(),
        format!("{} {wanted}", tarball.display())
    );
    kitchen.nothing_landed();
    kitchen.cancel.store(true, Ordering::Relaxed);
    assert!(matches!(refused(), StoreError::Cancelled));
}

/// Maven that resolves two jars and lists them, and copies them when it is asked again; `JAR` is what they hold.
const RESOLVES: &str = "mkdir -p \"$DIR/lib\"\n\
    for jar in cassandra-all-4.1.5.jar n-1-linux-x86_64.jar n-1-linux-aarch_64.jar n-1-osx-x86_64.jar; do\n\
      printf JAR > \"$DIR/lib/$jar\"\n\
    done\n\
    case \"$*\" in *:list*)\n\
      echo '   org.apache.cassandra:cassandra-all:jar:4.1.5:compile' > \"$DIR/list.txt\"\n\
      for arch in linux-x86_64 linux-aarch_64 osx-x86_64; do\n\
        echo \"   g:n:jar:$arch:1:compile\" >> \"$DIR/list.txt\"\n\
      done;;\n\
    esac\n";

#[test]
fn a_patch_is_recorded_at_first_use_and_later_fetches_must_match() {
    let kitchen = Kitchen::new();
    let patch = Release::find("4.1.5").unwrap();
    let ensure = |store: &Store, on: &mut dyn FnMut(StoreEvent)| {
        store.ensure(patch, Arch::X86_64, &kitchen.cancel, on)
    };
    let store = kitchen.store(RESOLVES);
    assert_eq!(
        (store.known_lock(patch), store.recorded_versions()),
        (None, vec![])
    );
    let mut events = Vec::new();
    let files = ensure(&store, &mut |e| events.push(e)).unwrap();
    assert_eq!((files.version.as_str(), files.exact()), ("4.1.5", true));
    let names: Vec<_> = files.jars.iter().map(|j| j.file_name().unwrap()).collect();
    assert_eq!(names, ["cassandra-all-4.1.5.jar", "n-1-linux-x86_64.jar"]);
    let record = kitchen.at("cache/releases/4.1.5/lock.tsv");
    assert!(events.contains(&StoreEvent::Recorded {
        version: "4.1.5".to_owned(),
        jars: 2,
        record: record.clone(),
    }));
    let lock = fs_err::read_to_string(&record).unwrap();
    assert!(
        lock.contains("n-1-linux-aarch_64.jar") && !lock.contains("osx"),
        "{lock}"
    );
    assert_eq!(store.recorded_versions(), ["4.1.5"]);
    assert_eq!(store.cached(patch, Arch::X86_64), Some(files.home.clone()));

    // In the cache: no Maven is called. Gone from the cache: the same jars come again, others are refused.
    let calls = kitchen.calls();
    ensure(&store, &mut |_| {}).unwrap();
    assert_eq!(kitchen.calls(), calls);
    fs_err::remove_dir_all(&files.home).unwrap();
    let mut events = Vec::new();
    ensure(&store, &mut |e| events.push(e)).unwrap();
    let anew = |e: &StoreEvent| {
        matches!(
            e,
            StoreEvent::Recorded { .. } | StoreEvent::Resolving { .. }
        )
    };
    assert!(!events.iter().any(anew), "{events:?}");
    fs_err::remove_dir_all(&files.home).unwrap();
    let store = kitchen.store(&RESOLVES.replace("JAR", "RAJ"));
    let error = ensure(&store, &mut |_| {}).unwrap_err();
    assert!(matches!(error, StoreError::Checksum { .. }), "{error}");

    fs_err::write(&record, "half a li").unwrap();
    let error = ensure(&store, &mut |_| {}).unwrap_err();
    assert!(matches!(error, StoreError::Record { .. }), "{error}");
    assert!(
        error
            .hint()
            .contains("lock.tsv to record the checksums again")
    );
}

#[test]
fn a_patch_that_is_not_published_names_the_nearest_that_are() {
    let kitchen = Kitchen::new();
    let store = kitchen.store(
        "echo '[ERROR] Failed to execute goal on project lock: Could not find artifact \
         org.apache.cassandra:cassandra-all:jar:4.1.99 in central'; exit 1\n",
    );
    let patch = Release::find("4.1.99").unwrap();
    let error = store.ensure(patch, Arch::X86_64, &kitchen.cancel, &mut |_| {});
    let error = error.unwrap_err();
    assert_eq!(
        format!("{error} | {}", error.hint()),
        "Cassandra 4.1.99 is not published: Maven finds no org.apache.cassandra:cassandra-all:4.1.99 | \
         the nearest published patches are 4.1.10, 4.1.9, 4.1.8, 4.1.7"
    );
    kitchen.nothing_landed();
    let store = Store::open(&kitchen.at("cache"), &Env::default()).unwrap();
    let error = store.ensure(patch, Arch::X86_64, &kitchen.cancel, &mut |_| {});
    let error = error.unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("and Cassandra 4.1.99 is not cached yet"),
        "{error}"
    );
}
