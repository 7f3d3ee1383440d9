//! The shape of a cluster to be: flags or a file into a topology, settings by data centre and node, distance as text.
//! Refuses a file beside flags that say the same.

use crate::cli::topology::TopologyArgs;
use crate::cli::{ClusterFlags, Up};
use crate::commands::topology::{distances, held};
use crate::error::{CommandError, code};
use helenus_cluster::lifecycle::UpRequest;
use helenus_cql::input;
use helenus_model::like::Manifest;
use helenus_model::plan::{ClusterPlan, NodeWords};
use helenus_model::preset::PresetName;
use helenus_model::release::{KeyError, Release};
use helenus_model::topology::file::{self, TopologyFile};
use helenus_model::topology::flags::TopologyFlags;
use helenus_model::topology::link::LinkPreset;
use helenus_model::topology::{Topology, TopologyError, Words};
use std::path::Path;

/// What was asked for, from flags or from a file.
pub(crate) struct Shape {
    topology: Topology,
    /// What the file or a flag says.
    pub(crate) preset: Option<PresetName>,
    /// The flags, with the release of the file.
    pub(crate) cluster: ClusterFlags,
    words: Words,
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<TopologyFile, CommandError> {
    let text = input::text(path)?;
    file::read(&text).map_err(|e| CommandError::from(e).within(&path.display().to_string()))
}

/// What the flags of `up` ask for.
pub(crate) fn of(flags: &Up) -> Result<Shape, CommandError> {
    let mut cluster = flags.cluster.clone();
    let preset = flags.preset;
    let Some(path) = &flags.topology.topology else {
        return Ok(Shape {
            topology: from_flags(&flags.topology, &cluster).topology()?,
            preset,
            cluster,
            words: Words::default(),
        });
    };
    let file = read(path)?;
    let place = path.display().to_string();
    let of_file = file.preset.as_deref().map(|name| named(name, &place));
    // A flag wins over the file.
    if let Some(release) = file.cassandra
        && cluster.cassandra == "5.0"
        && cluster.cassandra_home.is_none()
    {
        cluster.cassandra = release;
    }
    cluster.disk = cluster.disk.or(file.words.disk);
    cluster.node.heap = cluster.node.heap.or(file.words.heap);
    cluster.node.new_heap = cluster.node.new_heap.or(file.words.new_heap);
    cluster
        .node
        .set
        .splice(0..0, file.words.set.iter().cloned());
    Ok(Shape {
        topology: file.topology,
        preset: preset.or(of_file.transpose()?),
        cluster,
        words: Words {
            jvm: file.words.jvm,
            ..Words::default()
        },
    })
}

/// What the flags of `up` ask for beside a manifest, which has the data centres and their nodes.
pub(crate) fn of_manifest(flags: &Up, manifest: &Manifest) -> Result<Shape, CommandError> {
    let mut cluster = flags.cluster.clone();
    let said = &flags.topology;
    let conflicts = [
        ("-n", cluster.nodes.text != "1"),
        ("--dc", !cluster.dc.is_empty()),
        ("--coordinators", cluster.coordinators != 0),
        ("--racks", said.racks.is_some()),
        ("--topology", said.topology.is_some()),
    ];
    if let Some((flag, _)) = conflicts.iter().find(|(_, given)| *given) {
        let what = format!("{flag} conflicts with the manifest of --like");
        return Err(CommandError::new(code::USAGE, what).hint(format!(
            "the manifest has the data centres, racks and nodes: leave {flag} out, or change a copy of the file"
        )));
    }
    // A flag wins over the file.
    if let Some(release) = &manifest.release
        && cluster.cassandra == "5.0"
        && cluster.cassandra_home.is_none()
    {
        cluster.cassandra.clone_from(release);
    }
    let mut topology = distant(manifest.topology.clone(), said)?;
    // Flags of a data centre come last on the command line of its nodes.
    let name = |flag: &String| flag.split('=').next().map(|name| name.replace(":-", ":+"));
    for dc in &mut topology.data_centers {
        let own = |flag: &String| {
            cluster
                .node
                .jvm
                .iter()
                .any(|given| name(given) == name(flag))
        };
        dc.words.jvm.retain(|flag| !own(flag));
    }
    Ok(Shape {
        topology,
        preset: flags.preset,
        cluster,
        words: Words {
            jvm: manifest.jvm.clone(),
            ..Words::default()
        },
    })
}

/// The topology with the distances of the flags.
fn distant(mut topology: Topology, flags: &TopologyArgs) -> Result<Topology, TopologyError> {
    if let Some(name) = &flags.links {
        let preset = LinkPreset::find(name).ok_or_else(|| TopologyError::Preset(name.clone()))?;
        topology.use_links(preset)?;
    }
    for text in &flags.rtt {
        topology.set_rtt(text)?;
    }
    if let Some(wan) = flags.wan {
        topology.held_by(wan)?;
    }
    Ok(topology)
}

/// The preset of that name, which stands at `place`.
pub(crate) fn named(name: &str, place: &str) -> Result<PresetName, CommandError> {
    let mut all = PresetName::ALL.into_iter();
    let found = all.find(|preset| preset.word().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let known = PresetName::ALL.map(|p| p.word().to_owned());
        CommandError::new(code::USAGE, format!("no such preset: {name}"))
            .within(place)
            .hint(helenus_model::topology::name_hint(name, &known))
    })
}

