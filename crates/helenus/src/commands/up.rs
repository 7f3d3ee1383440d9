//! `helenus up`: flags into a request, events into progress, the result into a table.

use crate::cli::{ClusterFlags, Extras, Up};
use crate::commands::done::Done;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::lifecycle::{Source, UpRequest};
use helenus_cluster::limits::disk::DiskHeld;
use helenus_cluster::observe::{self, NodeView};
use helenus_cluster::process::Owner;
use helenus_cluster::schema_file::{self, SchemaFile};
use helenus_cluster::stack;
use helenus_cluster::state::ClusterState;
use helenus_cluster::store::Store;
use helenus_model::format::Format;
use helenus_model::levels::Distance;
use helenus_model::memory::DiskLimit;
use helenus_model::plan::{ClusterPlan, ClusterSpec, Folders, NodePlan, Pin};
use helenus_model::preset::{PresetName, Setting, written};
use helenus_model::release::{Note, Release, split_assignment};
use helenus_model::sizing::HEAP_GAP;
use helenus_model::stack::{Gateway, StackRequest};
use helenus_model::topology::Topology;
use helenus_model::topology::flags::TopologyFlags;
use helenus_model::units::{Bytes, human_duration, plural};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Last line of a dry run.
pub(crate) const NOTHING: &str = "\nnothing was started (--dry-run)\n";
mod like;
mod planned;
pub(crate) mod shape;
pub(crate) mod tiers;
mod watcher;
pub(crate) use watcher::Watcher;

/// A cluster as `up` and `start` answer.
#[derive(Serialize)]
struct Ready {
    format: Format,
    /// Its name.
    name: String,
    /// Release of Cassandra.
    release: String,
    /// The cluster's preset.
    preset: PresetName,
    /// How long it took.
    seconds: f64,
    /// Speed of the disk as it holds for each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<DiskHeld>,
    /// Its nodes.
    nodes: Vec<NodeView>,
}

impl Answers for Ready {
    fn answer(&self) -> String {
        format!(
            "cluster {} is ready: Cassandra {}, preset {}, {} after {}",
            self.name,
            self.release,
            self.preset.word(),
            plural(self.nodes.len(), "node"),
            human_duration(Duration::try_from_secs_f64(self.seconds).unwrap_or_default())
        )
    }
}

impl Answers for ClusterPlan {
    fn answer(&self) -> String {
        format!(
            "cluster {}: Cassandra {}, preset {}, heap {}, in {}",
            self.name,
            self.release,
            self.preset.word(),
            self.heap.heap,
            self.folder
        )
    }
}

pub(crate) fn run(mut flags: Up, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let planned = planned::follow(&mut flags, context, ui)?;
    if let (Some(count), Some(prefix)) = (flags.many.count, flags.many.prefix.clone()) {
        return super::up_many::run(&flags, &prefix, count, context, ui);
    }
    let name = match flags.name.clone() {
        Some(name) => name,
        None => free_name(context)?,
    };
    let production = flags.like.as_deref().map(like::read).transpose()?;
    let manifest = production.as_ref().and_then(|p| p.manifest.as_ref());
    let shape = match manifest {
        Some(manifest) => shape::of_manifest(&flags, manifest)?,
        None => shape::of(&flags)?,
    };
    let preset = shape.preset.unwrap_or(PresetName::Tiny);
    let mut request = request(name, preset, (&shape.cluster, None), false, ui)?;
    shape.put(&mut request)?;
    if !planned.is_empty() {
        request.spec.by_node = planned;
    }
    request.owner = owner(&flags)?;
    request.start = !flags.no_start;
    if !request.start && request.stack.is_some() {
        let what = "--stack conflicts with --no-start: its parts need nodes that serve";
        return Err(CommandError::new(code::USAGE, what)
            .hint("`helenus stack up` starts both later".to_owned()));
    }
    request.addresses = flags.addresses;
    request.interface = flags.interface;
    caution_open(&request, ui);
    caution_heap(&request, ui);
    let schema = schema(flags.schema.as_deref())?;
    let like = match &production {
        Some(production) => Some(production.follow(&flags.cluster, &mut request)?),
        None => None,
    };
    for note in manifest.into_iter().flat_map(|m| &m.notes) {
        ui.note(&format!("note: {note}"));
    }
    if flags.dry_run {
        let plan = context.dry_run(&request)?;
        print_fits(schema.as_ref(), &plan, ui);
        print_unfetched(&request.source, context, ui);
        if let Some(like) = &like {
            ui.result(like, || like::text(like) + NOTHING);
            return Ok(0);
        }
        ui.result(&plan, || plan_text(&plan) + NOTHING);
        return Ok(0);
    }
    if let Some(like) = &like {
        // On standard error: the result is the cluster.
        ui.note(&like.answer());
        ui.note("note: --dry-run shows what became of each key");
    }
    let begin = Instant::now();
    let mut watcher = Watcher::new(ui, &request.spec.name, request.spec.topology.nodes());
    let mut state = stack::up_all(context, &request, &mut |event| watcher.see(&event))?;
    if let Some(schema) = &schema {
        print_fits(Some(schema), &state.plan, ui);
        let name = state.plan.name.clone();
        state = schema_file::give(context, &name, schema, &mut |done, of| {
            watcher.at("running the schema", done as u64, of as u64);
        })?;
    }
    drop(watcher);
    if flags.no_start {
        let nodes = state.plan.nodes.iter().map(|node| node.name.clone());
        Done::new("make", &state.plan.name, nodes.collect(), false).show(ui);
        return Ok(0);
    }
    show_ready(&state, begin, ui)
}

