//! Medusa on each node: backup, verification and restore, by its own command line.
//! Refuses to copy data by itself, and to call a backup one that has no files.

use super::process::{ask, medusa};
use super::tables::{self, Compared, compare};
use super::{StackError, folder, folder_of, load, unreadable};
use crate::attach::write_private;
use crate::context::Context;
use crate::error::ClusterError;
use crate::event::Event;
use crate::launch;
use crate::marks::Work;
use crate::process::ended;
use crate::state::ClusterState;
use crate::stored::{self, there};
use crate::wall::since_1970;
use fs_err as fs;
use helenus_model::format::Format;
use helenus_model::plan::NodePlan;
use helenus_model::stack::{MedusaNode, Part, Stack, Storage};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

/// The version of what is known of a backup.
const BACKUP_VERSION: u32 = 1;
/// Folder of what is known of backups.
const RECORDS: &str = "saved";
/// Between two looks at a program.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Lines of Medusa in an error.
const LINES: usize = 8;
/// Longest wait for nodes that stop.
const STOP_WITHIN: Duration = Duration::from_secs(60);
/// What moto takes as credentials: anything.
const CREDENTIALS: &str =
    "[default]\naws_access_key_id = helenus\naws_secret_access_key = helenus\n";

/// What is known of a backup beside Medusa's own files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    /// `helenus.stack-backup/1`.
    pub format: Format,
    /// Its name.
    pub name: String,
    /// The cluster that was saved.
    pub cluster: String,
    /// Random id of that cluster: one of the same name later is another.
    pub cluster_id: String,
    /// Release of Cassandra.
    pub release: String,
    /// Seconds since 1970 at which it began.
    pub at_unix: u64,
    /// Nodes with data.
    pub nodes: Vec<SavedNode>,
    /// Tables with rows and checksums, read just before.
    pub tables: Vec<SavedTable>,
}

/// A node that was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedNode {
    /// Name.
    pub name: String,
    /// Address, by which Medusa names it.
    pub address: Ipv4Addr,
    /// Its tokens.
    pub tokens: Vec<i64>,
    /// Files that Medusa copied.
    pub files: u64,
}

/// A table that was saved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedTable {
    /// `keyspace.table`.
    pub table: String,
    /// Rows.
    pub rows: u64,
    /// Sum of the rows' hashes, sixteen hexadecimal digits.
    pub checksum: String,
}

/// What happens during a backup or a restore.
#[derive(Debug)]
pub enum MedusaEvent {
    /// A table is read for its checksum: so many of so many are done.
    Reading {
        /// Table.
        table: String,
        /// Tables that are done.
        done: usize,
        /// Tables in all.
        of: usize,
    },
    /// Medusa works on so many nodes; so many are done.
    Nodes {
        /// Its verb.
        what: &'static str,
        /// Nodes that are done.
        done: usize,
        /// Nodes in all.
        of: usize,
    },
    /// Nodes stop or start, and parts of the stack.
    Cluster(Event),
}

/// What a restore is asked for.
#[derive(Debug, Clone)]
pub struct Restore<'a> {
    /// The backup.
    pub backup: &'a Backup,
    /// The cluster that was saved.
    pub from: &'a ClusterState,
    /// The cluster that it comes back to.
    pub into: &'a str,
    /// Longest wait for nodes that start.
    pub ready_within: Duration,
}

/// Beside the backups where they outlive the cluster: one of the same name and shape finds them again.
fn records(state: &ClusterState) -> Result<PathBuf, ClusterError> {
    let elsewhere = super::find(state)?.and_then(|stack| stack.request.backups);
    Ok(match elsewhere {
        Some(backups) => Path::new(&backups).join(format!("{RECORDS}-{}", state.plan.name)),
        None => folder(Path::new(&state.plan.folder)).join(RECORDS),
    })
}

/// The backups of a cluster, by name.
///
/// # Errors
/// Their records cannot be read.
pub fn backups(state: &ClusterState) -> Result<Vec<Backup>, ClusterError> {
    records_in(&records(state)?)
}

