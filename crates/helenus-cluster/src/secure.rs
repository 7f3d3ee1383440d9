//! What makes a cluster a secured one: its certificates and credentials in its folder, and its roles once it answers.
//! Refuses half of it: a folder of secrets is there whole or not at all, and a cluster whose stock superuser can still
//! log in is not ready.

mod certificates;

use crate::error::{Class, Problem};
use crate::random::random;
use crate::state::ClusterState;
use crate::stored::there;
use certificates::Certificates;
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use helenus_cql::client::ClientError;
use helenus_model::access::{Access, CREDENTIALS_FOLDER, TLS_FOLDER};
use helenus_model::hex::hex;
use helenus_model::plan::{ClusterPlan, KEYSTORE_PASSWORD_MARK, NodePlan};
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Random bytes of a password: as many as a key of AES-256 has.
const PASSWORD_BYTES: usize = 32;

/// The keystores' password in the folder of certificates.
pub(crate) const KEYSTORE_PASSWORD: &str = "keystore.password";

/// Why a cluster could not be secured.
#[derive(Debug, thiserror::Error)]
pub enum SecureError {
    /// Files.
    #[error("cannot write {what}")]
    Io {
        /// Which, by what it is for.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// A certificate.
    #[error("cannot make a certificate for {of}")]
    Certificate {
        /// For whom.
        of: String,
        /// Why.
        source: rcgen::Error,
    },
    /// The cluster is older than the kept key of its authority.
    #[error("{node} needs a certificate, and the key of {cluster}'s authority was not kept")]
    NoAuthority {
        /// Cluster.
        cluster: String,
        /// Node.
        node: String,
    },
    /// A keystore.
    #[error("cannot make the keystore of {of}")]
    Keystore {
        /// Of whom.
        of: String,
        /// Why.
        source: p12_keystore::error::Error,
    },
    /// The cluster's roles.
    #[error("{node} answers, but {what} failed")]
    Roles {
        /// The node that was asked.
        node: String,
        /// What was tried last.
        what: &'static str,
        /// What it said.
        source: Box<ClientError>,
    },
    /// The stock superuser's stock password is still good.
    #[error("the default superuser can still log in to {node}")]
    StockSuperuser {
        /// The node.
        node: String,
    },
}

impl Problem for SecureError {
    fn class(&self) -> Class {
        match self {
            Self::Roles { .. } | Self::StockSuperuser { .. } => Class::Cluster,
            _ => Class::Environment,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Io { .. } => Some("is the state folder writable, and the disk not full?".into()),
            Self::Roles { source, .. } => source.hint().map(str::to_owned),
            Self::StockSuperuser { .. } => {
                Some("`helenus start` tries again; the node's log shows more".into())
            }
            Self::NoAuthority { .. } => Some(
                "an earlier helenus brought it up: bring up a new cluster, whose key is kept"
                    .into(),
            ),
            Self::Certificate { .. } | Self::Keystore { .. } => None,
        }
    }
}

/// Makes what is missing of a cluster's certificates and credentials. What is there stays: clients hold copies of it.
///
/// # Errors
/// The cluster's folder cannot be written.
pub fn provide(plan: &ClusterPlan) -> Result<(), SecureError> {
    let folder = Path::new(&plan.folder);
    if plan.security.tls {
        let server = |node: &NodePlan| Server {
            name: node.name.clone(),
            dns: Vec::new(),
            addresses: vec![node.address, Ipv4Addr::LOCALHOST],
        };
        let parties = Parties {
            cluster: &plan.name,
            servers: plan.nodes.iter().map(server).collect(),
            client_auth: plan.security.client_auth,
        };
        provide_certificates(&folder.join(TLS_FOLDER), parties)?;
    }
    if !plan.security.is_open() {
        whole(
            &folder.join(CREDENTIALS_FOLDER),
            "the credentials",
            |into| {
                let mut files = vec![("cqlshrc".to_owned(), cqlshrc(plan).into_bytes())];
                if plan.security.auth {
                    let password = random_word()?;
                    files.push(("password".to_owned(), line(&password)));
                    files.push(("cqlsh".to_owned(), cqlsh_credentials(plan, &password)));
                }
                write_all(into, files, "the credentials")
            },
        )?;
        lead_to_a_node(plan).map_err(|source| SecureError::Io {
            what: "the credentials",
            source,
        })?;
    }
    Ok(())
}

/// Writes cqlshrc anew where no node has the address in it any more: the first one has left, or was replaced.
fn lead_to_a_node(plan: &ClusterPlan) -> io::Result<()> {
    let file = Path::new(&plan.folder)
        .join(CREDENTIALS_FOLDER)
        .join("cqlshrc");
    let text = there(fs::read_to_string(&file))?.unwrap_or_default();
    let leads = |line: &str| {
        let address = line.strip_prefix("hostname = ");
        address.is_some_and(|own| plan.nodes.iter().any(|n| n.address.to_string() == own))
    };
    match text.lines().any(leads) {
        true => Ok(()),
        false => write_private(&file, cqlshrc(plan).as_bytes()),
    }
}

/// Those of a cluster who need certificates.
pub(crate) struct Parties<'a> {
    /// Name of the cluster.
    pub(crate) cluster: &'a str,
    /// Its nodes.
    pub(crate) servers: Vec<Server>,
    /// Whether clients show one, too.
    pub(crate) client_auth: bool,
}

