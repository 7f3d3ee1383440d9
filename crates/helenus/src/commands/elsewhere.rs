//! Clusters that are planned here and run elsewhere: the plan, from flags, a topology or a cluster of this machine.
//! Refuses to look whether their machines hold them.

use crate::cli::elsewhere::Elsewhere;
use crate::cli::topology::Nodes;
use crate::commands::up::{self, shape};
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::archive;
use helenus_cluster::context::Context;
use helenus_cql::input;
use helenus_model::kube::pod::DATA_FOLDER;
use helenus_model::like::manifest;
use helenus_model::machine::Machine;
use helenus_model::plan::{ClusterPlan, ClusterSpec, PlanRequest, STANDARD_PORTS, plan};
use helenus_model::preset::PresetName;
use helenus_model::release::Release;
use helenus_model::topology::file::TopologyFile;
use helenus_model::topology::flags::TopologyFlags;
use helenus_model::topology::{Words, check_cluster_name};
use helenus_model::units::Bytes;
use std::net::Ipv4Addr;
use std::path::Path;

/// More memory than any plan wants: whether it fits is a question of the workers.
const ANY_MEMORY: Bytes = Bytes(1 << 50);

/// A planned cluster, and what it was planned from where that is not the plan of another one.
pub(super) type Asked = (ClusterPlan, Option<PlanRequest>);

/// The plan of the cluster that the flags name or describe.
pub(super) fn asked(flags: &Elsewhere, context: &Context, ui: &Ui) -> Result<Asked, CommandError> {
    if let Some(path) = &flags.from {
        return of_another(flags, path, ui);
    }
    let Some(what) = &flags.what else {
        return of_flags(flags, ui);
    };
    let path = Path::new(what);
    if path.is_file() || what.contains('/') || what.contains('.') {
        let file = shape::read(path)?;
        return planned(
            flags,
            file,
            path.file_stem().and_then(|stem| stem.to_str()),
            ui,
        );
    }
    let state = context.clusters.load(what)?;
    let mut plan = state.plan;
    if let Some(name) = &flags.name {
        plan.name.clone_from(name);
    }
    Ok((plan, None))
}

/// The nodes of a file of another tool, and its release where it names one.
fn of_another(flags: &Elsewhere, path: &Path, ui: &Ui) -> Result<Asked, CommandError> {
    let shown = path.display().to_string();
    let read = manifest(&input::text(path)?);
    let read = read.map_err(|e| CommandError::from(e).within(&shown));
    let Some(found) = read? else {
        let text = format!("{shown} is not an inventory, a Compose file or a Kubernetes manifest");
        return Err(CommandError::new(code::USAGE, text)
            .hint("a topology in TOML is named without --from".to_owned()));
    };
    let file = TopologyFile {
        topology: found.topology,
        cassandra: found.release,
        preset: None,
        words: Words::default(),
    };
    planned(
        flags,
        file,
        path.file_stem().and_then(|stem| stem.to_str()),
        ui,
    )
}

fn of_flags(flags: &Elsewhere, ui: &Ui) -> Result<Asked, CommandError> {
    let Nodes { text, .. } = &flags.nodes;
    let said = TopologyFlags {
        nodes: Some(text.clone()),
        data_centers: flags.dc.clone(),
        racks: flags.racks,
        coordinators: flags.coordinators,
        ..TopologyFlags::default()
    };
    let file = TopologyFile {
        topology: said.topology()?,
        cassandra: None,
        preset: None,
        words: Words::default(),
    };
    planned(flags, file, None, ui)
}

/// Plans a topology; a flag wins over the file.
fn planned(
    flags: &Elsewhere,
    file: TopologyFile,
    stem: Option<&str>,
    ui: &Ui,
) -> Result<Asked, CommandError> {
    let name = flags.name.as_deref().or(stem).unwrap_or("cassandra");
    check_cluster_name(name)?;
    let release = flags.cassandra.as_deref().or(file.cassandra.as_deref());
    let release = Release::find(release.unwrap_or("5.0"))?;
    let preset = match (flags.preset, &file.preset) {
        (Some(preset), _) => preset,
        (None, Some(name)) => shape::named(name, "the topology")?,
        (None, None) => PresetName::Tiny,
    };
    let topology = file.topology;
    let mut by_node = shape::by_node(&topology, release)?;
    if topology.has_network() {
        ui.note("note: the distances of the topology are emulated on this machine only");
    }
    if by_node.iter().any(|words| words.disk.is_some()) || file.words.disk.is_some() {
        ui.note("note: the disks in memory of the topology are of this machine only: there, nodes write to their volumes");
    }
    by_node.iter_mut().for_each(|words| words.disk = None);
    let texts: Vec<String> = file
        .words
        .set
        .iter()
        .chain(&flags.node.set)
        .cloned()
        .collect();
    let jvm = file.words.jvm.iter().chain(&flags.node.jvm);
    let request = PlanRequest {
        addresses: addresses(topology.nodes()),
        spec: ClusterSpec {
            heap: flags.node.heap.or(file.words.heap),
            new_heap: flags.node.new_heap.or(file.words.new_heap),
            tokens: flags.node.tokens,
            set: up::checked(release, &texts, ui)?,
            jvm: jvm.cloned().collect(),
            security: flags.node.security(flags.client_auth),
            cpus: flags.cpus,
            archive: archive::of_release(release.version),
            by_node,
            ..ClusterSpec::new(name, topology, preset)
        },
        release: release.version.to_owned(),
        machine: Machine {
            cores: flags.worker_cpus,
            memory: flags.worker_memory,
            arch: "x86_64".to_owned(),
            kernel: String::new(),
            processor: String::new(),
        },
        ports: STANDARD_PORTS,
        folder: DATA_FOLDER.to_owned(),
        available: ANY_MEMORY,
        network: None,
    };
    let plan = plan(&request)?;
    Ok((plan, Some(request)))
}

/// Addresses that stand for those of pods, from the block for documentation; a rendering has none of them.
fn addresses(nodes: usize) -> Vec<Ipv4Addr> {
    (1..=nodes)
        .map(|k| Ipv4Addr::from(u32::from(Ipv4Addr::new(192, 0, 2, 0)) + k as u32))
        .collect()
}