/// What is known of the backups in a folder.
fn records_in(folder: &Path) -> Result<Vec<Backup>, ClusterError> {
    let mut all = Vec::new();
    let entries = there(fs::read_dir(folder)).map_err(StackError::io("the stack's folder"))?;
    for entry in entries.into_iter().flatten() {
        let path = entry.map_err(StackError::io("the stack's folder"))?.path();
        // A command that was killed may have left a half-written record under another name.
        if path.extension().is_none_or(|kind| kind != "json") {
            continue;
        }
        let backup: Backup =
            stored::read(&path, "stack-backup", BACKUP_VERSION).map_err(unreadable)?;
        all.push(backup);
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// The backup of that name.
///
/// # Errors
/// There is none.
pub fn backup_named(state: &ClusterState, name: &str) -> Result<Backup, ClusterError> {
    let mut all = backups(state)?;
    let known = all.iter().map(|backup| backup.name.clone()).collect();
    match all.iter().position(|backup| backup.name == name) {
        Some(at) => Ok(all.swap_remove(at)),
        None => Err(StackError::Backup {
            cluster: state.plan.name.clone(),
            name: name.to_owned(),
            exists: false,
            known,
        }
        .into()),
    }
}

/// Medusa for the nodes of one cluster.
struct Medusa<'a> {
    context: &'a Context,
    program: PathBuf,
    stack: Stack,
    /// Where the backups are.
    storage: Storage,
    /// The stack's folder of Medusa.
    home: PathBuf,
    state: &'a ClusterState,
}

impl<'a> Medusa<'a> {
    /// With the storage of a stack, which may be another cluster's.
    fn of(
        context: &'a Context,
        owner: &ClusterState,
        state: &'a ClusterState,
    ) -> Result<Self, ClusterError> {
        let stack = load(owner)?;
        tables::has(&stack, owner, Part::Medusa)?;
        let program = medusa(context).ok_or_else(|| StackError::Part {
            part: Part::Medusa.as_str(),
            what: "is not installed".to_owned(),
            lines: Vec::new(),
        })?;
        let home = folder_of(Path::new(&owner.plan.folder), Part::Medusa);
        let own = home.to_string_lossy().into_owned();
        Ok(Self {
            context,
            program,
            storage: stack.storage(&own),
            stack,
            home,
            state,
        })
    }

    /// Starts Medusa on a node, which was saved as `saved_as`.
    fn start(
        &self,
        node: &NodePlan,
        saved_as: Ipv4Addr,
        words: &[&str],
    ) -> std::io::Result<Running> {
        let work = self
            .home
            .join(format!("{}-{}", self.state.plan.name, node.name));
        fs::create_dir_all(&work)?;
        let key = work.join("key");
        let keyed = match &self.storage {
            Storage::S3(_) => {
                write_private(&key, CREDENTIALS)?;
                Some(key.to_string_lossy().into_owned())
            }
            Storage::Local(folder) => {
                fs::create_dir_all(folder)?;
                None
            }
        };
        let yaml = Path::new(&node.folder).join("conf/cassandra.yaml");
        let ini = self.stack.medusa_ini(
            &MedusaNode {
                yaml: &yaml.to_string_lossy(),
                address: node.address,
                saved_as,
                key_file: keyed.as_deref(),
            },
            &self.storage,
        );
        let file = work.join("medusa.ini");
        fs::write(&file, ini)?;
        let log = work.join("log");
        let output = fs::File::create(&log)?.into_parts().0;
        let child = self
            .context
            .env
            .leashed(&self.program)
            .arg("--config-file")
            .arg(&file)
            .args(words)
            .env("PATH", self.path(node))
            // Its mark of work under way lies there: one for each node.
            .env("TMPDIR", &work)
            .current_dir(&work)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        Ok(Running {
            node: node.name.clone(),
            child,
            log,
        })
    }

    /// The folder with the node's nodetool, before all others.
    fn path(&self, node: &NodePlan) -> OsString {
        let own = crate::tools::folder(Path::new(&node.folder));
        let all = self.context.env.var("PATH").unwrap_or_default();
        let paths = std::iter::once(own).chain(std::env::split_paths(all));
        std::env::join_paths(paths).unwrap_or_else(|_| all.to_owned())
    }

    /// Runs Medusa on all these nodes at once; what each printed, in their order.
    fn run(
        &self,
        nodes: &[(&NodePlan, Ipv4Addr)],
        what: &'static str,
        words: &[&str],
        events: &mut dyn FnMut(MedusaEvent),
    ) -> Result<Vec<String>, ClusterError> {
        let mut running = Vec::new();
        for (node, saved_as) in nodes {
            let started = self.start(node, *saved_as, words);
            running.push(started.map_err(StackError::io("medusa"))?);
        }
        let of = running.len();
        let mut outputs = Vec::new();
        for (done, mut one) in running.into_iter().enumerate() {
            events(MedusaEvent::Nodes { what, done, of });
            outputs.push(one.end(what, self.context)?);
        }
        Ok(outputs)
    }
}

/// Medusa at work on a node.
struct Running {
    node: String,
    child: Child,
    log: PathBuf,
}

impl Running {
    fn end(&mut self, what: &'static str, context: &Context) -> Result<String, ClusterError> {
        let status = ended(&mut self.child, LOOK_EVERY, &context.cancel, &mut || {});
        let status = status.map_err(StackError::io("medusa"))?;
        let status = status.ok_or(StackError::Interrupted)?;
        let text = fs::read(&self.log).map_err(StackError::io("medusa's log"))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        if status.success() {
            return Ok(text);
        }
        Err(self.failed(what, &text).into())
    }

    fn failed(&self, what: &'static str, text: &str) -> StackError {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let from = lines.len().saturating_sub(LINES);
        StackError::Medusa {
            node: self.node.clone(),
            what,
            lines: lines[from..].to_vec(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that was left while others failed.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _gone_already = self.child.kill();
            let _status = self.child.wait();
        }
    }
}

/// Nodes with data.
fn owners(state: &ClusterState) -> Vec<&NodePlan> {
    let nodes = state.plan.nodes.iter();
    nodes.filter(|node| !node.coordinator).collect()
}

/// Saves all nodes with data: rows and checksums of the tables first, then Medusa on each node.
///
/// # Errors
/// There is such a backup, a table cannot be read, or Medusa fails.
pub fn backup(
    context: &Context,
    state: &ClusterState,
    name: &str,
    events: &mut dyn FnMut(MedusaEvent),
) -> Result<Backup, ClusterError> {
    may_be_named(state, name)?;
    let medusa = Medusa::of(context, state, state)?;
    let names = tables::names(state)?;
    let of = names.len();
    let tables = tables::read(context, state, &names, &mut |table, done| {
        events(MedusaEvent::Reading {
            table: table.to_owned(),
            done,
            of,
        });
    })?;
    let at = since_1970();
    let nodes = owners(state);
    let saved: Vec<(&NodePlan, Ipv4Addr)> = nodes.iter().map(|n| (*n, n.address)).collect();
    let words = ["backup-node", "--backup-name", name, "--mode", "full"];
    let outputs = medusa.run(&saved, "backup", &words, events)?;
    let mut kept = Vec::new();
    for (node, output) in nodes.iter().zip(&outputs) {
        let files = files(output).filter(|files| *files > 0);
        let files = files.ok_or_else(|| StackError::Medusa {
            node: node.name.clone(),
            what: "backup",
            lines: vec!["it copied no files: its snapshot failed".to_owned()],
        })?;
        kept.push(SavedNode {
            name: node.name.clone(),
            address: node.address,
            tokens: node.tokens.clone(),
            files,
        });
    }
    let backup = Backup {
        format: Format::new("stack-backup", BACKUP_VERSION),
        name: name.to_owned(),
        cluster: state.plan.name.clone(),
        cluster_id: state.id.clone(),
        release: state.plan.release.clone(),
        at_unix: at.as_secs(),
        nodes: kept,
        tables,
    };
    let folder = records(state)?;
    fs::create_dir_all(&folder)
        .and_then(|()| stored::write(&folder.join(format!("{name}.json")), &backup))
        .map_err(StackError::io("the stack's folder"))?;
    Ok(backup)
}

fn may_be_named(state: &ClusterState, name: &str) -> Result<(), ClusterError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        return Err(StackError::Name(name.to_owned()).into());
    }
    let known: Vec<String> = backups(state)?.into_iter().map(|b| b.name).collect();
    if known.iter().any(|one| one == name) {
        return Err(StackError::Backup {
            cluster: state.plan.name.clone(),
            name: name.to_owned(),
            exists: true,
            known,
        }
        .into());
    }
    Ok(())
}

