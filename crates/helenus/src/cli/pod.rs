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
    /// Becomes a program whose root is a folder, in namespaces of its own
    Rooted {
        parent: i32,
        root: PathBuf,
        program: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}
