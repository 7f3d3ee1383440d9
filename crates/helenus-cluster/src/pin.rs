//! Binds this process to processors and to the memory of NUMA nodes, before it becomes a node: both survive `exec`.
//! Refuses to go on where the kernel does not allow it: a number of a node that lies elsewhere would be wrong.

use helenus_model::plan::Pin;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::io;

/// Bits of a word of the kernel's mask of NUMA nodes.
const BITS: u32 = libc::c_ulong::BITS;

/// Binds the calling thread, which must be the only one.
///
/// # Errors
/// The kernel does not allow these processors or NUMA nodes, or has none of them.
pub(crate) fn pin(pin: &Pin) -> io::Result<()> {
    let mut cpus = CpuSet::new();
    for cpu in pin.cpus.iter() {
        let cpu = usize::try_from(cpu).map_err(io::Error::other)?;
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::other(format!(
                "there cannot be a processor {cpu}"
            )));
        }
        cpus.set(cpu);
    }
    sched_setaffinity(None, &cpus)
        .map_err(|e| named(&format!("processors {}", pin.cpus), e.into()))?;
    if pin.numa.is_empty() {
        return Ok(());
    }
    bind_memory(&pin.numa).map_err(|e| named(&format!("memory of NUMA nodes {:?}", pin.numa), e))
}

fn named(what: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot bind to {what}: {error}"))
}

/// All memory that this process and what it becomes touches first comes from these NUMA nodes.
fn bind_memory(nodes: &[u32]) -> io::Result<()> {
    let most = nodes.iter().max().copied().unwrap_or_default();
    let mut mask: Vec<libc::c_ulong> = vec![0; (most / BITS + 1) as usize];
    for node in nodes {
        mask[(node / BITS) as usize] |= 1 << (node % BITS);
    }
    // The kernel reads one bit less than it is given.
    let bits = mask.len() * BITS as usize + 1;
    // SAFETY: the kernel reads the words of `mask`, which outlives the call, and writes nothing.
    let done = unsafe {
        libc::syscall(
            libc::SYS_set_mempolicy,
            libc::MPOL_BIND,
            mask.as_ptr(),
            bits,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::machine::Cpus;
    use std::process::Command;

    /// In a thread of its own: the binding is the thread's, and of what it starts.
    fn within(wanted: &Pin) -> io::Result<String> {
        let wanted = wanted.clone();
        let child = std::thread::spawn(move || {
            pin(&wanted)?;
            let output = Command::new("cat").arg("/proc/self/status").output()?;
            Ok::<_, io::Error>(String::from_utf8_lossy(&output.stdout).into_owned())
        });
        child.join().expect("it ends")
    }

    #[test]
    fn what_it_becomes_runs_on_its_processors_only() {
        let last = rustix::thread::sched_getaffinity(None).expect("a set");
        let last = (0..CpuSet::MAX_CPU)
            .rfind(|cpu| last.is_set(*cpu))
            .expect("a processor");
        let cpus: Cpus = last.to_string().parse().expect("a list");
        let status = within(&Pin {
            cpus,
            numa: Vec::new(),
        })
        .expect("it may");
        let line = status
            .lines()
            .find(|line| line.starts_with("Cpus_allowed_list"));
        assert_eq!(line, Some(&*format!("Cpus_allowed_list:\t{last}")));
    }

    #[test]
    fn processors_and_nodes_that_are_not_there_are_refused() {
        let far: Cpus = "1000".parse().expect("a list");
        let error = within(&Pin {
            cpus: far,
            numa: Vec::new(),
        })
        .expect_err("there is none");
        assert!(
            error
                .to_string()
                .starts_with("cannot bind to processors 1000: "),
            "{error}"
        );
        let cpus: Cpus = "0".parse().expect("a list");
        let error = within(&Pin {
            cpus,
            numa: vec![63],
        })
        .expect_err("there is none");
        assert!(error.to_string().contains("NUMA nodes [63]"), "{error}");
    }
}