/// The files of Medusa's line `- 248 files, 200.28 KB`.
fn files(output: &str) -> Option<u64> {
    let mut lines = output.lines().filter_map(|line| {
        let (before, _) = line.split_once(" files, ")?;
        before.rsplit(' ').next()?.parse().ok()
    });
    lines.next()
}

/// Medusa's own verification of a backup; what it printed, and what is known of the backup.
///
/// # Errors
/// No such backup, or Medusa does not find it whole.
pub fn verify(
    context: &Context,
    state: &ClusterState,
    name: &str,
    events: &mut dyn FnMut(MedusaEvent),
) -> Result<(Backup, Vec<String>), ClusterError> {
    let backup = backup_named(state, name)?;
    let medusa = Medusa::of(context, state, state)?;
    let nodes = owners(state);
    let first: Vec<(&NodePlan, Ipv4Addr)> = nodes.iter().take(1).map(|n| (*n, n.address)).collect();
    let words = ["--without-log-timestamp", "verify", "--backup-name", name];
    let outputs = medusa.run(&first, "verify", &words, events)?;
    let lines = outputs.iter().flat_map(|text| text.lines());
    let lines = lines.filter_map(|line| line.trim().strip_prefix("- "));
    Ok((backup, lines.map(str::to_owned).collect()))
}

