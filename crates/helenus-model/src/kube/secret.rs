//! Secrets as manifests: the superuser, the credentials of Medusa's bucket, and the keystores of pods with TLS.
//! Refuses to find their values: who has read them gives them, and writes the text where only its owner reads it.

use super::options::Form;
use super::plain::{labels, resource};
use super::pod::{KEYSTORE, KEYSTORE_PASSWORD, TRUSTSTORE};
use crate::yaml::document::{Item, Mapping};
use serde::Serialize;

/// Who reads a bucket's Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketReader {
    /// The K8ssandra 1.x chart.
    Chart,
    /// k8ssandra-operator.
    Operator,
}

impl BucketReader {
    /// The key that it looks for.
    fn key(self) -> &'static str {
        match self {
            Self::Chart => "medusa_s3_credentials",
            Self::Operator => "credentials",
        }
    }
}

/// The Secret of a superuser: `username` and `password`.
pub fn superuser(name: &str, namespace: Option<&str>, username: &str, password: &str) -> Mapping {
    let data = Mapping::new()
        .set("username", username)
        .set("password", password);
    secret(name, namespace, data)
}

/// The Secret of a bucket: a file as S3's clients read it.
pub fn bucket(
    name: &str,
    namespace: Option<&str>,
    reader: BucketReader,
    key_id: &str,
    key: &str,
) -> Mapping {
    let file = format!("[default]\naws_access_key_id = {key_id}\naws_secret_access_key = {key}");
    let reason = match reader {
        BucketReader::Chart => "the chart looks for this key",
        BucketReader::Operator => "the operator looks for this key",
    };
    secret(
        name,
        namespace,
        Mapping::new().why(reason, reader.key(), Item::Text(file)),
    )
}

/// A Secret with the keystores of the pods in a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TlsSecret {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Names for which the certificate of its pods is; the first is the same in all namespaces of the cluster.
    pub dns: Vec<String>,
}

/// What such a Secret holds, each in base64.
#[derive(Clone, Copy)]
pub struct TlsFiles<'a> {
    /// Certificate and key of the nodes, as PKCS #12.
    pub keystore: &'a str,
    /// The cluster's authority, as PKCS #12.
    pub truststore: &'a str,
    /// Password of both.
    pub password: &'a str,
    /// The cluster's authority, as PEM.
    pub ca: &'a str,
    /// Certificate and key of a client, as PEM, where the nodes want one.
    pub client: Option<(&'a str, &'a str)>,
}

impl TlsSecret {
    /// Its manifest; without `files` only what names it.
    pub fn manifest(&self, form: Form, id: Option<&str>, files: Option<&TlsFiles<'_>>) -> Mapping {
        let instance = self.dns.first().map_or("", String::as_str);
        let metadata = Mapping::new()
            .set("name", self.name.as_str())
            .set("namespace", self.namespace.as_str())
            .set("labels", labels(instance, id));
        let head = resource("v1", "Secret", metadata).set("type", "Opaque");
        let Some(files) = files else { return head };
        let [keystore, password, truststore] = match form {
            Form::Plain | Form::Kustomize => [KEYSTORE, KEYSTORE_PASSWORD, TRUSTSTORE],
            // Where the operator looks for them.
            Form::K8ssandra | Form::CassOperator | Form::HelmValues => {
                ["keystore", "keystore-password", "truststore"]
            }
        };
        let data = Mapping::new()
            .set(keystore, files.keystore)
            .set(truststore, files.truststore)
            .set(password, files.password);
        let data = match form {
            Form::Plain | Form::Kustomize => data,
            _ => data.set("truststore-password", files.password),
        };
        let data = data.why("for clients", CA, files.ca);
        let data = match files.client {
            None => data,
            Some((certificate, key)) => data.set(CLIENT, certificate).set(CLIENT_KEY, key),
        };
        head.set("data", data)
    }
}

/// Key of the authority in such a Secret.
const CA: &str = "ca.pem";

/// Keys of what a client shows.
const CLIENT: &str = "client.pem";
const CLIENT_KEY: &str = "client.key";

fn secret(name: &str, namespace: Option<&str>, data: Mapping) -> Mapping {
    let metadata = Mapping::new()
        .set("name", name)
        .maybe("namespace", namespace);
    resource("v1", "Secret", metadata)
        .set("type", "Opaque")
        .set("stringData", data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_finds_its_key() {
        let chart = bucket("medusa-bucket-key", None, BucketReader::Chart, "ID", "KEY");
        insta::assert_snapshot!(chart.render(), @r"
        apiVersion: v1
        kind: Secret
        metadata:
          name: medusa-bucket-key
        type: Opaque
        stringData:
          # the chart looks for this key
          medusa_s3_credentials: |-
            [default]
            aws_access_key_id = ID
            aws_secret_access_key = KEY
        ");
        let operator = bucket("k", Some("n"), BucketReader::Operator, "ID", "KEY");
        assert!(operator.render().contains("\n  credentials: |-\n"));
        let data = superuser("s", Some("n"), "me", "yes: #1").value();
        assert_eq!(data["stringData"]["password"], "yes: #1");
    }

    #[test]
    fn keystores_are_where_pods_and_operators_look_for_them() {
        let secret = TlsSecret {
            name: "demo-tls".to_owned(),
            namespace: "demo-dc1".to_owned(),
            dns: vec!["demo".to_owned(), "*.demo-dc1.demo-dc1.svc".to_owned()],
        };
        let files = TlsFiles {
            keystore: "Sw==",
            truststore: "VA==",
            password: "UA==",
            ca: "Q0E=",
            client: Some(("Qw==", "Q0s=")),
        };
        let plain = secret.manifest(Form::Plain, Some("x1y2"), Some(&files));
        insta::assert_snapshot!(plain.render(), @r#"
        apiVersion: v1
        kind: Secret
        metadata:
          name: demo-tls
          namespace: demo-dc1
          labels:
            app.kubernetes.io/name: cassandra
            app.kubernetes.io/instance: demo
            app.kubernetes.io/managed-by: helenus
            helenus.io/id: x1y2
        type: Opaque
        data:
          keystore.p12: "Sw=="
          truststore.p12: "VA=="
          keystore.password: "UA=="
          # for clients
          ca.pem: "Q0E="
          client.pem: "Qw=="
          client.key: "Q0s="
        "#);
        let open = TlsFiles {
            client: None,
            ..files
        };
        let operators = secret.manifest(Form::K8ssandra, None, Some(&open)).value();
        let keys: Vec<&String> = operators["data"]
            .as_object()
            .expect("a map")
            .keys()
            .collect();
        let wanted = [
            "ca.pem",
            "keystore",
            "keystore-password",
            "truststore",
            "truststore-password",
        ];
        assert_eq!(keys, wanted);
        let head = secret.manifest(Form::Plain, None, None).value();
        assert!(head.get("data").is_none(), "{head}");
    }
}
