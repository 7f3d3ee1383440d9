//! Restoring: check, link, swap, start. Into the cluster that was saved, whole; into another one of equal tokens,
//! its own tables only.
//! Refuses to begin with a baseline that is not as it was saved, and to start nodes whose files are half replaced.

use super::save::{one_folder_each, prove_ours, running, stays, stop_gently};
use super::{BaselineError, BaselineEvent, Baselines, Step, files, go_on, page_cache, schema};
use crate::alive;
use crate::cancel::Cancel;
use crate::context::Context;
use crate::disk;
use crate::error::ClusterError;
use crate::guard;
use crate::marks::{LastBaseline, Work};
use crate::origin;
use crate::process;
use crate::remove;
use crate::state::{ClusterState, StateError, Wanted};
use crate::stored::there;
use crate::wall::since_1970;
use fs_err as fs;
use helenus_model::baseline::{
    Baseline, Class, PageCache, Place, PlaceNode, RestorePlan, SavedTable, fits, is_immutable,
};
use helenus_model::reset::Origin;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A node's new data folder before it takes its place.
const STAGED: &str = "data.restoring";
/// A node's old data folder on its way out.
const REPLACED: &str = "data.replaced";
/// Folders of a node that speak of data that is no longer there.
const OF_OLD_DATA: [&str; 3] = ["hints", "saved_caches", "cdc_raw"];

/// What `baseline restore` is asked for.
#[derive(Debug, Clone)]
pub struct RestoreRequest {
    /// Cluster that was saved.
    pub cluster: String,
    /// Tag.
    pub tag: String,
    /// Cluster that it comes back to; the one that was saved unless said otherwise.
    pub into: Option<String>,
    /// Whether keyspaces in the way are dropped.
    pub replace: bool,
    /// Whether the page cache is emptied of the data files before the nodes start.
    pub drop_cache: bool,
    /// Whether the nodes stay stopped.
    pub leave_stopped: bool,
    /// How long to wait for nodes that stop.
    pub within: Duration,
    /// How long to wait for nodes that start.
    pub ready_within: Duration,
}

/// What a restore did.
#[derive(Debug, Clone)]
pub struct Restored {
    /// The cluster as it is now.
    pub state: ClusterState,
    /// What was brought where.
    pub plan: RestorePlan,
    /// What was in the page cache before the nodes started.
    pub cache: PageCache,
}

/// A file on its way: from, to, and its path in the baseline.
type Move = (PathBuf, PathBuf, String);

/// What a restore would do; nothing is changed. What a cluster that does not run has in the way is not known.
///
/// # Errors
/// As [`restore`], as far as that can be seen.
pub fn look(context: &Context, request: &RestoreRequest) -> Result<RestorePlan, ClusterError> {
    let baseline = Baselines::of(context).load(&request.cluster, &request.tag)?;
    let state = target(context, request)?;
    stays(&state)?;
    as_saved(context, &baseline)?;
    if baseline.cluster_id != state.id {
        let mark = &state.baseline;
        mark.may_restore(&state.plan.name, &baseline.cluster, &baseline.tag)?;
    }
    let mut place = place(&state);
    if baseline.cluster_id != state.id && running(&state).len() == state.plan.nodes.len() {
        ask(&state, &mut place)?;
    }
    Ok(fits(&baseline, &place, request.replace).map_err(BaselineError::from)?)
}

fn into(request: &RestoreRequest) -> &str {
    request.into.as_deref().unwrap_or(&request.cluster)
}

/// The cluster that it comes back to.
fn target(context: &Context, request: &RestoreRequest) -> Result<ClusterState, ClusterError> {
    match context.clusters.load(into(request)) {
        Err(StateError::UnknownCluster { .. }) if request.into.is_none() => {
            Err(BaselineError::Gone {
                cluster: request.cluster.clone(),
                tag: request.tag.clone(),
            }
            .into())
        }
        other => Ok(other?),
    }
}