/// A node, or nodes that share a certificate.
pub(crate) struct Server {
    /// What the keystore is called by.
    pub(crate) name: String,
    /// Names that it is found by, beside localhost.
    pub(crate) dns: Vec<String>,
    /// Its addresses.
    pub(crate) addresses: Vec<Ipv4Addr>,
}

impl Server {
    /// File name of its keystore.
    pub(crate) fn keystore(&self) -> String {
        format!("{}.p12", self.name)
    }
}

/// Makes what is missing of the certificates in this folder; what is there stays.
///
/// # Errors
/// The folder cannot be written, or the authority's key is gone and somebody needs it.
pub(crate) fn provide_certificates(folder: &Path, parties: Parties<'_>) -> Result<(), SecureError> {
    let what = "the certificates";
    whole(folder, what, |into| {
        let password = random_word()?;
        let mut files = Certificates::make(&parties, &password)?.files;
        files.push((KEYSTORE_PASSWORD.to_owned(), line(&password)));
        write_all(into, files, what)
    })?;
    let has = |file: &str| folder.join(file).exists();
    let Parties {
        cluster,
        mut servers,
        client_auth,
    } = parties;
    servers.retain(|server| !has(&server.keystore()));
    let newcomers = Parties {
        cluster,
        servers,
        client_auth: client_auth && !has(certificates::CLIENT),
    };
    let first = newcomers.servers.first().map(|server| &server.name);
    let Some(first) = first.map_or(newcomers.client_auth.then_some("a client"), |n| Some(n)) else {
        return Ok(());
    };
    let failed = |source| SecureError::Io { what, source };
    let key = match fs::read_to_string(folder.join(certificates::CA_KEY)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SecureError::NoAuthority {
                cluster: cluster.to_owned(),
                node: first.to_owned(),
            });
        }
        key => key.map_err(failed)?,
    };
    let ca = fs::read_to_string(folder.join(certificates::CA)).map_err(failed)?;
    let password = fs::read_to_string(folder.join(KEYSTORE_PASSWORD)).map_err(failed)?;
    let made = Certificates::add(&newcomers, (&ca, &key), password.trim_end())?;
    write_all(folder, made.files, what)
}

/// Makes keystores in `folder`, with a password of their own, of PEM that somebody else made: chain, key, authorities.
///
/// # Errors
/// The texts are of no use, or the folder cannot be written.
pub(crate) fn provide_stores(
    folder: &Path,
    (keystore, truststore): (&str, &str),
    pem: (&str, &str, &str),
) -> Result<(), SecureError> {
    let password = random_word()?;
    let (own, trusted) = certificates::stores(pem, &password)?;
    let files = vec![
        (keystore.to_owned(), own),
        (truststore.to_owned(), trusted),
        (KEYSTORE_PASSWORD.to_owned(), line(&password)),
    ];
    write_all(folder, files, "the keystores")
}

/// The configuration with which a real cqlsh gets in: `cqlsh --cqlshrc=FILE`; none where an open cluster needs none.
pub fn cqlshrc_of(state: &ClusterState) -> Option<PathBuf> {
    let folder = Path::new(&state.plan.folder).join(CREDENTIALS_FOLDER);
    (!state.plan.security.is_open()).then(|| folder.join("cqlshrc"))
}

