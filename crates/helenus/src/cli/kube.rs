//! Flags of `kube`.
//! Refuses to do anything with what it parsed.

use super::elsewhere::Elsewhere;
use super::words::words;
use clap::{Args, Subcommand};
use helenus_model::kube::options::{Form, Spread};
use helenus_model::units::Bytes;
use std::path::PathBuf;

pub(crate) mod acts;
pub(crate) mod image;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube up wan.toml               apply it, and wait until all nodes serve
  helenus kube render wan.toml -o wan    manifests for any Kubernetes
  helenus kube render -n 3 --as k8ssandra
  helenus kube kind wan.toml > kind.yaml
  helenus kube image                     the image that the plain pods run")]
pub(crate) struct Kube {
    #[command(subcommand)]
    pub(crate) what: KubeWhat,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KubeWhat {
    /// Apply a cluster through kubectl, and wait until all nodes serve
    Up(Box<acts::Up>),
    /// Wait until all nodes serve; say what each waits for, and what to do about it
    Wait(acts::Wait),
    /// Pods and ring of a cluster; or the clusters that were applied
    Status(acts::Status),
    /// Log of a node
    Logs(acts::Logs),
    /// Run CQL statements in a pod
    Cql(acts::Cql),
    /// Run nodetool in a pod
    Nodetool(acts::Nodetool),
    /// Run a program in a pod
    Exec(acts::Exec),
    /// More nodes or fewer in a data centre, one at a time
    Scale(acts::Scale),
    /// Restart the nodes, one at a time
    Restart(acts::Restart),
    /// Kill a pod, drain a worker, cut data centres
    Fault(acts::Fault),
    /// End the faults of a cluster, and restore the settings that a killed experiment left
    Heal(acts::Heal),
    /// Delete a cluster; volumes only when asked
    Rm(acts::Rm),
    /// Manifests of a cluster: plain, or for K8ssandra's operators
    Render(Box<Render>),
    /// The configuration of a kind cluster that a topology fits
    Kind(Kind),
    /// A Secret as a manifest: the superuser's, that of Medusa's bucket, or keystores for TLS
    Secret(Secret),
    /// The image that plain pods run, made without a container engine
    Image(image::Image),
}

/// Where pods run, and what they are given there.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Kubernetes")]
pub(crate) struct KubePlace {
    /// One namespace for all, which you make [default: one per data centre]
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// Image of the pods [default: the one that `helenus kube image` makes]
    #[arg(long, value_name = "NAME:TAG")]
    pub(crate) image: Option<String>,
    /// When workers fetch the image
    #[arg(long, value_name = "POLICY", default_value = "IfNotPresent", value_parser = ["IfNotPresent", "Always", "Never"])]
    pub(crate) pull_policy: String,
    /// Size of each volume, or none: data ends with its pod
    #[arg(long, value_name = "SIZE|none", default_value = "2G", value_parser = size_or_none)]
    pub(crate) storage: SizeOrNone,
    /// StorageClass of the volumes [default: the cluster's default]
    #[arg(long, value_name = "NAME")]
    pub(crate) storage_class: Option<String>,
    /// Page cache in each pod's memory limit, beside the node's own memory
    #[arg(long, value_name = "SIZE", default_value = "128M", value_parser = Bytes::parse)]
    pub(crate) page_cache: Bytes,
    /// Processors that each pod asks for [default: tiny 0.1, dev 0.5, bench 1]
    #[arg(long, value_name = "N")]
    pub(crate) cpu_request: Option<f64>,
    /// How pods keep off each other's workers: required, preferred (for kind), none
    #[arg(long, value_name = "HOW", default_value = "required", value_parser = words(Spread::ALL, Spread::word))]
    pub(crate) spread: Spread,
    /// The cluster has formed: a pod whose volume is empty joins it, instead of taking its old tokens
    #[arg(long)]
    pub(crate) formed: bool,
    /// Label of workers whose value is the data centre's name, such as dc
    #[arg(long, value_name = "LABEL")]
    pub(crate) worker_label: Option<String>,
    /// With --tls: a Secret of yours with tls.crt, tls.key and ca.crt, such as cert-manager makes [default: they are made]
    #[arg(long, value_name = "NAME")]
    pub(crate) tls_secret: Option<String>,
}

/// What comes with the cluster.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Stack")]
pub(crate) struct KubeStack {
    /// Context of kubectl for a data centre, such as DC2=west; may be repeated
    #[arg(long, value_name = "DC=CONTEXT", value_parser = super::run::parse_pair)]
    pub(crate) context: Vec<(String, String)>,
    /// Repairs by Reaper
    #[arg(long)]
    pub(crate) reaper: bool,
    /// Backups by Medusa, into this bucket
    #[arg(long, value_name = "BUCKET")]
    pub(crate) medusa: Option<String>,
    /// Storage of the bucket: s3, s3_compatible, google_storage, azure_blobs, or local for a volume
    #[arg(
        long,
        value_name = "PROVIDER",
        default_value = "s3",
        requires = "medusa"
    )]
    pub(crate) medusa_provider: String,
    /// Region of the bucket
    #[arg(long, value_name = "REGION", requires = "medusa")]
    pub(crate) medusa_region: Option<String>,
    /// Host of an s3_compatible storage
    #[arg(long, value_name = "HOST", requires = "medusa")]
    pub(crate) medusa_host: Option<String>,
    /// Secret with the bucket's credentials
    #[arg(
        long,
        value_name = "NAME",
        default_value = "medusa-bucket-key",
        requires = "medusa"
    )]
    pub(crate) medusa_secret: String,
    /// Metrics for Prometheus
    #[arg(long)]
    pub(crate) telemetry: bool,
    /// Secret with the superuser's name and password
    #[arg(long, value_name = "NAME")]
    pub(crate) superuser_secret: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube render wan.toml -o wan    one file per kind of resource, with the reason for each setting
  helenus kube render -n 5:5:5 --spread preferred | kubectl apply --server-side -f -
  helenus kube render c --as k8ssandra --auth --medusa backups --medusa-region us-east-1 --reaper
  helenus kube render --dc east=3 --dc west=3 --as k8ssandra --context west=west-cluster
  helenus kube render -n 3 --cassandra 4.0 --as helm-values --heap 500M --new-heap 200M
  helenus kube render wan.toml --as kustomize -o base

