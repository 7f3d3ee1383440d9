//! Looks at the machine from outside: processes, folders, address claims.
//! Refuses to believe what the binary says of itself.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A process of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// Command line, its words parted by spaces.
    pub(crate) command: String,
}

/// Processes whose command line or environment names the folder; zombies have neither.
pub(crate) fn processes(folder: &Path) -> Vec<Process> {
    let wanted = folder.as_os_str().as_bytes();
    let names = |bytes: &[u8]| bytes.windows(wanted.len()).any(|w| w == wanted);
    let entries = fs_err::read_dir("/proc").expect("/proc").flatten();
    let mut found = Vec::new();
    for entry in entries {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let read = |file: &str| fs_err::read(entry.path().join(file)).unwrap_or_default();
        let command = read("cmdline");
        if names(&command) || names(&read("environ")) {
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            found.push(Process { pid, command });
        }
    }
    found
}

/// Whether a process is there and no zombie.
pub(crate) fn lives(pid: i32) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().map(str::trim_start);
    state.is_some_and(|s| !s.is_empty() && !s.starts_with(['Z', 'X']))
}

/// What lies in a folder, sorted; nothing where there is no folder.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs_err::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|e| e.path()).collect();
    paths.sort();
    paths
}

/// The runtime folder of this user.
pub(crate) fn runtime() -> PathBuf {
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) => PathBuf::from(folder).join("helenus"),
        None => PathBuf::from(format!(
            "/tmp/helenus-{}",
            rustix::process::geteuid().as_raw()
        )),
    }
}

/// Address claims that name an owner below the folder.
pub(crate) fn claims_of(folder: &Path) -> Vec<PathBuf> {
    let namespaces = entries(&runtime().join("claims"));
    let claims = namespaces.iter().flat_map(|n| entries(n));
    claims
        .filter(|claim| {
            let owner = fs_err::read_to_string(claim).unwrap_or_default();
            Path::new(&owner).starts_with(folder)
        })
        .collect()
}

/// Looks until it holds; the last reason why not is reported when patience ends.
pub(crate) fn wait_for(
    what: &str,
    patience: Duration,
    mut look: impl FnMut() -> Result<(), String>,
) {
    let begin = Instant::now();
    while let Err(why) = look() {
        assert!(
            begin.elapsed() < patience,
            "waited {patience:?} for {what}: {why}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Where something is mounted below a folder, in the order of the kernel's list.
pub(crate) fn mounts_below(folder: &Path) -> Vec<PathBuf> {
    let folder = fs_err::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let list = fs_err::read_to_string("/proc/self/mountinfo").expect("a list of mounts");
    let places = list.lines().filter_map(|line| line.split(' ').nth(4));
    places
        .map(PathBuf::from)
        .filter(|place| place.starts_with(&folder))
        .collect()
}
