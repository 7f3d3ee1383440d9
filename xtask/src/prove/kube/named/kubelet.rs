//! The kubelet of a worker on this machine, and its sleep.
//! Refuses to guess among several, and to leave one asleep.

use rustix::process::{Pid, Signal, kill_process};

/// The process of a worker's kubelet, where it is one of this machine and known for certain.
pub(super) fn of(worker: &str, workers: usize) -> Result<Pid, String> {
    let mut found = Vec::new();
    let processes = fs_err::read_dir("/proc").map_err(|error| error.to_string())?;
    for process in processes.flatten() {
        let path = process.path();
        // One that has just ended is no kubelet that runs.
        let read = |file: &str| fs_err::read_to_string(path.join(file)).unwrap_or_default();
        if read("comm").trim() != "kubelet" {
            continue;
        }
        let pid = process.file_name().to_string_lossy().parse().ok();
        let words = read("cmdline").replace('\0', " ");
        let host = read("root/etc/hostname").trim().to_owned();
        found.extend(pid.and_then(Pid::from_raw).map(|pid| (pid, words, host)));
    }
    choose(worker, workers, &found)
}

/// The one with a flag of the worker's name or on a host of that name, or the only one where there is one worker.
fn choose(worker: &str, workers: usize, found: &[(Pid, String, String)]) -> Result<Pid, String> {
    let flag = format!("--hostname-override={worker}");
    let named = |(_, words, host): &&(Pid, String, String)| {
        host == worker || words.split(' ').any(|word| word == flag)
    };
    let all: Vec<Pid> = found.iter().filter(named).map(|(pid, ..)| *pid).collect();
    match (&all[..], found) {
        ([one], _) => Ok(*one),
        ([], [(only, ..)]) if workers == 1 => Ok(*only),
        _ => Err(format!(
            "which process is the kubelet of {worker} is not known: {} of this machine, {} of that name",
            found.len(),
            all.len()
        )),
    }
}

/// A kubelet that sleeps until this is dropped.
pub(super) struct Asleep(Pid);

impl Asleep {
    /// Stops it.
    pub(super) fn send(pid: Pid) -> Result<Self, rustix::io::Errno> {
        kill_process(pid, Signal::STOP)?;
        Ok(Self(pid))
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        let _gone = kill_process(self.0, Signal::CONT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubelet_is_chosen_by_its_name_or_because_there_is_no_other() {
        let one = |pid: i32, words: &str, host: &str| {
            (
                Pid::from_raw(pid).unwrap(),
                words.to_owned(),
                host.to_owned(),
            )
        };
        let pid = |n| Pid::from_raw(n).unwrap();
        let three = [
            one(5, "kubelet --v=2", "kind-worker"),
            one(6, "kubelet --hostname-override=w2 ", "x"),
            one(7, "kubelet --hostname-override=w20", "x"),
        ];
        assert_eq!(choose("w2", 3, &three), Ok(pid(6)));
        assert_eq!(choose("kind-worker", 3, &three), Ok(pid(5)));
        assert!(choose("w3", 3, &three).is_err());
        assert_eq!(choose("any", 1, &three[..1]), Ok(pid(5)));
        assert!(choose("any", 2, &three[..1]).is_err());
        assert!(choose("any", 1, &[]).is_err());
    }
}
