//! The class-data archive: what a start would parse, mapped instead. Made by a training start of its own.
//! Refuses an archive of another release, JVM, collector, module flags or set of jars: each has its own name.

use crate::alive;
use crate::cancel::Cancel;
use crate::launch::{self, LaunchOptions, Started};
use crate::lock;
use crate::process;
use crate::reach;
use crate::ready::{self, ReadyError};
use crate::state::{ClusterState, Runtime};
use flate2::Crc;
use fs_err as fs;
use helenus_cql::client::Client;
use helenus_cql::codec::Consistency;
use helenus_model::access::{Access, Security};
use helenus_model::hex::hex;
use helenus_model::plan::{
    Folders, NodePlan, Training, dump_argv, launcher_manifest, shapes_archive, without_security,
};
use helenus_model::release::Release;
use helenus_model::yaml;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Longest wait for the training start to be ready, and for its archive to be written.
pub(crate) const TRAINING_WITHIN: Duration = Duration::from_secs(180);

/// Longest wait for the answer to a statement of the training.
const TEACH_WITHIN: Duration = Duration::from_secs(10);

/// Between two looks at whether another helenus has finished the same training.
const LOCK_LOOK_EVERY: Duration = Duration::from_millis(50);

/// Statements of the training: what a first user does, so that its classes are in the archive.
const LESSON: [&str; 7] = [
    "CREATE KEYSPACE helenus_training WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE helenus_training.t (k blob PRIMARY KEY, v text)",
    "INSERT INTO helenus_training.t (k, v) VALUES (0x01, 'a')",
    "SELECT k, v FROM helenus_training.t WHERE k = 0x01",
    "SELECT peer FROM system.peers_v2",
    "TRUNCATE helenus_training.t",
    "DROP KEYSPACE helenus_training",
];

