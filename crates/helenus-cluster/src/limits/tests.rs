//! Control groups on a made-up tree of folders: what a kernel with version 2 shows, and one without.
//! Refuses the machine's own groups: the lifecycle's tests use those.

use super::*;
use std::path::PathBuf;

/// A machine whose root is a temporary folder.
struct Made {
    root: tempfile::TempDir,
}

impl Made {
    fn new(mounts: &str, own: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        let made = Self { root };
        made.file("proc/mounts", mounts);
        made.file("proc/self/cgroup", own);
        made
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    /// A group of version 2 as the kernel shows it.
    fn group(&self, path: &str, controllers: &str, enabled: &str) {
        self.file(&format!("{path}/cgroup.controllers"), controllers);
        self.file(&format!("{path}/cgroup.subtree_control"), enabled);
        self.file(&format!("{path}/cgroup.procs"), "");
    }
}

const V2: &str = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";

#[test]
fn the_nearest_delegated_group_of_version_2_is_used() {
    let made = Made::new(V2, "0::/user.slice/user@7.service/app.slice/shell.scope\n");
    made.group("sys/fs/cgroup", "cpu memory pids", "cpu memory pids");
    made.group("sys/fs/cgroup/user.slice", "cpu memory", "cpu memory");
    let user = "sys/fs/cgroup/user.slice/user@7.service";
    made.group(user, "cpu memory", "cpu memory");
    made.group(&format!("{user}/app.slice"), "cpu memory", "cpu memory");
    let scope = format!("{user}/app.slice/shell.scope");
    made.group(&scope, "", "");
    // Nothing can be enabled where the kernel takes no word: here, where the file is no file.
    fs::remove_file(made.path(&format!("{scope}/cgroup.subtree_control"))).unwrap();
    let found = find(made.root.path()).unwrap();
    assert_eq!(found.kind, Kind::V2);
    assert_eq!(found.memory, Some(made.path(&format!("{user}/app.slice"))));
    assert_eq!(found.cpu, found.memory);
    let why = disk::place(&found).unwrap_err();
    assert_eq!(
        why,
        "the io controller of version 2 is not delegated to this user"
    );
}

#[test]
fn a_group_that_offers_memory_gets_it_enabled() {
    let made = Made::new(V2, "0::/helpful\n");
    made.group("sys/fs/cgroup", "cpu memory", "cpu memory");
    made.group("sys/fs/cgroup/helpful", "cpu memory", "");
    let found = find(made.root.path()).unwrap();
    assert_eq!(found.memory, Some(made.path("sys/fs/cgroup/helpful")));
    let word = fs::read_to_string(made.path("sys/fs/cgroup/helpful/cgroup.subtree_control"));
    assert!(
        word.unwrap().starts_with("+cpu"),
        "the last word that was written"
    );
}

#[test]
fn what_is_not_there_is_reported() {
    let none = Made::new("proc /proc proc rw 0 0\n", "");
    assert!(
        find(none.root.path())
            .unwrap_err()
            .contains("no control groups")
    );
    // Version 2 without the memory controller beside version 1, as on a hybrid machine.
    let mounts = "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n\
                  cgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0\n\
                  cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n\
                  cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
    let hybrid = Made::new(mounts, "4:memory:/own\n1:cpu,cpuacct:/\n0::/\n");
    hybrid.group("sys/fs/cgroup/unified", "", "");
    hybrid.file("sys/fs/cgroup/memory/cgroup.procs", "");
    hybrid.file("sys/fs/cgroup/memory/own/cgroup.procs", "");
    hybrid.file("sys/fs/cgroup/cpu,cpuacct/cgroup.procs", "");
    hybrid.file("sys/fs/cgroup/blkio/cgroup.procs", "");
    let found = find(hybrid.root.path()).unwrap();
    assert_eq!(found.kind, Kind::V1);
    assert_eq!(found.memory, Some(hybrid.path("sys/fs/cgroup/memory")));
    assert_eq!(found.cpu, Some(hybrid.path("sys/fs/cgroup/cpu,cpuacct")));
    assert_eq!(found.disk, Some(hybrid.path("sys/fs/cgroup/blkio")));
    // Nobody gets out of a limit by a limit.
    hybrid.file(
        "sys/fs/cgroup/memory/own/memory.limit_in_bytes",
        "1073741824\n",
    );
    let throttle = "sys/fs/cgroup/blkio/blkio.throttle.read_bps_device";
    hybrid.file(throttle, "254:0 1048576\n");
    let found = find(hybrid.root.path()).unwrap();
    assert_eq!(found.memory, Some(hybrid.path("sys/fs/cgroup/memory/own")));
    assert_eq!(found.disk, None);
}

#[test]
fn values_of_version_2_are_written_and_groups_removed_by_the_list() {
    let made = Made::new(V2, "0::/\n");
    let base = made.path("sys/fs/cgroup");
    let node = base.join("helenus/7/dev1-0123abcd/node1");
    for folder in node.ancestors().skip(1).take(3) {
        let below = folder.strip_prefix(made.root.path()).unwrap();
        made.group(
            &below.display().to_string(),
            "cpu io memory",
            "cpu io memory",
        );
    }
    let disk = DiskHeld {
        device: "vda".to_owned(),
        number: "254:0".to_owned(),
        read_bytes_per_s: Some(1 << 20),
        ..DiskHeld::default()
    };
    let mut limits = Limits {
        by: Some(Kind::V2),
        memory_bytes: Some(Bytes::mib(600)),
        cpus: Some(1.5),
        disk: Some(disk.clone()),
        equal_shares: true,
        groups: [("node1".to_owned(), vec![node.clone()])].into(),
        ..Limits::default()
    };
    make(&mut limits);
    assert_eq!(limits.not_enforced, None);
    let text = |file: &str| fs::read_to_string(node.join(file)).unwrap();
    assert_eq!(text("memory.max"), (600 << 20).to_string());
    assert_eq!(text("cpu.max"), "150000 100000");
    assert_eq!(text("cpu.weight"), "100");
    assert_eq!(text("io.max"), "254:0 rbps=1048576");
    assert_eq!(limits.disk, Some(disk));
    fs::write(node.join("cgroup.procs"), "").unwrap();
    join(std::slice::from_ref(&node)).unwrap();
    assert_eq!(text("cgroup.procs"), "0");

    // In the kernel's tree files go with their folder; here they are taken away first.
    for folder in node.ancestors().take(4) {
        for entry in fs::read_dir(folder).unwrap().filter_map(Result::ok) {
            if entry.path().is_file() {
                fs::remove_file(entry.path()).unwrap();
            }
        }
    }
    let cluster = tempfile::tempdir().unwrap();
    let foreign = made.path("somebody");
    fs::create_dir(&foreign).unwrap();
    let up = base.join("helenus/../../../somebody");
    let list = format!(
        "{}\n{}\n{}\n",
        node.display(),
        foreign.display(),
        up.display()
    );
    fs::write(cluster.path().join(GROUPS_FILE), list).unwrap();
    remove(cluster.path());
    assert!(!base.join("helenus").exists());
    assert!(foreign.exists(), "only what is ours goes");
}

#[test]
fn what_cannot_be_made_is_not_enforced() {
    let made = Made::new(V2, "0::/\n");
    // A new folder of a plain file system has no controllers.
    let node = made.path("sys/fs/cgroup/helenus/7/c-0/node1");
    let mut limits = Limits {
        by: Some(Kind::V2),
        memory_bytes: Some(Bytes::mib(600)),
        groups: [("node1".to_owned(), vec![node.clone()])].into(),
        ..Limits::default()
    };
    make(&mut limits);
    assert_eq!(limits.by, None);
    assert!(limits.groups.is_empty(), "no node joins what is not there");
    assert!(limits.not_enforced.unwrap().contains("no controllers"));
    assert!(!made.path("sys/fs/cgroup/helenus").exists());
}

#[test]
fn a_node_with_its_own_preset_has_its_own_limit_or_none() {
    let limits = Limits {
        memory_bytes: Some(Bytes::mib(600)),
        own_memory_bytes: [
            ("node2".to_owned(), Some(Bytes::mib(900))),
            ("node3".to_owned(), None),
        ]
        .into(),
        ..Limits::default()
    };
    let of = ["node1", "node2", "node3"].map(|node| limits.memory_of(node).map(|b| b.as_mib()));
    assert_eq!(of, [Some(600), Some(900), None]);
    assert_eq!(limits.facts()["own_memory_bytes"]["node2"], 900 << 20);
}

#[test]
fn the_list_of_groups_is_replaced_in_one_step() {
    let cluster = tempfile::tempdir().unwrap();
    let list = cluster.path().join(GROUPS_FILE);
    write_down(cluster.path(), [&PathBuf::from("/g/helenus/node1")]).unwrap();
    // Another name of the same file shows whether that one is written to.
    let before = cluster.path().join("before");
    fs::hard_link(&list, &before).unwrap();
    write_down(cluster.path(), [&PathBuf::from("/g/helenus/node2")]).unwrap();
    assert_eq!(fs::read_to_string(&before).unwrap(), "/g/helenus/node1\n");
    assert_eq!(
        fs::read_to_string(&list).unwrap(),
        "/g/helenus/node1\n/g/helenus/node2\n"
    );
}