/// The model's form of the flags.
fn from_flags(flags: &TopologyArgs, cluster: &ClusterFlags) -> TopologyFlags {
    TopologyFlags {
        nodes: Some(cluster.nodes.text.clone()),
        data_centers: cluster.dc.clone(),
        racks: flags.racks,
        coordinators: cluster.coordinators,
        rtt: flags.rtt.clone(),
        links: flags.links.clone(),
        wan: flags.wan,
    }
}

impl Shape {
    /// Puts the shape into a request, with the settings of data centres and nodes checked.
    pub(crate) fn put(&self, request: &mut UpRequest) -> Result<(), CommandError> {
        request
            .spec
            .jvm
            .splice(0..0, self.words.jvm.iter().cloned());
        let release = super::facts(&request.source)?;
        request.spec.by_node = by_node(&self.topology, release)?;
        request.spec.topology = self.topology.clone();
        super::tiers::put(&self.cluster, request)
    }
}

/// What single nodes are given, in the topology's order, with settings checked; none where none is given anything.
pub(crate) fn by_node(
    topology: &Topology,
    release: &Release,
) -> Result<Vec<NodeWords>, CommandError> {
    let places = topology.places();
    if places.iter().all(|place| place.words.is_empty()) {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for place in &places {
        let dc = &topology.data_centers[place.data_center].name;
        let preset = place.words.preset.as_deref();
        let mut words = NodeWords {
            preset: preset.map(|name| named(name, dc)).transpose()?,
            set: Vec::new(),
            jvm: place.words.jvm.clone(),
            disk: place.words.disk,
            heap: place.words.heap,
            new_heap: place.words.new_heap,
            pin: None,
            folders: None,
        };
        for text in &place.words.set {
            let wrong = |e: KeyError| CommandError::from(e).within(dc);
            let (key, value) = helenus_model::release::split_assignment(text).map_err(wrong)?;
            let checked = release.check(key, value).map_err(wrong)?;
            words.set.push((checked.name, checked.value));
        }
        all.push(words);
    }
    Ok(all)
}

/// The distance of a plan, for a dry run.
pub(super) fn network_text(plan: &ClusterPlan) -> String {
    match &plan.network {
        None => String::new(),
        Some(network) => {
            let names: Vec<String> = network.sites.iter().map(|s| s.name.clone()).collect();
            format!(
                "\n{}{}",
                distances(&names, &network.links),
                held(network.wan)
            )
        }
    }
}
