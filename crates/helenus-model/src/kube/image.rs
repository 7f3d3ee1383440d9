//! A container image as JSON: its configuration, its manifest, and the indexes by which engines find them in a tar file.
//! Refuses to read or pack anything: digests and sizes are given.

use super::pod::{JAVA_FOLDER, LAUNCHER, USER_ID};
use crate::release::Arch;
use serde_json::{Value, json};
use std::fmt;

/// When everything in an image was last changed, in seconds since 1970: equal contents are equal bytes, and HotSpot
/// compares the seconds of jars (0 means none to it).
pub const STAMP: u64 = 946_684_800;

/// The same in words.
const CREATED: &str = "2000-01-01T00:00:00Z";

/// The file that marks an OCI image layout.
pub const OCI_LAYOUT: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;

/// Name and tag of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageName {
    whole: String,
    tag: String,
}

/// Why a text names no image.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is not NAME:TAG: write lower-case letters, digits, and any of . _ - /, such as localhost/cassandra:5.0"
)]
pub struct ImageNameError(String);

impl ImageName {
    /// Reads `NAME:TAG`.
    ///
    /// # Errors
    /// Anything that an engine would refuse, or that has no tag.
    pub fn parse(text: &str) -> Result<Self, ImageNameError> {
        let of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-/:".contains(c);
        let of_tag = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let ends = |c: char| c.is_ascii_alphanumeric();
        let parts = text.rsplit_once(':').filter(|(name, tag)| {
            let fits = name.chars().all(of_name) && tag.chars().all(of_tag);
            fits && name.starts_with(ends) && name.ends_with(ends) && tag.starts_with(ends)
        });
        let (_, tag) = parts.ok_or_else(|| ImageNameError(text.to_owned()))?;
        Ok(Self {
            whole: text.to_owned(),
            tag: tag.to_owned(),
        })
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.whole)
    }
}

/// A file of an image, found by its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// Its SHA-256, 64 lower-case hexadecimal digits.
    pub digest: String,
    /// Its size in bytes.
    pub size: u64,
}

impl Blob {
    /// Its place in the tar file.
    pub fn path(&self) -> String {
        format!("blobs/sha256/{}", self.digest)
    }

    fn descriptor(&self, kind: &str) -> Value {
        json!({
            "mediaType": format!("application/vnd.oci.image.{kind}"),
            "digest": format!("sha256:{}", self.digest),
            "size": self.size,
        })
    }
}

/// A layer of an image, packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// As it is in the image: compressed.
    pub blob: Blob,
    /// SHA-256 of its tar file before it was compressed.
    pub diff_id: String,
    /// What it holds.
    pub holds: String,
}

/// The configuration of an image: the launcher starts a node, as Cassandra's user.
pub fn config(arch: Arch, release: &str, layers: &[Layer]) -> String {
    let diff_ids: Vec<String> = layers
        .iter()
        .map(|layer| format!("sha256:{}", layer.diff_id))
        .collect();
    let history: Vec<Value> = layers
        .iter()
        .map(|layer| {
            json!({
                "created": CREATED,
                "created_by": "helenus kube image",
                "comment": layer.holds,
            })
        })
        .collect();
    json!({
        "created": CREATED,
        "architecture": architecture(arch),
        "os": "linux",
        "config": {
            "User": format!("{USER_ID}:{USER_ID}"),
            "Env": [
                format!("PATH=/usr/local/bin:{JAVA_FOLDER}/bin"),
                format!("JAVA_HOME={JAVA_FOLDER}"),
                "LANG=C.UTF-8".to_owned(),
            ],
            "Entrypoint": [LAUNCHER, "__pod", "start"],
            "WorkingDir": "/",
            "Labels": {
                "org.opencontainers.image.title": "Apache Cassandra",
                "org.opencontainers.image.version": release,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": diff_ids},
        "history": history,
    })
    .to_string()
}

/// The manifest of an image.
pub fn manifest(config: &Blob, layers: &[Layer]) -> String {
    let of = |layer: &Layer| layer.blob.descriptor("layer.v1.tar+gzip");
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor("config.v1+json"),
        "layers": layers.iter().map(of).collect::<Vec<Value>>(),
    })
    .to_string()
}

