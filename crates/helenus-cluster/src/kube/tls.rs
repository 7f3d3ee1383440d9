//! The certificates of a cluster in pods: made once, kept as those of local nodes are, and Secrets for the API server.
//! Refuses to print them: their manifests go to kubectl's standard input, or into a file for its owner alone.

use super::{KubeClusters, KubeState, Kubectl, KubectlError};
use crate::error::{Class, Problem};
use crate::secure::{KEYSTORE_PASSWORD, Parties, SecureError, Server, provide_certificates};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fs_err as fs;
use helenus_cql::client::{Tls, TlsError};
use helenus_model::access::{Access, TLS_FOLDER, TlsReference};
use helenus_model::kube::KubePlan;
use helenus_model::kube::names::{LABEL_MAX, label};
use helenus_model::kube::options::Options;
use helenus_model::kube::pod::{AUTHORITY, CERTIFICATE, CERTIFICATE_KEY};
use helenus_model::kube::secret::{TlsFiles, TlsSecret};
use helenus_model::plan::ClusterPlan;
use helenus_model::yaml::document::Mapping;
use std::net::Ipv4Addr;
use std::path::Path;

/// What names the Secrets of a rendering, without what they hold.
pub(super) fn heads(plan: &KubePlan, options: &Options) -> Vec<String> {
    let head = |secret: &TlsSecret| {
        let head = secret.manifest(options.form, options.id.as_deref(), None);
        head.render()
    };
    plan.secrets.iter().map(head).collect()
}

/// The Secrets of a rendering as manifests, with an authority of their own that is kept nowhere.
///
/// # Errors
/// Temporary files cannot be written.
pub fn new_secrets(
    cluster: &ClusterPlan,
    options: &Options,
    plan: &KubePlan,
) -> Result<Vec<Mapping>, SecureError> {
    // Its owner's alone, and gone at the end.
    let folder = tempfile::tempdir().map_err(failed)?;
    secrets(folder.path(), cluster, options, plan)
}

/// The Secrets of a rendering as manifests; their keys lie in `folder`, and are made where they do not.
///
/// # Errors
/// The folder cannot be written or read.
pub(super) fn secrets(
    folder: &Path,
    cluster: &ClusterPlan,
    options: &Options,
    plan: &KubePlan,
) -> Result<Vec<Mapping>, SecureError> {
    if plan.secrets.is_empty() {
        return Ok(Vec::new());
    }
    let folder = folder.join(TLS_FOLDER);
    let parties = Parties {
        cluster: &cluster.name,
        servers: plan.secrets.iter().map(server).collect(),
        client_auth: cluster.security.client_auth,
    };
    provide_certificates(&folder, parties)?;
    let read = |name: &str| match fs::read(folder.join(name)) {
        // A password ends where its line does.
        Ok(bytes) if name == KEYSTORE_PASSWORD => {
            Ok(BASE64_STANDARD.encode(bytes.trim_ascii_end()))
        }
        Ok(bytes) => Ok(BASE64_STANDARD.encode(bytes)),
        Err(source) => Err(failed(source)),
    };
    let (truststore, ca) = (read("truststore.p12")?, read("ca.pem")?);
    let password = read(KEYSTORE_PASSWORD)?;
    let client = match cluster.security.client_auth {
        true => Some((read("client.pem")?, read("client.key")?)),
        false => None,
    };
    let manifest = |secret: &TlsSecret| {
        let files = TlsFiles {
            keystore: &read(&server(secret).keystore())?,
            truststore: &truststore,
            password: &password,
            ca: &ca,
            client: client.as_ref().map(|(own, key)| (&**own, &**key)),
        };
        Ok(secret.manifest(options.form, options.id.as_deref(), Some(&files)))
    };
    plan.secrets.iter().map(manifest).collect()
}

fn failed(source: std::io::Error) -> SecureError {
    SecureError::Io {
        what: "the certificates",
        source,
    }
}

/// The pods of a namespace: they share a certificate, as they share a Secret.
fn server(secret: &TlsSecret) -> Server {
    Server {
        name: format!("{}-keystore", secret.namespace),
        dns: secret.dns.clone(),
        addresses: vec![Ipv4Addr::LOCALHOST],
    }
}

