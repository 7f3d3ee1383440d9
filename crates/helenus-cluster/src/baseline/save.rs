//! Saving: flush, settle, drain, stop, take each file, hash it, and start again.
//! Refuses to take files of a node that did not stop by itself: what it had in memory may be missing.

use super::{
    BaselineError, BaselineEvent, Baselines, PARTIAL, Step, files, go_on, schema, settle,
    write_manifest,
};
use crate::context::Context;
use crate::error::ClusterError;
use crate::event::Event;
use crate::guard;
use crate::marks::{LastBaseline, Work};
use crate::observe;
use crate::origin;
use crate::reach::cql_address;
use crate::state::ClusterState;
use crate::wall::since_1970;
use fs_err as fs;
use helenus_model::baseline::{
    BASELINE_VERSION, Baseline, Class, SavedNode, Settled, check_tag, is_immutable,
};
use helenus_model::format::Format;
use helenus_model::guard::{Verdict, judge};
use helenus_model::plan::NodePlan;
use helenus_model::units::Bytes;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What `baseline save` is asked for.
#[derive(Debug, Clone)]
pub struct SaveRequest {
    /// Cluster.
    pub cluster: String,
    /// The word for it.
    pub tag: String,
    /// Whether an older baseline of this tag is replaced.
    pub replace: bool,
    /// Whether the cluster stays stopped.
    pub leave_stopped: bool,
    /// How long to wait for compactions.
    pub settle_within: Duration,
    /// How long to wait for nodes that stop.
    pub within: Duration,
    /// How long to wait for nodes that start.
    pub ready_within: Duration,
}

/// What a save would take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SaveLook {
    /// Nodes.
    pub nodes: usize,
    /// Of them those that run, are stopped for it, and start again.
    pub running: usize,
    /// Files that are on disk now; a flush adds more.
    pub files: usize,
    /// Their size.
    pub bytes: Bytes,
    /// Of it the part that is copied, because a node may write into it.
    pub copied: Bytes,
    /// Where it would lie.
    pub folder: PathBuf,
}

/// What a save would take; nothing is changed.
///
/// # Errors
/// No such cluster, one that cannot be saved, or a tag that is taken or none.
pub fn look(context: &Context, request: &SaveRequest) -> Result<SaveLook, ClusterError> {
    let state = context.clusters.load(&request.cluster)?;
    may_save(context, &state, request)?;
    let mut seen = SaveLook {
        nodes: state.plan.nodes.len(),
        running: running(&state).len(),
        files: 0,
        bytes: Bytes(0),
        copied: Bytes(0),
        folder: Baselines::of(context).folder(&request.cluster, &request.tag),
    };
    for node in &state.plan.nodes {
        let data = Path::new(&node.storage()).join("data");
        for path in files::below(&data).map_err(ClusterError::io("the node's data"))? {
            // A node that runs may delete a file meanwhile.
            let bytes = fs::metadata(data.join(&path)).map_or(0, |m| m.len());
            seen.files += 1;
            seen.bytes.0 += bytes;
            if !is_immutable(&state.plan.release, &path) {
                seen.copied.0 += bytes;
            }
        }
    }
    Ok(seen)
}

fn may_save(
    context: &Context,
    state: &ClusterState,
    request: &SaveRequest,
) -> Result<(), ClusterError> {
    check_tag(&request.tag).map_err(BaselineError::from)?;
    stays(state)?;
    one_folder_each(state)?;
    state.baseline.clone().may_start(&state.plan.name)?;
    let baselines = Baselines::of(context);
    let folder = baselines.folder(&request.cluster, &request.tag);
    let aside = baselines.aside(&request.cluster, &request.tag);
    if (folder.exists() || aside.exists()) && !request.replace {
        return Err(BaselineError::Exists {
            cluster: request.cluster.clone(),
            tag: request.tag.clone(),
        }
        .into());
    }
    Ok(())
}

/// An ephemeral cluster's nodes end with the command that made it; that command itself knows.
pub(super) fn stays(state: &ClusterState) -> Result<(), BaselineError> {
    if state.ephemeral && !state.is_of_this_process() {
        return Err(BaselineError::Ephemeral(state.plan.name.clone()));
    }
    if state.upgrade.is_some() {
        return Err(BaselineError::Upgrading(state.plan.name.clone()));
    }
    Ok(())
}

/// A node's data as a whole are those of one folder.
pub(super) fn one_folder_each(state: &ClusterState) -> Result<(), BaselineError> {
    let several = |node: &&NodePlan| node.folders.data.len() > 1;
    match state.plan.nodes.iter().find(several) {
        Some(node) => Err(BaselineError::SeveralFolders(node.name.clone())),
        None => Ok(()),
    }
}