/// The index of an OCI image layout with one image.
pub fn index(arch: Arch, name: &ImageName, manifest: &Blob) -> String {
    let mut entry = manifest.descriptor("manifest.v1+json");
    entry["platform"] = json!({"architecture": architecture(arch), "os": "linux"});
    entry["annotations"] = json!({
        "org.opencontainers.image.ref.name": name.tag,
        "io.containerd.image.name": name.whole,
    });
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry],
    })
    .to_string()
}

/// The same for engines that know Docker's archives only.
pub fn docker_manifest(name: &ImageName, config: &Blob, layers: &[Layer]) -> String {
    let paths: Vec<String> = layers.iter().map(|layer| layer.blob.path()).collect();
    json!([{"Config": config.path(), "RepoTags": [name.whole], "Layers": paths}]).to_string()
}

/// The processor as images name it.
fn architecture(arch: Arch) -> &'static str {
    match arch {
        Arch::X86_64 => "amd64",
        Arch::Aarch64 => "arm64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(digest: &str) -> Blob {
        Blob {
            digest: digest.to_owned(),
            size: 10,
        }
    }

    fn layers() -> Vec<Layer> {
        let layer = |name: &str| Layer {
            blob: blob(&format!("gz-{name}")),
            diff_id: format!("tar-{name}"),
            holds: name.to_owned(),
        };
        vec![layer("a"), layer("b")]
    }

    fn read(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn names_have_a_tag() {
        let name = ImageName::parse("localhost:5000/x/cassandra:5.0.9-rc1_A").expect("a name");
        assert_eq!(name.tag, "5.0.9-rc1_A");
        assert_eq!(name.to_string(), "localhost:5000/x/cassandra:5.0.9-rc1_A");
        for wrong in [
            "cassandra",
            "Cassandra:5",
            "c:",
            ":5",
            "localhost:5000/c",
            "c:-",
        ] {
            assert!(ImageName::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_file_is_found_by_its_digest() {
        let name = ImageName::parse("localhost/c:5.0.9").expect("a name");
        let index = read(&index(Arch::X86_64, &name, &blob("m")));
        let entry = &index["manifests"][0];
        assert_eq!(entry["digest"], "sha256:m");
        assert_eq!(entry["size"], 10);
        assert_eq!(entry["platform"]["architecture"], "amd64");
        let names = &entry["annotations"];
        assert_eq!(names["org.opencontainers.image.ref.name"], "5.0.9");
        assert_eq!(names["io.containerd.image.name"], "localhost/c:5.0.9");
        let manifest = read(&manifest(&blob("c"), &layers()));
        assert_eq!(manifest["config"]["digest"], "sha256:c");
        assert_eq!(manifest["layers"][1]["digest"], "sha256:gz-b");
        let media_type = "application/vnd.oci.image.layer.v1.tar+gzip";
        assert_eq!(manifest["layers"][1]["mediaType"], media_type);
        let docker = read(&docker_manifest(&name, &blob("c"), &layers()));
        assert_eq!(docker[0]["Config"], "blobs/sha256/c");
        assert_eq!(docker[0]["RepoTags"][0], "localhost/c:5.0.9");
        assert_eq!(docker[0]["Layers"][0], "blobs/sha256/gz-a");
    }

    #[test]
    fn the_launcher_runs_as_cassandra_s_user() {
        let config = read(&config(Arch::Aarch64, "5.0.9", &layers()));
        assert_eq!(config["architecture"], "arm64");
        assert_eq!(config["config"]["User"], "999:999");
        assert_eq!(config["config"]["Entrypoint"][0], LAUNCHER);
        assert_eq!(config["rootfs"]["diff_ids"][1], "sha256:tar-b");
        assert_eq!(config["history"][0]["comment"], "a");
    }
}
