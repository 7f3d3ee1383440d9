//! What somebody else needs to understand clusters: their configuration, settings, states and logs, packed without secrets.
//! Refuses keys, certificates, passwords and data: only files that are named here are read.

use crate::paths::Paths;
use crate::state::ClusterState;
use crate::stored::there;
use flate2::Compression;
use flate2::write::GzEncoder;
use fs_err as fs;
use helenus_model::secret::without_secrets;
use helenus_model::units::Bytes;
use serde::Serialize;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use tar::{Builder, Header};

/// Files of a node that say how it was started.
const OF_NODE: [&str; 4] = [
    "conf/cassandra.yaml",
    "conf/cassandra-rackdc.properties",
    "conf/logback.xml",
    "launch.json",
];

/// A file for the archive.
#[derive(Debug, Clone, Serialize)]
pub struct Item {
    /// Its path in the archive.
    pub path: String,
    /// Its size in the archive, in bytes, before it is compressed.
    pub bytes: Bytes,
    /// What was left out of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    #[serde(skip)]
    text: String,
}

impl Item {
    /// A text with its secrets masked.
    pub fn text(path: impl Into<String>, text: &str) -> Self {
        let text = without_secrets(text);
        Self {
            path: path.into(),
            bytes: Bytes(text.len() as u64),
            left_out: None,
            text,
        }
    }

    /// The last `most` bytes of a file, from a whole line on.
    fn end_of(path: String, file: &Path, most: Bytes) -> io::Result<Self> {
        let mut opened = fs::File::open(file)?;
        let length = opened.metadata()?.len();
        let from = length.saturating_sub(most.0);
        opened.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        // One that grows is as long as it was.
        opened.take(length - from).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let cut = if from == 0 {
            0
        } else {
            // Half of a line may be a secret whose name is not there.
            text.find('\n').map_or(text.len(), |at| at + 1)
        };
        let item = Self::text(path, &text[cut..]);
        let left_out = (from > 0).then(|| format!("all but the last {most} of {}", Bytes(length)));
        Ok(Self { left_out, ..item })
    }
}

/// What there is of a cluster, in the order in which it is packed; of each log at most so many bytes from its end.
///
/// # Errors
/// A file that is there cannot be read.
pub fn of_cluster(state: &ClusterState, most: Bytes) -> io::Result<Vec<Item>> {
    let name = &state.plan.name;
    let json = serde_json::to_string_pretty(state).map_err(io::Error::other)?;
    let mut items = vec![Item::text(format!("clusters/{name}/cluster.json"), &json)];
    for node in &state.plan.nodes {
        let folder = Path::new(&node.folder);
        let within = |file: &str| format!("clusters/{name}/{}/{file}", node.name);
        for file in OF_NODE {
            items.extend(there(Item::end_of(
                within(file),
                &folder.join(file),
                Bytes(u64::MAX),
            ))?);
        }
        let mut logs: Vec<String> = fs::read_dir(folder.join("logs"))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|file| is_log(file))
            .collect();
        logs.sort();
        for log in logs {
            let file = format!("logs/{log}");
            items.extend(there(Item::end_of(
                within(&file),
                &folder.join(&file),
                most,
            ))?);
        }
    }
    Ok(items)
}

/// Helenus's own log, at most so many bytes of its end; none where there is none.
///
/// # Errors
/// It cannot be read.
pub fn own_log(paths: &Paths, most: Bytes) -> io::Result<Option<Item>> {
    let file = paths.state.join("helenus.log");
    there(Item::end_of("helenus.log".to_owned(), &file, most))
}

/// Logs of Cassandra and of its JVM; not those that were rolled and compressed.
fn is_log(file: &str) -> bool {
    let jvm = file.starts_with("gc.log");
    jvm || Path::new(file).extension().is_some_and(|end| end == "log")
}

/// A `.tar.gz` of these, below a folder of that name; equal items make equal bytes.
///
/// # Errors
/// A path is too long for the form.
pub fn pack(name: &str, items: &[Item]) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for item in items {
        let mut header = Header::new_gnu();
        header.set_size(item.text.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        let path = format!("{name}/{}", item.path);
        archive.append_data(&mut header, path, item.text.as_bytes())?;
    }
    archive.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn unpacked(bytes: &[u8]) -> BTreeMap<String, String> {
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
        let entries = archive.entries().expect("an archive");
        entries
            .map(|entry| {
                let mut entry = entry.expect("an entry");
                let path = entry.path().expect("a path").display().to_string();
                let mut text = String::new();
                entry.read_to_string(&mut text).expect("a text");
                (path, text)
            })
            .collect()
    }

    #[test]
    fn logs_are_cut_at_a_line_and_secrets_are_masked() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("system.log");
        fs::write(
            &file,
            "first line\nsecond line\nkeystore_password: hunter2\n",
        )
        .expect("a file");
        let whole = Item::end_of("system.log".into(), &file, Bytes(1000)).expect("read");
        assert!(whole.left_out.is_none());
        let cut = Item::end_of("cut.log".into(), &file, Bytes(35)).expect("read");
        assert_eq!(
            cut.left_out.as_deref(),
            Some("all but the last 35 B of 50 B")
        );
        let packed = pack("c", &[whole, cut]).expect("packed");
        let files = unpacked(&packed);
        assert_eq!(files["c/cut.log"], "keystore_password: ***\n");
        assert!(files["c/system.log"].starts_with("first line\nsecond"));
        assert!(files.values().all(|text| !text.contains("hunter2")));
        let open = folder.path().join("open.log");
        fs::write(&open, "first line\nkeystore_password: hunter2").expect("a file");
        let half = Item::end_of("open.log".into(), &open, Bytes(5)).expect("read");
        assert_eq!((half.text.as_str(), half.bytes), ("", Bytes(0)));
        let again = [
            Item::end_of("system.log".into(), &file, Bytes(1000)).expect("read"),
            Item::end_of("cut.log".into(), &file, Bytes(35)).expect("read"),
        ];
        assert_eq!(packed, pack("c", &again).expect("packed"));
    }

    #[test]
    fn what_is_not_there_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let gone = Item::end_of("x".into(), &folder.path().join("x"), Bytes(10));
        assert!(there(gone).expect("no error").is_none());
        let wanted = ["system.log", "gc.log.0.current", "console.log"];
        assert!(wanted.iter().all(|file| is_log(file)));
        assert!(
            !["system.log.1.zip", "keystore.p12"]
                .iter()
                .any(|file| is_log(file))
        );
    }
}