Nothing is sent to any cluster. The same flags give the same text.")]
pub(crate) struct Render {
    /// What to write: plain, kustomize, k8ssandra, cass-operator, helm-values
    #[arg(long = "as", value_name = "FORM", default_value = "plain", value_parser = words(Form::ALL, Form::word))]
    pub(crate) form: Form,
    /// Folder to write to [default: one stream on standard output]
    #[arg(short, long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) output: Option<PathBuf>,
    /// List the files and the steps, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: Elsewhere,
    #[command(flatten)]
    pub(crate) place: KubePlace,
    #[command(flatten)]
    pub(crate) stack: KubeStack,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube kind wan.toml > kind.yaml && kind create cluster --config kind.yaml
  helenus kube kind -n 3 --preset dev --memory 8G
  helenus kube kind -n 3 --no-ports")]
pub(crate) struct Kind {
    #[command(flatten)]
    pub(crate) cluster: Elsewhere,
    /// Memory of the machine, or of Docker's virtual machine [default: this machine's]
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse)]
    pub(crate) memory: Option<Bytes>,
    /// Label of workers whose value is the data centre's name
    #[arg(long, value_name = "LABEL", default_value = "dc")]
    pub(crate) worker_label: String,
    /// Image of kind's nodes [default: kind's own]
    #[arg(long, value_name = "NAME:TAG")]
    pub(crate) node_image: Option<String>,
    /// Open no port of this machine
    #[arg(long)]
    pub(crate) no_ports: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube secret superuser --name demo-superuser --user admin --password-env PASSWORD -o superuser.yaml
  helenus kube secret bucket --name medusa-bucket-key --user-env AWS_ACCESS_KEY_ID \\
                --password-env AWS_SECRET_ACCESS_KEY -o bucket.yaml
  helenus kube secret tls wan.toml -o tls.yaml

