//! The certificates of a cluster in pods: made once, kept as those of local nodes are, and Secrets for the API server.
//! Refuses to print them: their manifests go to kubectl's standard input, or into a file for its owner alone.

use super::{KubeClusters, KubeState};
use crate::secure::{KEYSTORE_PASSWORD, Parties, SecureError, Server, provide_certificates};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fs_err as fs;
use helenus_model::access::{Access, TLS_FOLDER, TlsReference};
use helenus_model::kube::KubePlan;
use helenus_model::kube::names::{LABEL_MAX, label};
use helenus_model::kube::options::Options;
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

impl KubeClusters {
    /// How one speaks TLS with a cluster that was applied; none where it speaks none.
    pub fn tls(&self, state: &KubeState) -> Option<TlsReference> {
        let folder = self.folder(state.name());
        let tls = Access::of(&folder.to_string_lossy(), state.plan.security).tls?;
        Some(TlsReference {
            // A pod's address was not known when its certificate was made.
            name: Some(label(&[state.name()], LABEL_MAX)),
            ..tls
        })
    }
}