/// Brings a backup back, node by node, with its schema: into the cluster that was saved, or one of equal tokens. Its nodes
/// stop for it. Tables are compared with what was saved.
///
/// # Errors
/// The rings differ, Medusa fails, the nodes do not stop or start, or a table cannot be read.
pub fn restore(
    context: &Context,
    request: &Restore<'_>,
    events: &mut dyn FnMut(MedusaEvent),
) -> Result<Vec<Compared>, ClusterError> {
    let Restore { backup, .. } = request;
    let lock = context.clusters.lock(request.into)?;
    let mut state = context.clusters.load(request.into)?;
    let same = state.id == backup.cluster_id;
    pairs(&state, backup)?;
    let all: Vec<NodePlan> = state.plan.nodes.clone();
    context.stop_locked(&mut state, all, STOP_WITHIN, &mut |event| {
        events(MedusaEvent::Cluster(event));
    })?;
    for node in &state.plan.nodes {
        // A node that never started has none, and Medusa reads them.
        let node = state.launched(&node.name)?;
        launch::write_files(&state, &node).map_err(StackError::io("the node's folder"))?;
    }
    let medusa = Medusa::of(context, request.from, &state)?;
    let temporary = medusa.home.join("restoring");
    fs::create_dir_all(&temporary).map_err(StackError::io("the stack's folder"))?;
    let to = temporary.to_string_lossy();
    let mut words = vec!["restore-node", "--backup-name", &backup.name, "--no-verify"];
    words.extend(["--temp-dir", &to]);
    // In another cluster a node takes no identity of the one that was saved.
    words.push(if same { "--in-place" } else { "--remote" });
    let half = Work::StackRestore {
        cluster: request.from.plan.name.clone(),
        backup: backup.name.clone(),
    };
    mark(context, &state, half)?;
    // Other rows are there from here on than a populate remembers.
    crate::populate_journal::forget(context, request.into)?;
    medusa.run(&pairs(&state, backup)?, "restore", &words, events)?;
    drop(medusa);
    let schema = owners(&state).first().map(|node| schema_of(node));
    for node in state.plan.nodes.iter().filter(|node| node.coordinator) {
        let taken = take_schema(node, schema.as_deref());
        taken.map_err(StackError::io("a coordinator's folder"))?;
    }
    state.baseline.work = None;
    context.save(&state)?;
    let names: Vec<String> = state.plan.nodes.iter().map(|n| n.name.clone()).collect();
    context.start_locked(&mut state, &names, request.ready_within, &mut |event| {
        events(MedusaEvent::Cluster(event));
    })?;
    drop(lock);
    if let Some(stack) = super::find(&state)? {
        let mut on = |event| events(MedusaEvent::Cluster(event));
        let programs = super::Programs::provide(context, &stack.request, &mut on)?;
        super::up(context, &state, &stack, &programs, &mut on)?;
    }
    let of = backup.tables.len();
    compare(context, &state, &backup.tables, &mut |table, done| {
        events(MedusaEvent::Reading {
            table: table.to_owned(),
            done,
            of,
        });
    })
}

