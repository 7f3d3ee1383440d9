//! Secrets as manifests: the superuser, and the credentials of Medusa's bucket.
//! Refuses to find their values: who has read them gives them, and writes the text where only its owner reads it.

use super::plain::resource;
use crate::yaml::document::{Item, Mapping};

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
}