/// Writes a node's cassandra.yaml, with the keystores' password where the plan has its mark; then for its owner only.
///
/// # Errors
/// It cannot be written, or the password cannot be read.
pub(crate) fn write_yaml(state: &ClusterState, node: &NodePlan, to: &Path) -> io::Result<()> {
    if state.access.tls.is_none() {
        return fs::write(to, &node.yaml);
    }
    let file = Path::new(&state.plan.folder)
        .join(TLS_FOLDER)
        .join(KEYSTORE_PASSWORD);
    let password = fs::read_to_string(file)?;
    let yaml = node
        .yaml
        .replace(KEYSTORE_PASSWORD_MARK, password.trim_end());
    write_private(to, yaml.as_bytes())
}

/// Makes a folder whole or not at all: under another name first.
fn whole(
    folder: &Path,
    what: &'static str,
    fill: impl FnOnce(&Path) -> Result<(), SecureError>,
) -> Result<(), SecureError> {
    let failed = |source| SecureError::Io { what, source };
    if folder.is_dir() {
        return Ok(());
    }
    let begun = folder.with_extension("begun");
    there(fs::remove_dir_all(&begun)).map_err(failed)?;
    // Files and their folder are their owner's alone from the first moment.
    let made =
        fs::create_dir_all(begun.parent().unwrap_or(&begun)).and_then(|()| private_folder(&begun));
    made.map_err(failed)?;
    fill(&begun)?;
    fs::rename(&begun, folder).map_err(failed)
}

/// `fs_err` has no builder of folders with a mode.
fn private_folder(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().mode(0o700).create(folder)
}

fn write_all(
    into: &Path,
    files: Vec<(String, Vec<u8>)>,
    what: &'static str,
) -> Result<(), SecureError> {
    for (name, bytes) in files {
        write_private(&into.join(name), &bytes)
            .map_err(|source| SecureError::Io { what, source })?;
    }
    Ok(())
}

/// Writes a file that only its owner can read, also where one with more rights stood.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    there(fs::remove_file(path))?;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)
}

/// A password that nobody guesses, of letters that need no quotes anywhere.
pub(crate) fn random_word() -> Result<String, SecureError> {
    let failed = |source| SecureError::Io {
        what: "a password",
        source,
    };
    random::<PASSWORD_BYTES>()
        .map(|bytes| hex(&bytes))
        .map_err(failed)
}

fn line(password: &str) -> Vec<u8> {
    format!("{password}\n").into_bytes()
}

/// What cqlsh 6 and 6.2 read; their comments name the keys.
fn cqlshrc(plan: &ClusterPlan) -> String {
    let access = Access::of(&plan.folder, plan.security);
    let mut text = String::new();
    if access.credentials.is_some() {
        text.push_str(&format!(
            "[authentication]\ncredentials = {}/{CREDENTIALS_FOLDER}/cqlsh\n\n\
             [auth_provider]\nmodule = cassandra.auth\nclassname = PlainTextAuthProvider\n\n",
            plan.folder
        ));
    }
    let address = plan.nodes.first().map(|n| n.address.to_string());
    text.push_str(&format!(
        "[connection]\nhostname = {}\nport = {}\n",
        address.unwrap_or_default(),
        plan.ports.cql
    ));
    if let Some(tls) = &access.tls {
        text.push_str(&format!(
            "ssl = true\n\n[ssl]\ncertfile = {}\nvalidate = true\n",
            tls.ca
        ));
        if let Some(client) = &tls.client {
            text.push_str(&format!(
                "usercert = {}\nuserkey = {}\n",
                client.certificate, client.key
            ));
        }
    }
    // Its values are templates: a percent sign in a path would begin one.
    text.replace('%', "%%")
}

/// cqlsh needs user and password apart from cqlshrc, in a file that only its owner can read.
fn cqlsh_credentials(plan: &ClusterPlan, password: &str) -> Vec<u8> {
    let access = Access::of(&plan.folder, plan.security);
    let user = access.credentials.map(|c| c.username).unwrap_or_default();
    format!("[PlainTextAuthProvider]\nusername = {user}\npassword = {password}\n").into_bytes()
}

#[cfg(test)]
mod tests;
