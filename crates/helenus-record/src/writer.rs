//! Which process writes a run, so that a run under way can be distinguished from one whose writer was killed.
//! Refuses to trust a process id alone: the moment of the machine's and of the process's start belong to it.

/// This process, in a form that [`lives`] reads; none where the kernel does not report it.
pub(crate) fn me() -> Option<String> {
    let pid = std::process::id();
    Some(format!("{} {pid} {}", boot()?, start(pid)?))
}

/// Whether the process is alive. A word that cannot be read means no process.
pub(crate) fn lives(writer: &str) -> bool {
    let mut words = writer.split(' ');
    let (Some(booted), Some(pid), Some(started)) = (words.next(), words.next(), words.next())
    else {
        return false;
    };
    let started_then = pid.parse().ok().and_then(start);
    boot().as_deref() == Some(booted) && started_then.as_deref() == Some(started)
}

/// The machine's present life.
fn boot() -> Option<String> {
    let id = fs_err::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// When a process started, in ticks since the machine's start; none where there is none, or only its body.
fn start(pid: u32) -> Option<String> {
    let stat = fs_err::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    if state.starts_with(['Z', 'X']) {
        return None;
    }
    // The state is the third field of /proc/PID/stat, the start time the 22nd.
    fields.nth(18).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{lives, me};

    #[test]
    fn a_process_lives_until_its_end() {
        let me = me().expect("the kernel answers");
        assert!(lives(&me));
        let (boot, rest) = me.split_once(' ').expect("three words");
        let (pid, started) = rest.split_once(' ').expect("three words");
        assert!(started.parse::<u64>().is_ok_and(|ticks| ticks > 0), "{me}");
        assert!(!lives(&format!("{boot} {pid} 1")), "another's pid");
        assert!(!lives(&format!("other {pid} {started}")), "before a reboot");
        assert!(!lives(""));
    }
}
