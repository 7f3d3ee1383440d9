//! Words of the hidden verb `__pod`: what this binary is in the image that `kube image` makes, and while it makes it.
//! Refuses to do anything with them.

use clap::Subcommand;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Pod {
    /// Becomes the node
    Start,
    /// Whether the node serves
    Ready,
    /// Whether the node listens
    Live,
    /// Whether a connection can be opened from the pod
    Reach { address: std::net::SocketAddr },
    /// Lets the node write out what it has in memory
    Drain,
    /// Waits for generators, as process 1 of a pod
    Idle,
    /// Runs statements at the node: JSON on standard input, JSON on standard output
    Cql,
    /// What the pod used so far, as JSON
    Facts {
        /// From when on stops of the JVM are reported, in nanoseconds of the monotonic clock
        #[arg(default_value_t = 0)]
        since_ns: u64,
    },
    /// Becomes a program whose root is a folder, in namespaces of its own
    Rooted {
        parent: i32,
        root: PathBuf,
        program: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}