/// Writes down that the nodes' files are being replaced: until that is done no node starts.
fn mark(context: &Context, state: &ClusterState, work: Work) -> Result<(), ClusterError> {
    let mut state = state.clone();
    state.baseline.work = Some(work);
    context.save(&state)
}

/// Each node with the address by which its part of the backup was saved.
fn pairs<'a>(
    state: &'a ClusterState,
    backup: &Backup,
) -> Result<Vec<(&'a NodePlan, Ipv4Addr)>, ClusterError> {
    let nodes = owners(state);
    let other = || StackError::OtherTokens {
        cluster: backup.cluster.clone(),
        into: state.plan.name.clone(),
    };
    if nodes.len() != backup.nodes.len() {
        return Err(other().into());
    }
    let found = nodes.into_iter().map(|node| {
        let mut saved = backup.nodes.iter();
        let saved = saved.find(|saved| saved.tokens == node.tokens);
        saved.map(|saved| (node, saved.address)).ok_or_else(other)
    });
    Ok(found.collect::<Result<_, _>>()?)
}

/// The files of a node's schema.
fn schema_of(node: &NodePlan) -> PathBuf {
    let first = node.data_folders().into_iter().next().unwrap_or_default();
    Path::new(&first).join("system_schema")
}

/// A coordinator has no rows, and a schema that is newer than the backup's: it gets the files of the old one. Without any it
/// would ask the others for it, and may wait for minutes.
fn take_schema(node: &NodePlan, schema: Option<&Path>) -> std::io::Result<()> {
    let own = Path::new(&node.folder);
    let folders = node.data_folders().into_iter().map(PathBuf::from);
    let rest = ["commitlog", "hints", "saved_caches"].map(|name| own.join(name));
    for folder in folders.chain(rest) {
        if folder.is_dir() {
            fs::remove_dir_all(&folder)?;
            fs::create_dir_all(&folder)?;
        }
    }
    schema.map_or(Ok(()), |schema| copy(schema, &schema_of(node)))
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &to)?,
            false => fs::copy(entry.path(), to).map(drop)?,
        }
    }
    Ok(())
}

/// The bucket of all backups; moto forgets it with its process.
pub(super) fn make_bucket(stack: &Stack) -> Result<(), StackError> {
    let line = format!("PUT /{}", helenus_model::stack::BUCKET);
    match ask(stack, Part::Moto, &line, LOOK_EVERY * 200) {
        // It is there.
        Err(StackError::Refused { code: 409, .. }) => Ok(()),
        made => made.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_backup_stand_in_medusas_line() {
        let text = "[x] INFO: Backup done: b1 (full)\n[x] INFO: - 248 files, 200.28 KB\n\
            [x] INFO: - 248 files copied from host (248 new, 0 reuploaded)\n";
        assert_eq!(files(text), Some(248));
        assert_eq!(files("[x] INFO: - 0 files, 0.00 B\n"), Some(0));
        assert_eq!(files("nothing"), None);
    }

    #[test]
    fn a_half_written_record_hides_no_backup() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(records_in(&folder.path().join("none")).expect("none"), []);
        let backup = Backup {
            format: Format::new("stack-backup", BACKUP_VERSION),
            name: "b1".to_owned(),
            cluster: "c".to_owned(),
            cluster_id: "0a".to_owned(),
            release: "5.0.9".to_owned(),
            at_unix: 1,
            nodes: Vec::new(),
            tables: Vec::new(),
        };
        stored::write(&folder.path().join("b1.json"), &backup).expect("written");
        fs::write(folder.path().join(".tmpAb12Cd"), "{\"format\": ").expect("written");
        assert_eq!(records_in(folder.path()).expect("read"), [backup]);
    }
}