Values come from the environment or from files, and go into a file that only you can read.")]
pub(crate) struct Secret {
    #[command(subcommand)]
    pub(crate) of: SecretOf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SecretOf {
    /// Name and password of Cassandra's superuser
    #[command(after_help = "Examples:
  helenus kube secret superuser --name demo-superuser --user admin --password-env PASSWORD -o superuser.yaml")]
    Superuser(SecretValues),
    /// Medusa's credentials, for k8ssandra-operator
    #[command(after_help = "Examples:
  helenus kube secret bucket --name medusa-bucket-key --user-env AWS_ACCESS_KEY_ID \\
                --password-env AWS_SECRET_ACCESS_KEY -o bucket.yaml")]
    Bucket(SecretValues),
    /// Medusa's credentials, for the 1.x chart
    #[command(after_help = "Examples:
  helenus kube secret bucket-of-chart --name medusa-bucket-key --user-env AWS_ACCESS_KEY_ID \\
                --password-env AWS_SECRET_ACCESS_KEY -o bucket.yaml")]
    BucketOfChart(SecretValues),
    /// Keystores of the pods of a cluster with TLS, for manifests that you apply yourself
    Tls(Box<TlsStores>),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  helenus kube secret tls wan.toml -o tls.yaml
  helenus kube secret tls -n 3 --name demo --client-auth -o tls.yaml

Give it the flags of `kube render`. Creates an authority for the cluster and a certificate per
namespace. The authority's key is not kept, so each call creates a new authority. `kube up`
creates and applies these Secrets itself.")]
pub(crate) struct TlsStores {
    /// Who reads them: plain, kustomize, k8ssandra
    #[arg(long = "as", value_name = "FORM", default_value = "plain", value_parser = words(Form::ALL, Form::word))]
    pub(crate) form: Form,
    /// The one namespace of all [default: one per data centre]
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// File to write, for your eyes only
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) output: Option<PathBuf>,
    /// Show the manifest without its values, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) cluster: Elsewhere,
}

/// Values of a Secret, and where they come from.
#[derive(Debug, Args)]
pub(crate) struct SecretValues {
    /// Name of the Secret
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// Its namespace [default: that of kubectl's context]
    #[arg(long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// User name; no secret
    #[arg(long, value_name = "NAME", conflicts_with_all = ["user_env", "user_file"])]
    pub(crate) user: Option<String>,
    /// Variable with the user name, or with the key's id
    #[arg(long, value_name = "VARIABLE", conflicts_with = "user_file")]
    pub(crate) user_env: Option<String>,
    /// File with it
    #[arg(long, value_name = "FILE")]
    pub(crate) user_file: Option<PathBuf>,
    /// Variable with the password, or with the secret key
    #[arg(long, value_name = "VARIABLE", conflicts_with = "password_file")]
    pub(crate) password_env: Option<String>,
    /// File with it
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// File to write, for your eyes only
    #[arg(short, long, value_name = "FILE", required_unless_present = "dry_run")]
    pub(crate) output: Option<PathBuf>,
    /// Show the manifest without its values, write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A size, or nothing at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeOrNone(pub(crate) Option<Bytes>);

fn size_or_none(text: &str) -> Result<SizeOrNone, String> {
    if text == "none" {
        return Ok(SizeOrNone(None));
    }
    let size = Bytes::parse(text).map_err(|e| e.to_string())?;
    Ok(SizeOrNone(Some(size)))
}