/// Nodes that others reach, and that ask nobody for a password.
fn caution_open(request: &UpRequest, ui: &Ui) {
    let reached = request.addresses.filter(|first| !first.is_loopback());
    if let Some(first) = reached.filter(|_| !request.spec.security.auth) {
        ui.caution(&format!(
            "anyone who can reach {first} can read and write without a password: add --auth, and --tls"
        ));
    }
}

/// A heap of which the JVM makes less than of a smaller one.
fn caution_heap(request: &UpRequest, ui: &Ui) {
    let own = request.spec.by_node.iter().filter_map(|words| words.heap);
    let (most, end) = HEAP_GAP;
    if let Some(heap) = request
        .spec
        .heap
        .into_iter()
        .chain(own)
        .find(|heap| *heap > most && *heap <= end)
    {
        ui.caution(&format!(
            "a heap of {heap} holds hardly more than one of {most}: above it references take twice the room, up to {end}"
        ));
    }
}

/// The process that was named as the owner.
pub(crate) fn owner(flags: &Up) -> Result<Option<Owner>, CommandError> {
    let owner = flags.owner.map(Owner::of).transpose();
    Ok(owner?)
}

/// The schema that was named, read before anything starts.
pub(crate) fn schema(path: Option<&Path>) -> Result<Option<SchemaFile>, CommandError> {
    let read = path.map(SchemaFile::read).transpose();
    Ok(read?)
}

/// Reports which replications are not run as they were written.
pub(crate) fn print_fits(schema: Option<&SchemaFile>, plan: &ClusterPlan, ui: &Ui) {
    for note in schema.into_iter().flat_map(|s| s.notes(plan)) {
        ui.note(&format!("note: {}: {}", note.place, note.fitted));
    }
}

/// Notes a patch that was never fetched here: a dry run fetches nothing, so it may or may not exist.
pub(crate) fn print_unfetched(source: &Source, context: &Context, ui: &Ui) {
    let Source::Known(name) = source else { return };
    let Ok(release) = Release::find(name) else {
        return;
    };
    // Opening the store would make its folder.
    let cache = Some(&context.paths.cache).filter(|cache| cache.exists());
    let store = cache.and_then(|cache| Store::open(cache, &context.env).ok());
    let recorded = store.is_some_and(|store| store.known_lock(release).is_some());
    if recorded || release.lock().is_some() {
        return;
    }
    let version = release.version;
    let fetch = format!("`helenus releases fetch {version}`");
    // A patch that is known has facts of its own, others those of the series.
    if release.facts == version {
        ui.note(&format!(
            "note: the jars of Cassandra {version} are not fetched and no checksums are recorded yet; {fetch} does both"
        ));
        return;
    }
    let nearest = release.nearest_patches().into_iter();
    let nearest: Vec<&str> = nearest.take(3).collect();
    ui.caution(&format!(
        "this helenus does not know Cassandra {version} (the nearest are {}), and no jars of it are fetched or recorded: {fetch} proves that it exists",
        nearest.join(", ")
    ));
}

/// A node that is ready, as a row of a table.
pub(crate) fn node_row(cluster: &str, node: &NodeView) -> [String; 4] {
    [
        format!("{cluster}/{}", node.name),
        format!("{}:{}", node.address, node.cql_port),
        node.pid.map(|pid| pid.to_string()).unwrap_or_default(),
        node.memory
            .map(|m| Bytes(m.pss_bytes).to_string())
            .unwrap_or_default(),
    ]
}

