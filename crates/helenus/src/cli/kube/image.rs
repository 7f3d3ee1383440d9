//! Flags of `kube image`.
//! Refuses to do anything with them.

use clap::Args;
use helenus_model::kube::image::ImageName;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube image                     helenus-cassandra-5.0.9.tar
  helenus kube image --cassandra 4.1 -o c.tar
  helenus kube image --dry-run           what would be in it
  kind load image-archive helenus-cassandra-5.0.9.tar

It has this machine's C library, Java and this helenus, and no shell. Its launcher reads what
`kube render --as plain` writes. The file is an OCI layout that `docker load` reads as well.")]
pub(crate) struct Image {
    /// A series such as 5.0, or any published patch such as 4.1.5
    #[arg(long, value_name = "RELEASE", default_value = "5.0", aliases = ["release", "cassandra-version"])]
    pub(crate) cassandra: String,
    /// The JDK to take Java from, instead of the best one found
    #[arg(long, value_name = "DIR")]
    pub(crate) java_home: Option<PathBuf>,
    /// The file to write [default: helenus-cassandra-RELEASE.tar]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Name of the image [default: localhost/helenus-cassandra:RELEASE]
    #[arg(long, value_name = "NAME:TAG", value_parser = ImageName::parse)]
    pub(crate) name: Option<ImageName>,
    /// Without a class-data archive: nothing is started, and pods start slower
    #[arg(long)]
    pub(crate) no_archive: bool,
    /// Show what would be in it, make nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