/// Why no archive could be made; a start continues without one.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The training start failed.
    #[error("the training start failed")]
    Training(#[from] ReadyError),
    /// The JVM wrote no archive.
    #[error("the JVM wrote no class-data archive")]
    Nothing,
    /// Files.
    #[error("cannot write the class-data archive")]
    Io(#[from] io::Error),
}

/// Whether a JDK of this feature number has archives of an application's own classes (JEP 310; free of charge).
pub const fn can(jdk_feature: u32) -> bool {
    jdk_feature >= 10
}

/// Whether a JDK that this release supports has them; of a release that is not known yet, yes.
pub fn of_release(version: &str) -> bool {
    let none = |release: &'static Release| release.supported_jdks.iter().all(|jdk| !can(*jdk));
    !Release::facts_for(version).is_ok_and(none)
}

/// Name of the archive of this runtime: changes with everything that the JVM would refuse it for.
pub fn key(runtime: &Runtime, jvm_flags: &[String]) -> String {
    let mut hash = Sha256::new();
    hash.update(runtime.jvm.as_bytes());
    hash.update(runtime.java.to_string_lossy().as_bytes());
    hash.update(runtime.launcher.to_string_lossy().as_bytes());
    for jar in &runtime.jars {
        hash.update(jar.to_string_lossy().as_bytes());
        let size = fs::metadata(jar).map(|m| m.len()).unwrap_or_default();
        hash.update(size.to_le_bytes());
    }
    for flag in &runtime.module_flags {
        hash.update(flag.as_bytes());
    }
    for flag in jvm_flags.iter().filter(|f| shapes_archive(f)) {
        hash.update(flag.as_bytes());
    }
    hex(&hash.finalize()[..8])
}

/// Path of the archive of this key, there or not.
pub fn path(cache: &Path, release: &str, key: &str) -> PathBuf {
    cache.join("archives").join(format!("{release}-{key}.jsa"))
}

/// Makes the launcher: a folder with links to the jars and one jar of our own, whose manifest carries class
/// path, main class and module flags. Returns that jar.
///
/// The manifest names the jars by bare names in one folder: with whole URLs the JVM does not use the archive
/// (measured: 0.58 instead of 0.40 of the CPU of a plain start). The folder is named after its contents and
/// never changes, as the archive needs.
///
/// # Errors
/// The cache cannot be written.
pub fn launcher(cache: &Path, jars: &[PathBuf], module_flags: &[String]) -> io::Result<PathBuf> {
    let names: Vec<String> = jars
        .iter()
        .filter_map(|jar| Some(jar.file_name()?.to_string_lossy().replace(' ', "%20")))
        .collect();
    let jar = launcher_jar(&names, module_flags);
    let mut hash = Sha256::new();
    hash.update(&jar);
    jars.iter()
        .for_each(|jar| hash.update(jar.to_string_lossy().as_bytes()));
    let name = hex(&hash.finalize()[..8]);
    let folder = cache.join("launchers").join(name);
    let launcher = folder.join("helenus-launcher.jar");
    if launcher.exists() {
        return Ok(launcher);
    }
    fs::create_dir_all(cache.join("launchers"))?;
    let half_made = tempfile::tempdir_in(cache.join("launchers"))?;
    for path in jars {
        let link = half_made.path().join(path.file_name().unwrap_or_default());
        fs::os::unix::fs::symlink(path, link)?;
    }
    fs::write(half_made.path().join("helenus-launcher.jar"), &jar)?;
    match fs::rename(half_made.path(), &folder) {
        Ok(()) => {
            let _moved_away = half_made.keep();
            Ok(launcher)
        }
        // Another helenus made the same one meanwhile.
        Err(_) if launcher.exists() => Ok(launcher),
        Err(error) => Err(error),
    }
}

/// The jar of our own; the names of the others are seen from where it lies.
pub(crate) fn launcher_jar(names: &[String], module_flags: &[String]) -> Vec<u8> {
    let main_class = "org.apache.cassandra.service.CassandraDaemon";
    let manifest = launcher_manifest(main_class, names, module_flags);
    stored_zip("META-INF/MANIFEST.MF", manifest.as_bytes())
}

/// A zip file with one entry, stored, dated 1980 so that equal contents are equal bytes.
fn stored_zip(name: &str, contents: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(contents);
    let size = (contents.len() as u32).to_le_bytes();
    let mut fields = Vec::new();
    fields.extend([10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0]);
    fields.extend(crc.sum().to_le_bytes());
    fields.extend(size);
    fields.extend(size);
    fields.extend((name.len() as u16).to_le_bytes());
    fields.extend([0, 0]);
    let mut zip = b"PK\x03\x04".to_vec();
    zip.extend(&fields);
    zip.extend(name.as_bytes());
    zip.extend(contents);
    let directory_at = zip.len() as u32;
    zip.extend(b"PK\x01\x02\x14\x00");
    zip.extend(&fields);
    zip.extend([0; 12]);
    zip.extend(0_u16.to_le_bytes());
    zip.extend(name.as_bytes());
    let directory_size = zip.len() as u32 - directory_at;
    zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend(directory_size.to_le_bytes());
    zip.extend(directory_at.to_le_bytes());
    zip.extend([0, 0]);
    zip
}

/// Makes the archive at `target` unless another process just did: one training start, stopped again.
///
/// # Errors
/// The training fails, the JVM writes nothing, or the person asked to stop.
pub fn train(
    state: &ClusterState,
    helenus: &Path,
    target: &Path,
    cancel: &Cancel,
) -> Result<(), ArchiveError> {
    let folder = target.parent().unwrap_or(target);
    fs::create_dir_all(folder)?;
    let file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(target.with_extension("lock"))?;
    while !lock::take(&file)? {
        if cancel.is_set() {
            return Err(ReadyError::Interrupted.into());
        }
        std::thread::sleep(LOCK_LOOK_EVERY);
    }
    if target.exists() {
        return Ok(());
    }
    let mut pupil = state.clone();
    let scratch = PathBuf::from(&state.plan.folder).join("training");
    pupil.plan.nodes.truncate(1);
    pupil.plan.nodes[0] = alone(&state.plan.nodes[0], &scratch);
    // One archive for secured clusters and open ones: whoever is first, it holds the same classes.
    pupil.access = Access::default();
    if !pupil.plan.security.is_open() {
        pupil.plan.nodes[0].yaml = without_security(&pupil.plan.nodes[0].yaml);
        pupil.plan.security = Security::default();
    }
    let half_done = target.with_extension("tmp");
    // The lock is ours: what is there was left by a helenus that was killed.
    let _none_left = fs::remove_file(&half_done);
    let result = lesson(&pupil, helenus, &half_done, cancel);
    let _best_effort = fs::remove_dir_all(&scratch);
    match result {
        Ok(()) => Ok(fs::rename(&half_done, target)?),
        Err(error) => {
            let _never_made = fs::remove_file(&half_done);
            Err(error)
        }
    }
}

/// The first node, in a folder of its own and with nobody to talk to.
pub(crate) fn alone(node: &NodePlan, scratch: &Path) -> NodePlan {
    let mut node = node.clone();
    let scratch = scratch.to_string_lossy().into_owned();
    let folders = node.folders.all().into_iter().chain([node.folder.as_str()]);
    let yaml = folders.fold(node.yaml.clone(), |yaml, folder| {
        yaml.replace(&yaml::inside(folder), &yaml::inside(&scratch))
    });
    node.yaml = yaml;
    node.folders = Folders::default();
    node.pin = None;
    let seeds = format!("{{seeds: \"{}\"}}", node.address);
    node.yaml = node
        .yaml
        .lines()
        .map(|line| match line.find("{seeds:") {
            Some(at) => {
                let rest = line[at..].find('}').map_or("", |end| &line[at + end + 1..]);
                format!("{}{seeds}{rest}\n", &line[..at])
            }
            None => format!("{line}\n"),
        })
        .collect();
    node.folder = scratch;
    node
}

fn lesson(
    pupil: &ClusterState,
    helenus: &Path,
    target: &Path,
    cancel: &Cancel,
) -> Result<(), ArchiveError> {
    let node = &pupil.plan.nodes[0];
    launch::write_files(pupil, node)?;
    let options = LaunchOptions {
        helenus: helenus.to_owned(),
        leashed: true,
        train: Some(target.to_owned()),
    };
    let mut started = [launch::start(pupil, node, &options)?];
    let taught = ready::wait(
        pupil,
        &BTreeSet::from([node.name.clone()]),
        &mut started,
        TRAINING_WITHIN,
        cancel,
        &mut |_| {},
    )
    .map(|_| teach(pupil));
    let [started] = started;
    end(started, taught.is_ok() && !cancel.is_set());
    taught?;
    if cancel.is_set() {
        return Err(ReadyError::Interrupted.into());
    }
    let archive = target.to_string_lossy();
    if let Training::ClassList(list) = Training::on(pupil.runtime.jdk_feature, &archive) {
        dump(pupil, &list, &archive)?;
    }
    if target.exists() {
        Ok(())
    } else {
        Err(ArchiveError::Nothing)
    }
}

/// Makes the archive from a class list, on a JDK that cannot write one at exit.
fn dump(pupil: &ClusterState, list: &str, archive: &str) -> Result<(), ArchiveError> {
    let launcher = pupil.runtime.launcher.to_string_lossy();
    let output = Command::new(&pupil.runtime.java)
        .args(dump_argv(
            &pupil.plan.nodes[0].jvm,
            list,
            archive,
            &launcher,
        ))
        .output();
    let _list_is_done_with = fs::remove_file(list);
    let output = output?;
    tracing::info!(status = %output.status, "class-data dump");
    Ok(())
}

fn teach(pupil: &ClusterState) {
    let node = &pupil.plan.nodes[0];
    match reach::connect(pupil, node, TEACH_WITHIN) {
        Ok(mut client) => recite(&mut client),
        Err(error) => tracing::warn!(%error, "the training node does not answer"),
    }
}

/// Each statement may fail: the archive is then a little smaller.
pub(crate) fn recite(client: &mut Client) {
    for statement in LESSON {
        if let Err(error) = client.query(statement, Consistency::One) {
            tracing::warn!(%error, statement, "a training statement failed");
        }
    }
}

fn end(mut started: Started, gently: bool) {
    if let Ok(Some(pid)) = alive::holder(&started.folder) {
        let within = if gently {
            TRAINING_WITHIN
        } else {
            Duration::ZERO
        };
        process::end(pid, within);
    } else {
        let _already_gone = started.child.kill();
    }
    let _status = started.child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_writes_into_its_own_folder_whatever_that_is_called() {
        let folder = "/he\"le nus's \\/node1";
        let yaml = serde_json::json!({"data_file_directories": [format!("{folder}/data")]});
        let node: NodePlan = serde_json::from_value(serde_json::json!({
            "name": "node1", "address": "127.0.0.1", "data_center": "d", "rack": "r",
            "tokens": [], "folder": folder, "yaml": helenus_model::yaml::render(&yaml),
            "jvm": [], "environment": {}
        }))
        .unwrap();
        let pupil = alone(&node, Path::new("/tmp/\"x\""));
        let read = helenus_model::yaml::parse(&pupil.yaml).unwrap();
        assert_eq!(read["data_file_directories"][0], "/tmp/\"x\"/data");
    }

    #[test]
    fn the_launcher_is_a_jar_that_equal_contents_share() {
        let cache = tempfile::tempdir().unwrap();
        let jars = [PathBuf::from("/x/a b.jar"), PathBuf::from("/y/c.jar")];
        let flags = ["--add-opens=java.base/java.lang=ALL-UNNAMED".to_owned()];
        let one = launcher(cache.path(), &jars, &flags).unwrap();
        assert_eq!(one, launcher(cache.path(), &jars, &flags).unwrap());
        let text = String::from_utf8_lossy(&fs::read(&one).unwrap()).into_owned();
        assert!(text.starts_with("PK\u{3}\u{4}"));
        assert!(text.contains("Class-Path: a%20b.jar c.jar\r\n"), "{text}");
        let link = one.with_file_name("c.jar");
        assert_eq!(fs::read_link(link).unwrap(), Path::new("/y/c.jar"));
    }

    #[test]
    fn releases_of_java_8_alone_have_no_archive() {
        assert!(!of_release("3.11.5"));
        assert!(of_release("4.0.19") && of_release("5.0.9") && of_release("9.9"));
    }
}