/// The answer of `up` and `start`.
pub(crate) fn show_ready(
    state: &ClusterState,
    begin: Instant,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let nodes = observe::nodes(state)?;
    let ready = Ready {
        format: Format::new("ready", 1),
        name: state.plan.name.clone(),
        release: state.plan.release.clone(),
        preset: state.plan.preset,
        seconds: begin.elapsed().as_secs_f64(),
        disk: state.limits.as_ref().and_then(|l| l.disk.clone()),
        nodes,
    };
    ui.result(&ready, || {
        let mut table = Table::new(&["node", "address", ">pid", ">memory"]);
        for node in &ready.nodes {
            table.row(node_row(&ready.name, node));
        }
        let beside = stack::find(state).ok().flatten();
        let beside = beside.map_or(String::new(), |stack| {
            let parts: Vec<&str> = stack.request.parts.iter().map(|p| p.as_str()).collect();
            let (parts, name) = (parts.join(", "), &ready.name);
            format!("beside the nodes: {parts}; `helenus stack status {name}` shows them\n")
        });
        format!(
            "{}{}\n{}\n{beside}\
             next: helenus cql {} -e 'SELECT release_version FROM system.local'\n",
            table.render(),
            super::memory::disk_text(&ready.name, state.limits.as_ref()),
            ready.answer(),
            ready.name,
        )
    });
    Ok(0)
}

/// The first of c1, c2, … that no cluster has.
fn free_name(context: &Context) -> Result<String, CommandError> {
    let names = context.clusters.names()?;
    let free = (1..)
        .map(|k| format!("c{k}"))
        .find(|name| !names.contains(name));
    Ok(free.unwrap_or_default())
}

/// Checks the flags that need no machine; `distance` is what lies between the data centres.
pub(crate) fn request(
    name: String,
    preset: PresetName,
    (flags, distance): (&ClusterFlags, Option<&Distance>),
    ephemeral: bool,
    ui: &Ui,
) -> Result<UpRequest, CommandError> {
    let source = source(flags);
    let set = checked(facts(&source)?, &flags.node.set, ui)?;
    Ok(UpRequest {
        spec: ClusterSpec {
            heap: flags.node.heap,
            new_heap: flags.node.new_heap,
            tokens: flags.node.tokens,
            set,
            jvm: flags.node.jvm.clone(),
            security: flags.node.security(flags.client_auth),
            memory_limit: flags.memory,
            cpus: flags.cpus,
            disk: flags.disk,
            disk_speed: DiskLimit::of(flags.disk_read, flags.disk_write, flags.disk_iops),
            folders: folders(flags)?,
            archive: !flags.no_archive,
            ..ClusterSpec::new(name, topology(flags, distance)?, preset)
        },
        source,
        java_home: flags.java_home.clone(),
        ephemeral,
        owner: None,
        ready_within: flags.ready_within,
        fake: std::env::var("HELENUS_FAKE_NODE")
            .ok()
            .filter(|f| !f.is_empty()),
        start: true,
        addresses: None,
        interface: None,
        read_ahead: flags.read_ahead,
        stack: beside(flags),
    })
}

/// The parts of a developer's stack that `--stack` names; none where it names none.
fn beside(flags: &ClusterFlags) -> Option<StackRequest> {
    let Extras(extras) = flags.stack.as_ref()?;
    let gateway = match flags.coordinators {
        0 => Gateway::None,
        _ => Gateway::Coordinator,
    };
    (!extras.is_empty()).then(|| StackRequest::new(gateway, extras, false))
}

/// Folders for data, as they are from everywhere.
fn folders(flags: &ClusterFlags) -> Result<Folders, CommandError> {
    let absolute = |path: &PathBuf| {
        let absolute = std::path::absolute(path);
        let absolute = absolute.map_err(|e| CommandError::of(code::USAGE, &e));
        Ok::<_, CommandError>(absolute?.to_string_lossy().into_owned())
    };
    Ok(Folders {
        data: flags
            .data_dir
            .iter()
            .map(absolute)
            .collect::<Result<_, _>>()?,
        commitlog: flags.commitlog_dir.as_ref().map(absolute).transpose()?,
    })
}

/// Keys of cassandra.yaml with their values, as the release takes them.
pub(crate) fn checked(
    release: &Release,
    texts: &[String],
    ui: &Ui,
) -> Result<Vec<(String, serde_json::Value)>, CommandError> {
    let mut set = Vec::new();
    for text in texts {
        let (key, value) = split_assignment(text)?;
        let checked = release.check(key, value)?;
        checked
            .notes
            .iter()
            .for_each(|note: &Note| ui.note(&format!("note: {note}")));
        set.push((checked.name, checked.value));
    }
    Ok(set)
}