/// Brings a baseline back and starts the nodes on it.
///
/// # Errors
/// No such baseline or cluster, they do not fit, the baseline is not as it was saved, a file cannot be brought, or
/// the nodes do not stop or start.
pub fn restore(
    context: &Context,
    request: &RestoreRequest,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<Restored, ClusterError> {
    let baselines = Baselines::of(context);
    let baseline = baselines.load(&request.cluster, &request.tag)?;
    target(context, request)?;
    let _cluster = context.clusters.lock(into(request))?;
    let mut state = context.clusters.load(into(request))?;
    stays(&state)?;
    guard::no_stranger(&state)?;
    let _baselines = baselines.lock(&request.cluster)?;
    events(BaselineEvent::Step(Step::Check));
    as_saved(context, &baseline)?;
    // What was on a disk that is gone is what comes back.
    state.plan.nodes.iter().try_for_each(disk::provide_empty)?;
    let (plan, data, origin) = if baseline.cluster_id == state.id {
        let (plan, data) = whole(context, &mut state, &baseline, events)?;
        // Roles are in its system tables: what they are is not known before it runs.
        let origin = Origin {
            elements: baseline.elements.clone(),
            ..Origin::default()
        };
        (plan, data, origin)
    } else {
        elsewhere(context, &mut state, &baseline, request, events)?
    };
    origin::keep_with(context, into(request), origin, &baseline)?;
    // Other rows are there now than a populate remembers.
    crate::populate_journal::forget(context, into(request))?;
    events(BaselineEvent::Step(Step::Cache));
    let cache = page_cache::look(&data, request.drop_cache)
        .map_err(ClusterError::io("the page cache of the data files"))?;
    state.baseline.is_at(LastBaseline {
        cluster: request.cluster.clone(),
        tag: request.tag.clone(),
        at_unix: since_1970().as_secs(),
        cache: Some(cache),
    });
    context
        .clusters
        .save(&state)
        .map_err(ClusterError::io("the cluster's state"))?;
    // Many blocks take a moment to be freed: the nodes start meanwhile.
    let old: Vec<PathBuf> = folders(&state, REPLACED);
    let removal = std::thread::spawn(move || old.iter().try_for_each(|f| remove_all(f)));
    let started = if request.leave_stopped {
        Ok(())
    } else {
        let all: Vec<String> = names(&state);
        context.start_locked(&mut state, &all, request.ready_within, &mut |e| {
            events(BaselineEvent::Life(e));
        })
    };
    let removed = removal.join().unwrap_or(Ok(()));
    started?;
    if !request.leave_stopped {
        origin::keep_with(context, into(request), origin::seen(&state)?, &baseline)?;
    }
    removed.map_err(ClusterError::io("the old data folder"))?;
    Ok(Restored { state, plan, cache })
}

/// Refuses a baseline of which anything can be seen not to be as it was saved.
pub(crate) fn as_saved(context: &Context, baseline: &Baseline) -> Result<(), BaselineError> {
    let root = Baselines::of(context).folder(&baseline.cluster, &baseline.tag);
    let bad = files::check(&root, baseline, &context.cancel);
    match bad.first() {
        None => Ok(()),
        Some(first) => Err(BaselineError::Damaged {
            cluster: baseline.cluster.clone(),
            tag: baseline.tag.clone(),
            first: Box::new(first.clone()),
            bad: bad.len(),
        }),
    }
}

/// The cluster as far as its plan describes it.
fn place(state: &ClusterState) -> Place {
    let nodes = state.plan.nodes.iter().map(|n| PlaceNode {
        name: n.name.clone(),
        data_center: n.data_center.clone(),
        rack: n.rack.clone(),
        tokens: n.tokens.clone(),
    });
    Place {
        id: state.id.clone(),
        name: state.plan.name.clone(),
        release: state.plan.release.clone(),
        partitioner: None,
        nodes: nodes.collect(),
        keyspaces: None,
    }
}

/// What only its nodes can report.
fn ask(state: &ClusterState, place: &mut Place) -> Result<Vec<SavedTable>, ClusterError> {
    let schema = schema::read(state)?;
    place.partitioner = Some(schema.partitioner).filter(|p| !p.is_empty());
    place.keyspaces = Some(schema.keyspaces);
    Ok(schema.tables)
}

fn names(state: &ClusterState) -> Vec<String> {
    state.plan.nodes.iter().map(|n| n.name.clone()).collect()
}

fn folders(state: &ClusterState, name: &str) -> Vec<PathBuf> {
    let nodes = state.plan.nodes.iter();
    nodes.map(|n| Path::new(&n.storage()).join(name)).collect()
}

fn remove_all(folder: &Path) -> io::Result<()> {
    there(fs::remove_dir_all(folder)).map(drop)
}

/// Into the cluster that was saved: every node's data as it was, its system tables included. Nothing that the nodes
/// have now is kept, so they are killed, after the new folders are ready beside the old ones.
fn whole(
    context: &Context,
    state: &mut ClusterState,
    baseline: &Baseline,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<(RestorePlan, Vec<PathBuf>), ClusterError> {
    one_folder_each(state)?;
    let plan = fits(baseline, &place(state), false).map_err(BaselineError::from)?;
    let io = || ClusterError::io("the node's folder");
    for folder in [folders(state, STAGED), folders(state, REPLACED)].concat() {
        remove_all(&folder).map_err(io())?;
    }
    let root = Baselines::of(context).folder(&baseline.cluster, &baseline.tag);
    let mut moves: Vec<Move> = Vec::new();
    let mut data = Vec::new();
    for (pair, saved) in plan.nodes.iter().zip(&baseline.nodes) {
        let node = PathBuf::from(state.node(&pair.to)?.storage());
        for file in &saved.files {
            let from = root.join(&saved.name).join(&file.path);
            moves.push((from, node.join(STAGED).join(&file.path), file.path.clone()));
            data.push(node.join("data").join(&file.path));
        }
        fs::create_dir_all(node.join(STAGED)).map_err(io())?;
    }
    let brought = bring(baseline, &moves, &context.cancel, events);
    if let Err(error) = brought.and_then(|()| go_on(&context.cancel)) {
        // The nodes still have what they had.
        for folder in folders(state, STAGED) {
            let _second = remove_all(&folder);
        }
        return Err(error);
    }
    kill(context, state)?;
    // From here on the nodes' files are of use only when all is done.
    begin(context, state, baseline)?;
    for node in &state.plan.nodes {
        let folder = PathBuf::from(node.storage());
        let present = folder.join("data");
        if present.exists() {
            fs::rename(&present, folder.join(REPLACED)).map_err(io())?;
        }
        fs::rename(folder.join(STAGED), &present).map_err(io())?;
        for old in OF_OLD_DATA {
            remove_all(&folder.join(old)).map_err(io())?;
        }
        remove_all(Path::new(&node.commitlog())).map_err(io())?;
    }
    Ok((plan, data))
}

fn kill(context: &Context, state: &mut ClusterState) -> Result<(), ClusterError> {
    for node in state.nodes.values_mut() {
        node.wanted = Wanted::Stopped;
    }
    context
        .clusters
        .save(state)
        .map_err(ClusterError::io("the cluster's state"))?;
    for node in &state.plan.nodes {
        let holder =
            alive::holder(Path::new(&node.folder)).map_err(ClusterError::io("the node's claim"))?;
        if let Some(pid) = holder {
            process::end(pid, Duration::ZERO);
            remove::forget_attach(pid.as_raw_pid());
        }
    }
    Ok(())
}

/// Writes down that the nodes' files are being replaced.
fn begin(
    context: &Context,
    state: &mut ClusterState,
    baseline: &Baseline,
) -> Result<(), ClusterError> {
    state.baseline.work = Some(Work::Restore {
        cluster: baseline.cluster.clone(),
        tag: baseline.tag.clone(),
    });
    context
        .clusters
        .save(state)
        .map_err(ClusterError::io("the cluster's state"))
}

/// Into another cluster of equal tokens: its nodes make the schema, stop, get the files, and start.
fn elsewhere(
    context: &Context,
    state: &mut ClusterState,
    baseline: &Baseline,
    request: &RestoreRequest,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<(RestorePlan, Vec<PathBuf>, Origin), ClusterError> {
    // What does not fit by the plan alone is refused before anything starts.
    fits(baseline, &place(state), request.replace).map_err(BaselineError::from)?;
    let again = forget_half(context, state, baseline)?;
    let all = names(state);
    context.start_locked(state, &all, request.ready_within, &mut |e| {
        events(BaselineEvent::Life(e));
    })?;
    prove_ours(context, state)?;
    let mut place = place(state);
    ask(state, &mut place)?;
    let plan = fits(baseline, &place, request.replace || again).map_err(BaselineError::from)?;
    events(BaselineEvent::Step(Step::Schema));
    schema::make(state, &plan.dropped, &baseline.keyspaces)?;
    let tables = schema::read(state)?.tables;
    let origin = origin::seen(state)?;
    go_on(&context.cancel)?;
    let root = Baselines::of(context).folder(&baseline.cluster, &baseline.tag);
    let mut moves: Vec<Move> = Vec::new();
    for (pair, saved) in plan.nodes.iter().zip(&baseline.nodes) {
        let folders = state.node(&pair.to)?.data_folders();
        moves.extend(saved.files.iter().filter_map(|file| {
            let to = baseline.place_elsewhere(&file.path, &tables)?;
            let from = root.join(&saved.name).join(&file.path);
            let data = Path::new(spread(&folders, &file.path));
            Some((from, data.join(to), file.path.clone()))
        }));
    }
    stop_gently(context, state, request.within, events)?;
    begin(context, state, baseline)?;
    // Half of it would be of no use: who wants it to end at once asks twice.
    bring(baseline, &moves, &Cancel::default(), events)?;
    let data = moves.into_iter().map(|(_, to, _)| to).collect();
    Ok((plan, data, origin))
}

/// The folder for a file, by its SSTable: the files of one lie together.
fn spread<'a>(folders: &'a [String], path: &str) -> &'a str {
    let mut hash = DefaultHasher::new();
    path.rsplit_once('-')
        .map_or(path, |(table, _)| table)
        .hash(&mut hash);
    let at = hash.finish() % folders.len().max(1) as u64;
    folders
        .get(usize::try_from(at).unwrap_or(0))
        .map_or("", String::as_str)
}

/// Removes what a restore of this baseline that was cut off brought, so that the nodes can start; returns whether there
/// was one. Refuses where one of another baseline was.
fn forget_half(
    context: &Context,
    state: &mut ClusterState,
    baseline: &Baseline,
) -> Result<bool, ClusterError> {
    let mark = &state.baseline;
    if !mark.may_restore(&state.plan.name, &baseline.cluster, &baseline.tag)? {
        return Ok(false);
    }
    let nodes = state.plan.nodes.iter();
    for data in nodes.flat_map(|node| node.data_folders()) {
        let data = Path::new(&data);
        for keyspace in &baseline.keyspaces {
            remove_all(&data.join(&keyspace.name))
                .map_err(ClusterError::io("the node's folder"))?;
        }
    }
    state.baseline.work = None;
    context
        .clusters
        .save(state)
        .map_err(ClusterError::io("the cluster's state"))?;
    Ok(true)
}

fn bring(
    baseline: &Baseline,
    moves: &[Move],
    cancel: &Cancel,
    events: &mut dyn FnMut(BaselineEvent),
) -> Result<(), ClusterError> {
    events(BaselineEvent::Step(Step::Link));
    let mut reported = false;
    for (from, to, path) in moves {
        go_on(cancel)?;
        let (class, why) = files::bring(from, to, &baseline.release, path)?;
        if is_immutable(&baseline.release, path) && class == Class::Copied && !reported {
            reported = true;
            events(BaselineEvent::Copies {
                why: why.unwrap_or_default(),
            });
        }
    }
    Ok(())
}
