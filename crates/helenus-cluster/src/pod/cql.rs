//! Statements that are run from inside a pod, at the node in it or at another one: JSON in, JSON out.
//! Refuses passwords in arguments and in the environment: they come with the statements.

use super::{LauncherError, READY_WITHIN, own_address, tls};
use crate::env::Env;
use crate::ring_view;
use crate::shell::{SCHEMA_WITHIN, changes_schema};
use fs_err as fs;
use helenus_cql::client::{
    Client, ClientError, ConnectOptions, Credentials, Identity, Secret, Tls, TlsError,
};
use helenus_cql::codec::Consistency;
use helenus_cql::rows::{Rows, plain};
use helenus_model::format::{Format, FormatError};
use helenus_model::kube::pod::{CONF_FOLDER, YAML_KEY, port};
use helenus_model::plan::STANDARD_PORTS;
use helenus_model::secret::without_secrets;
use helenus_model::status::ClusterView;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// Version of [`PodCql`] and [`PodAnswer`] as JSON.
pub const POD_CQL_VERSION: u32 = 1;

/// Between two looks at the versions of the schema.
const AGREE_EVERY: Duration = Duration::from_millis(200);

/// What is to be run.
#[derive(Clone, Serialize, Deserialize)]
pub struct PodCql {
    /// `helenus.pod-cql/1`.
    pub format: Format,
    /// Statements, in order.
    #[serde(default)]
    pub statements: Vec<String>,
    /// The user who logs in; none without authentication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Whether what a statement would make may be there already.
    #[serde(default)]
    pub may_exist: bool,
    /// Whether the answer has the cluster as the node sees it.
    #[serde(default)]
    pub view: bool,
    /// Another node than the one in this pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<OtherNode>,
}

/// A node in another pod.
#[derive(Clone, Serialize, Deserialize)]
pub struct OtherNode {
    /// Where it answers.
    pub address: SocketAddr,
    /// What it takes to speak TLS with it; none where it speaks none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<OtherTls>,
}

/// How to speak TLS with a node in another pod, as PEM.
#[derive(Clone, Serialize, Deserialize)]
pub struct OtherTls {
    /// The authority.
    pub ca: String,
    /// The name for which its certificate is.
    pub name: String,
    /// Certificate and key of the client, where it wants one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<(String, String)>,
}

impl OtherTls {
    fn tls(&self) -> Result<Tls, TlsError> {
        let client = self.client.as_ref();
        let identity = client.map(|(certificate, key)| Identity {
            certificate: certificate.as_bytes(),
            key: key.as_bytes(),
        });
        Tls::named(self.ca.as_bytes(), &self.name, identity)
    }
}

impl fmt::Debug for PodCql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statements: Vec<String> = self.statements.iter().map(|s| shown(s)).collect();
        f.debug_struct("PodCql")
            .field("statements", &statements)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl PodCql {
    /// These statements, without a user.
    pub fn new(statements: Vec<String>) -> Self {
        Self {
            format: Format::new("pod-cql", POD_CQL_VERSION),
            statements,
            user: None,
            password: None,
            may_exist: false,
            view: false,
            other: None,
        }
    }

    /// As who logs in with these credentials.
    #[must_use]
    pub fn by(self, credentials: Option<&Credentials>) -> Self {
        let Some(credentials) = credentials else {
            return self;
        };
        Self {
            user: Some(credentials.username.clone()),
            password: Some(credentials.password.expose().to_owned()),
            ..self
        }
    }

    /// As it goes to the pod's standard input.
    pub fn text(&self) -> String {
        // Texts and truths only: it cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodAnswer {
    /// `helenus.pod-answer/1`.
    pub format: Format,
    /// Of each statement, in order.
    pub answers: Vec<Answer>,
    /// The cluster as the node sees it, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<ClusterView>,
}

/// Rows of a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Names of the columns; none of a statement that returns no rows.
    pub columns: Vec<String>,
    /// Values as a shell prints them, none being null.
    pub rows: Vec<Vec<Option<String>>>,
}