/// The facts by which keys are checked.
fn facts(source: &Source) -> Result<&'static Release, CommandError> {
    Ok(match source {
        Source::Known(name) => Release::find(name)?,
        Source::Home(home) => Store::from_home(home)?.release,
        // The keys of the newest known release; its own version is known once it is unpacked.
        Source::Tarball(_) => Release::newest(),
    })
}

/// The data centres of `-n` or `--dc`, and what lies between them.
fn topology(flags: &ClusterFlags, distance: Option<&Distance>) -> Result<Topology, CommandError> {
    let parts = distance.into_iter().flat_map(Distance::parts);
    let said = TopologyFlags {
        nodes: Some(flags.nodes.text.clone()),
        data_centers: flags.dc.clone(),
        coordinators: flags.coordinators,
        rtt: parts.map(str::to_owned).collect(),
        ..TopologyFlags::default()
    };
    Ok(said.topology()?)
}

fn source(flags: &ClusterFlags) -> Source {
    match &flags.cassandra_home {
        Some(home) => Source::Home(home.clone()),
        None if flags.cassandra.ends_with(".tar.gz") || flags.cassandra.ends_with(".tgz") => {
            Source::Tarball(PathBuf::from(&flags.cassandra))
        }
        None => Source::Known(flags.cassandra.clone()),
    }
}

pub(crate) fn plan_text(plan: &ClusterPlan) -> String {
    let mut text = plan.answer() + "\n";
    text.push_str(&super::memory::plan_text(plan));
    text.push_str(&shape::network_text(plan));
    for node in &plan.nodes {
        text.push_str(&format!(
            "\n{}  {}:{}  {} {}{}\n  jvm: {}\n  cassandra.yaml:\n",
            node.name,
            node.address,
            plan.ports.cql,
            node.data_center,
            node.rack,
            own_words(plan, node),
            node.jvm.join(" "),
        ));
        node.yaml
            .lines()
            .for_each(|line| text.push_str(&format!("    {line}\n")));
    }
    text.push_str(&otherwise(plan));
    text
}

/// The preset of a node where it is not the cluster's, and its disk.
fn own_words(plan: &ClusterPlan, node: &NodePlan) -> String {
    let own = node.own.filter(|own| own.preset != plan.preset);
    let own = own.map(|own| {
        let (preset, heap) = (own.preset.word(), own.heap.heap);
        format!("  preset {preset}, heap {heap}")
    });
    let disk = node.disk.map(|size| format!("  disk {size} in memory"));
    let mut text = own.unwrap_or_default() + &disk.unwrap_or_default();
    for place in spot(node.pin.as_ref(), &node.folders) {
        text.push_str(&format!("  {place}"));
    }
    text
}

/// Processors, memory and folders of a node that is bound to some, in words.
fn spot(pin: Option<&Pin>, folders: &Folders) -> Vec<String> {
    let pin = pin.map(ToString::to_string);
    pin.into_iter().chain(folders.words()).collect()
}

/// The same of several nodes, a line each; nothing of those that are bound to nothing.
pub(crate) fn spots(
    cluster: &str,
    nodes: impl Iterator<Item = (String, Option<Pin>, Folders)>,
) -> String {
    let mut text = String::new();
    for (node, pin, folders) in nodes {
        let places = spot(pin.as_ref(), &folders);
        if !places.is_empty() {
            let gap = if text.is_empty() { "\n" } else { "" };
            text.push_str(&format!("{gap}{cluster}/{node}: {}\n", places.join(", ")));
        }
    }
    text
}

/// Settings that differ from the preset on this release, or that it does not have.
fn otherwise(plan: &ClusterPlan) -> String {
    let Ok(release) = Release::facts_for(&plan.release) else {
        return String::new();
    };
    let mut text = String::new();
    let presets = plan.presets().into_iter();
    for w in presets.flat_map(|(preset, _)| written(preset, release)) {
        let (Some(why), setting) = (&w.why, w.setting) else {
            continue;
        };
        let own = match &w.own {
            Some((key, value)) => format!("{key}: {value}"),
            None => "left out".to_owned(),
        };
        let Setting { key, value, .. } = setting;
        let line = format!("  {key}: {value} -> {own} ({why})\n");
        if !text.contains(&line) {
            text.push_str(&line);
        }
    }
    if text.is_empty() {
        return text;
    }
    let version = &plan.release;
    format!("\nsettings of Cassandra {version} that differ from the preset:\n{text}")
}