/// Names of the nodes that run.
pub(super) fn running(state: &ClusterState) -> Vec<String> {
    let alive = observe::pids(state).into_iter();
    alive
        .filter(|(_, pid)| pid.is_some())
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Saves a cluster as a baseline. One that did not run is started for it, because only its nodes know its schema.
///
/// # Errors
/// As [`look`], or the nodes do not settle, stop or start, or a file cannot be taken. What was started is removed,
/// and nodes that ran are started again.
pub fn save(
    context: &Context,
    request: &SaveRequest,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<Baseline, ClusterError> {
    let _cluster = context.clusters.lock(&request.cluster)?;
    let mut state = context.clusters.load(&request.cluster)?;
    may_save(context, &state, request)?;
    let baselines = Baselines::of(context);
    let _baselines = baselines.lock(&request.cluster)?;
    guard::no_stranger(&state)?;
    let ran = running(&state);
    let all: Vec<String> = state.plan.nodes.iter().map(|n| n.name.clone()).collect();
    context.start_locked(&mut state, &all, request.ready_within, &mut |e| {
        events(BaselineEvent::Life(e));
    })?;
    prove_ours(context, &state)?;
    let known = schema::read(&state)?;
    let origin = origin::seen(&state)?;
    let keyspaces = schema::describe(&state, &known.keyspaces)?;
    let settled = settle::settle(context, &state, request.settle_within, events)?;
    let mut baseline = Baseline {
        format: Format::new("baseline", BASELINE_VERSION),
        tag: request.tag.clone(),
        created_unix: since_1970().as_secs(),
        release: state.plan.release.clone(),
        cluster_id: state.id.clone(),
        cluster: request.cluster.clone(),
        partitioner: known.partitioner,
        keyspaces,
        tables: known.tables,
        nodes: Vec::new(),
        settled,
        elements: origin.elements.clone(),
        verified_unix: None,
    };
    state.baseline.work = Some(Work::Save {
        tag: request.tag.clone(),
    });
    let result = stopped(context, &mut state, &mut baseline, request, events);
    state.baseline.work = None;
    if result.is_ok() {
        state.baseline.last = Some(LastBaseline {
            cluster: request.cluster.clone(),
            tag: request.tag.clone(),
            at_unix: since_1970().as_secs(),
            cache: None,
        });
    }
    let kept = context.clusters.save(&state);
    let recorded = match &result {
        Ok(()) => origin::keep_with(context, &request.cluster, origin, &baseline),
        Err(_) => Ok(()),
    };
    let again = match (&result, request.leave_stopped) {
        (Ok(_), true) => Vec::new(),
        _ => ran,
    };
    let started = if again.is_empty() {
        Ok(())
    } else {
        let undisturbed = Context {
            // Asked to stop, it still leaves what ran running; whoever asks a second time ends it at once.
            cancel: crate::cancel::Cancel::default(),
            ..context.clone()
        };
        undisturbed.start_locked(&mut state, &again, request.ready_within, &mut |e| {
            events(BaselineEvent::Life(e));
        })
    };
    result?;
    kept.map_err(ClusterError::io("the cluster's state"))?;
    recorded?;
    started?;
    Ok(baseline)
}

/// Drains and stops the nodes and takes their files.
fn stopped(
    context: &Context,
    state: &mut ClusterState,
    baseline: &mut Baseline,
    request: &SaveRequest,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<(), ClusterError> {
    let before: Settled = baseline.settled;
    let begin = std::time::Instant::now();
    settle::drain(context, state, events)?;
    baseline.settled.seconds = before.seconds + begin.elapsed().as_secs_f64();
    stop_gently(context, state, request.within, events)?;
    go_on(&context.cancel)?;
    let baselines = Baselines::of(context);
    let partial = baselines.folder(&request.cluster, &format!("{PARTIAL}{}", request.tag));
    let result = take(context, state, baseline, &partial, events);
    if let Err(error) = result {
        // The first error is the one to report; what stays is swept by the next command.
        let _second = fs::remove_dir_all(&partial);
        return Err(error);
    }
    let folder = baselines.folder(&request.cluster, &request.tag);
    let aside = baselines.aside(&request.cluster, &request.tag);
    put(&partial, &folder, &aside).map_err(ClusterError::io("the baseline's folder"))
}

/// Gives the finished baseline its name. An older one of that name is there until the new one is, and gone after.
fn put(partial: &Path, folder: &Path, aside: &Path) -> io::Result<()> {
    if !folder.exists() {
        return fs::rename(partial, folder);
    }
    if renameat_with(CWD, partial, CWD, folder, RenameFlags::EXCHANGE).is_err() {
        return put_in_steps(partial, folder, aside);
    }
    fs::remove_dir_all(partial)
}

/// The same on a file system that cannot exchange two names: the old one waits under another, from which the next lock
/// brings it back where this is cut off.
fn put_in_steps(partial: &Path, folder: &Path, aside: &Path) -> io::Result<()> {
    fs::rename(folder, aside)?;
    if let Err(error) = fs::rename(partial, folder) {
        let _second = fs::rename(aside, folder);
        return Err(error);
    }
    fs::remove_dir_all(aside)
}

/// Stops all nodes; one that had to be killed is an error.
pub(super) fn stop_gently(
    context: &Context,
    state: &mut ClusterState,
    within: Duration,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<(), ClusterError> {
    let targets: Vec<NodePlan> = state.plan.nodes.clone();
    let mut killed = None;
    context.stop_locked(state, targets, within, &mut |event| {
        if let Event::Stopped {
            node,
            by_itself: false,
        } = &event
        {
            killed.get_or_insert_with(|| node.clone());
        }
        events(BaselineEvent::Life(event));
    })?;
    match killed {
        Some(node) => Err(BaselineError::Killed { node }.into()),
        None => Ok(()),
    }
}

/// Takes the files of all nodes into a folder and writes its manifest.
fn take(
    context: &Context,
    state: &ClusterState,
    baseline: &mut Baseline,
    partial: &Path,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<(), ClusterError> {
    events(BaselineEvent::Step(Step::Link));
    let mut reported = false;
    let mut brought: Vec<(String, Class)> = Vec::new();
    for node in &state.plan.nodes {
        let data = Path::new(&node.storage()).join("data");
        let folder = partial.join(&node.name);
        fs::create_dir_all(&folder).map_err(ClusterError::io("the baseline's folder"))?;
        for path in files::below(&data).map_err(ClusterError::io("the node's data"))? {
            go_on(&context.cancel)?;
            let (class, why) = files::bring(
                &data.join(&path),
                &folder.join(&path),
                &baseline.release,
                &path,
            )?;
            if let Some(why) = why.filter(|_| class == Class::Copied && !reported) {
                reported = true;
                events(BaselineEvent::Copies { why });
            }
            brought.push((format!("{}/{path}", node.name), class));
        }
    }
    events(BaselineEvent::Step(Step::Hash));
    let mut hashed = files::hash_all(partial, &brought, &context.cancel, events)?;
    for node in &state.plan.nodes {
        let prefix = format!("{}/", node.name);
        let mine = hashed.extract_if(.., |file| file.path.starts_with(&prefix));
        let mut tokens = node.tokens.clone();
        tokens.sort_unstable();
        let files = mine.map(|mut file| {
            file.path.drain(..prefix.len());
            file
        });
        baseline.nodes.push(SavedNode {
            name: node.name.clone(),
            data_center: node.data_center.clone(),
            rack: node.rack.clone(),
            tokens,
            host_id: state.nodes.get(&node.name).and_then(|n| n.host_id.clone()),
            files: files.collect(),
        });
    }
    write_manifest(partial, baseline).map_err(ClusterError::io("the manifest"))?;
    Ok(())
}

/// Refuses a cluster whose nodes are not proved ours.
pub(super) fn prove_ours(context: &Context, state: &ClusterState) -> Result<(), ClusterError> {
    let name = &state.plan.name;
    let host = cql_address(&state.plan, &state.plan.nodes[0]);
    let sight = guard::look(
        &context.clusters,
        host,
        &helenus_cql::ConnectOptions::default(),
    )?;
    let why = match judge(&sight, None) {
        Verdict::Ours { cluster } if cluster == *name => return Ok(()),
        Verdict::Ours { cluster } => format!("its nodes are those of {cluster}"),
        Verdict::Foreign { why } => why,
        Verdict::Named { cluster_name } => cluster_name,
    };
    Err(BaselineError::NotOurs {
        cluster: name.clone(),
        why,
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_exchange_of_names_the_old_baseline_is_there_until_the_new_one_is() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let (partial, folder, aside) = (at(".partial-one"), at("one"), at(".aside-one"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("old"), "").unwrap();
        // There is no new one to take its place.
        put_in_steps(&partial, &folder, &aside).unwrap_err();
        assert!(folder.join("old").exists() && !aside.exists());
        fs::create_dir(&partial).unwrap();
        fs::write(partial.join("new"), "").unwrap();
        put_in_steps(&partial, &folder, &aside).unwrap();
        assert!(folder.join("new").exists() && !folder.join("old").exists());
        assert!(!partial.exists() && !aside.exists());
    }
}