impl PodAnswer {
    /// Reads what [`run`] gave.
    ///
    /// # Errors
    /// No such JSON, or of another version.
    pub fn read(text: &str) -> Result<Self, PodCqlError> {
        let read: Self = serde_json::from_str(text)?;
        read.format.check("pod-answer", POD_CQL_VERSION)?;
        Ok(read)
    }
}

/// Why statements were not run.
#[derive(Debug, thiserror::Error)]
pub enum PodCqlError {
    /// What was asked, or answered, is no such JSON.
    #[error("the JSON cannot be read")]
    Json(#[from] serde_json::Error),
    /// Of another Helenus.
    #[error("the JSON is of another version")]
    Format(#[from] FormatError),
    /// The pod.
    #[error(transparent)]
    Launcher(#[from] LauncherError),
    /// Files.
    #[error("the pod's files cannot be read")]
    Io(#[from] io::Error),
    /// Certificates.
    #[error("the certificates cannot be used")]
    Tls(#[from] TlsError),
    /// The node does not answer, or refuses the login.
    #[error(transparent)]
    Connect(ClientError),
    /// It refuses a statement.
    #[error("{statement}")]
    Refused {
        /// The statement, in one line and without its secrets.
        statement: String,
        /// Why.
        source: ClientError,
    },
    /// The nodes do not agree.
    #[error("the nodes have {versions} versions of the schema after {} s", SCHEMA_WITHIN.as_secs())]
    Apart {
        /// How many.
        versions: usize,
    },
}

/// Runs what stands on `input` at the node of this pod.
///
/// # Errors
/// The first statement that was refused; those before it were run.
pub fn run(env: &Env, mut input: impl Read) -> Result<PodAnswer, PodCqlError> {
    let mut text = String::new();
    input.read_to_string(&mut text)?;
    let asked: PodCql = serde_json::from_str(&text)?;
    asked.format.check("pod-cql", POD_CQL_VERSION)?;
    let (address, tls) = match &asked.other {
        Some(node) => (node.address, node.tls.as_ref().map(OtherTls::tls)),
        None => {
            let yaml = fs::read_to_string(Path::new(CONF_FOLDER).join(YAML_KEY))?;
            let port = port(&yaml, "native_transport_port", STANDARD_PORTS.cql);
            (SocketAddr::new(own_address(env)?, port), tls()?.map(Ok))
        }
    };
    let credentials = asked.user.as_ref().map(|user| Credentials {
        username: user.clone(),
        password: Secret::new(asked.password.clone().unwrap_or_default()),
    });
    let options = ConnectOptions {
        timeout: READY_WITHIN,
        tls: tls.transpose()?,
        credentials,
        ..ConnectOptions::default()
    };
    let mut client = Client::connect(address, &options).map_err(PodCqlError::Connect)?;
    client.set_timeout(SCHEMA_WITHIN);
    let mut answers = Vec::new();
    for statement in &asked.statements {
        let refused = |source| PodCqlError::Refused {
            statement: shown(statement),
            source,
        };
        match client.query(statement, Consistency::One) {
            Ok(rows) => answers.push(answer(&rows)),
            Err(error) if asked.may_exist && error.already_exists() => {
                answers.push(Answer::default());
            }
            Err(error) => return Err(refused(error)),
        }
        if changes_schema(statement) {
            agree(&mut client)?;
        }
    }
    let view = match asked.view {
        true => Some(ring_view::view(&mut client).map_err(PodCqlError::Connect)?),
        false => None,
    };
    Ok(PodAnswer {
        format: Format::new("pod-answer", POD_CQL_VERSION),
        answers,
        view,
    })
}

/// A statement as errors and logs show it.
fn shown(statement: &str) -> String {
    let words: Vec<&str> = statement.split_whitespace().collect();
    without_secrets(&words.join(" "))
}

fn answer(rows: &Rows) -> Answer {
    let values = rows.rows.iter();
    Answer {
        columns: rows.columns.iter().map(|c| c.name.clone()).collect(),
        rows: values
            .map(|row| row.iter().map(|v| v.as_ref().map(plain)).collect())
            .collect(),
    }
}

/// Waits until the node knows one version of the schema only, as drivers do.
fn agree(client: &mut Client) -> Result<(), PodCqlError> {
    let begin = Instant::now();
    loop {
        let mut rows_of = |table: &str| {
            let query = format!("SELECT host_id, schema_version FROM system.{table}");
            let rows = client.query(&query, Consistency::One);
            let rows = rows.map_err(PodCqlError::Connect)?;
            let value = |row, column: &str| rows.value(row, column).map(plain);
            let all =
                (0..rows.len()).map(|row| (value(row, "host_id"), value(row, "schema_version")));
            Ok::<Vec<SchemaRow>, PodCqlError>(all.collect())
        };
        let versions = versions(&rows_of("local")?, &rows_of("peers")?);
        if versions <= 1 {
            return Ok(());
        }
        if begin.elapsed() > SCHEMA_WITHIN {
            return Err(PodCqlError::Apart { versions });
        }
        std::thread::sleep(AGREE_EVERY);
    }
}

/// A node's id and the version of its schema, as a row has them.
type SchemaRow = (Option<String>, Option<String>);

/// How many versions of the schema there are. Where all pods changed their addresses at once, Cassandra keeps the old rows
/// of its peers beside the new ones: a node is of the first one's version if one of its rows is.
fn versions(local: &[SchemaRow], peers: &[SchemaRow]) -> usize {
    let own = local.first().cloned().unwrap_or_default();
    let agrees = |id: &Option<String>| {
        *id == own.0
            || peers
                .iter()
                .any(|(other, version)| other == id && *version == own.1)
    };
    let others = peers
        .iter()
        .filter(|(id, version)| version.is_some() && !agrees(id));
    let all: BTreeSet<_> = others.map(|(_, version)| version).chain([&own.1]).collect();
    all.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_addresses_that_are_gone_are_no_other_versions() {
        let row = |id: &str, version: &str| (Some(id.to_owned()), Some(version.to_owned()));
        let own = [row("a", "new")];
        // The old rows of another node and of this one.
        let peers = [row("b", "old"), row("b", "new"), row("a", "old")];
        assert_eq!(versions(&own, &peers), 1);
        assert_eq!(versions(&own, &[row("b", "old"), row("c", "older")]), 3);
        assert_eq!(versions(&own, &[]), 1);
        // Of one that has just joined nothing is known yet.
        assert_eq!(versions(&own, &[(Some("d".to_owned()), None)]), 1);
    }

    #[test]
    fn what_is_asked_shows_no_password_but_to_the_pod() {
        let credentials = Credentials {
            username: "admin".to_owned(),
            password: Secret::new("top"),
        };
        let asked = PodCql::new(vec!["SELECT 1".to_owned()]).by(Some(&credentials));
        assert!(!format!("{asked:?}").contains("top"));
        let role = "CREATE ROLE r\n  WITH PASSWORD = 'top' AND LOGIN = true";
        assert_eq!(
            shown(role),
            "CREATE ROLE r WITH PASSWORD = '***' AND LOGIN = true"
        );
        let role = PodCql::new(vec![role.to_owned()]);
        assert!(!format!("{role:?}").contains("top"));
        let read: PodCql = serde_json::from_str(&asked.text()).expect("JSON");
        assert_eq!(read.password.as_deref(), Some("top"));
        assert!(!read.may_exist && !read.view);
        let few = r#"{"format": "helenus.pod-cql/1", "statements": []}"#;
        assert!(serde_json::from_str::<PodCql>(few).is_ok());
        let other = r#"{"format": "helenus.pod-answer/9", "answers": []}"#;
        assert!(matches!(
            PodAnswer::read(other),
            Err(PodCqlError::Format(_))
        ));
    }
}