/// Why a Secret of a person's own is of no use.
#[derive(Debug, thiserror::Error)]
pub enum TlsSecretError {
    /// There is none.
    #[error("no Secret {name} in namespace {namespace}")]
    Missing {
        /// The namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Something is missing in it.
    #[error("Secret {namespace}/{name} has no {key}")]
    Lacks {
        /// The namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The key that it lacks.
        key: &'static str,
    },
    /// Java and we read PKCS #8.
    #[error("the key in Secret {namespace}/{name} is not PKCS #8")]
    Key {
        /// The namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// It does not prove who the nodes are.
    #[error("the certificate in Secret {namespace}/{name} is not valid for the nodes of {cluster}")]
    Unproved {
        /// The namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Whose nodes they are.
        cluster: String,
        /// Why not.
        source: Box<TlsError>,
    },
    /// kubectl.
    #[error(transparent)]
    Kubectl(#[from] KubectlError),
    /// The authority cannot be kept.
    #[error("cannot save the certificate authority")]
    Io(#[from] std::io::Error),
}

impl Problem for TlsSecretError {
    fn class(&self) -> Class {
        match self {
            Self::Kubectl(error) => error.class(),
            Self::Io(_) => Class::Environment,
            _ => Class::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        let of_manager = "in cert-manager's Certificate";
        Some(match self {
            Self::Missing { name, .. } => format!(
                "create it first, for example with a cert-manager Certificate that has secretName: {name}; --namespace puts the cluster into an existing namespace"
            ),
            Self::Lacks { key, .. } if *key == AUTHORITY => {
                "issuers of kind CA and SelfSigned write it; for any other, add its certificates there".to_owned()
            }
            Self::Lacks { .. } => format!(
                "a Secret of cert-manager has {CERTIFICATE}, {CERTIFICATE_KEY} and {AUTHORITY}"
            ),
            Self::Key { .. } => format!("write privateKey.encoding: PKCS8 {of_manager}"),
            Self::Unproved { cluster, .. } => {
                format!(
                    "{AUTHORITY} must have signed it, and {cluster} be among the dnsNames {of_manager}"
                )
            }
            Self::Kubectl(error) => return error.hint(),
            Self::Io(_) => "set HELENUS_HOME to a writable folder".to_owned(),
        })
    }
}

/// Looks whether a person's own Secret can be used, and keeps its authority, by which clients know the nodes.
///
/// # Errors
/// It is missing, or does not fit.
pub(super) fn theirs(
    kubectl: &Kubectl,
    folder: &Path,
    state: &KubeState,
    plan: &KubePlan,
) -> Result<(), TlsSecretError> {
    let Some(name) = &state.options.tls_secret else {
        return Ok(());
    };
    for namespace in &plan.namespaces {
        let (namespace, name) = (namespace.clone(), name.clone());
        let words = [
            "get",
            "secret",
            &name,
            "-n",
            &namespace,
            "--ignore-not-found",
        ];
        let secret = kubectl.json(&words, "")?;
        if secret.is_null() {
            return Err(TlsSecretError::Missing { namespace, name });
        }
        let value = |key: &'static str| {
            let text = secret["data"][key].as_str();
            let bytes = text.and_then(|text| BASE64_STANDARD.decode(text).ok());
            bytes.filter(|bytes| !bytes.is_empty()).ok_or_else(|| {
                let (namespace, name) = (namespace.clone(), name.clone());
                TlsSecretError::Lacks {
                    namespace,
                    name,
                    key,
                }
            })
        };
        let (chain, key, ca) = (
            value(CERTIFICATE)?,
            value(CERTIFICATE_KEY)?,
            value(AUTHORITY)?,
        );
        if !String::from_utf8_lossy(&key).contains("-----BEGIN PRIVATE KEY-----") {
            return Err(TlsSecretError::Key { namespace, name });
        }
        let cluster = label(&[state.name()], LABEL_MAX);
        if let Err(source) = Tls::prove(&ca, &chain, &cluster).map_err(Box::new) {
            return Err(TlsSecretError::Unproved {
                namespace,
                name,
                cluster,
                source,
            });
        }
        let folder = folder.join(THEIRS);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(CA), ca)?;
    }
    Ok(())
}

/// Folder of the authority of a person's own certificates, in the cluster's state.
const THEIRS: &str = "tls-secret";

/// The authority in it.
const CA: &str = "ca.pem";

impl KubeClusters {
    /// How one speaks TLS with a cluster that was applied; none where it speaks none.
    pub fn tls(&self, state: &KubeState) -> Option<TlsReference> {
        let folder = self.folder(state.name());
        let name = Some(label(&[state.name()], LABEL_MAX));
        if state.options.tls_secret.is_some() {
            return Some(TlsReference {
                ca: folder.join(THEIRS).join(CA).to_string_lossy().into_owned(),
                client: None,
                name,
            });
        }
        let tls = Access::of(&folder.to_string_lossy(), state.plan.security).tls?;
        Some(TlsReference {
            // A pod's address was not known when its certificate was made.
            name,
            ..tls
        })
    }
}
