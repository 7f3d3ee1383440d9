//! A plan of a machine as flags of `up` and words of its nodes: settings, processors, memory, folders.
//! Refuses a plan that this machine cannot follow.

use crate::cli::machine::Instances;
use crate::cli::topology::Nodes;
use crate::cli::{ClusterFlags, PinArg, Up};
use crate::commands::machine;
use crate::error::{CommandError, code};
use crate::ui::Ui;
use helenus_cluster::context::Context;
use helenus_cql::input;
use helenus_model::plan::{Folders, NodeWords};
use helenus_model::preset::PresetName;
use helenus_model::release::Release;
use helenus_model::sizing::{Instance, MachinePlan, Purpose, Sizing, Wish, plan};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Puts the plan that was named, or made for this machine, before what a person says, which wins. What single nodes are
/// given comes back, in their order; nothing where none is given anything.
pub(super) fn follow(
    flags: &mut Up,
    context: &Context,
    ui: &Ui,
) -> Result<Vec<NodeWords>, CommandError> {
    let (plan, place) = match (&flags.plan, flags.instances) {
        (Some(path), _) => (read(path)?, path.display().to_string()),
        (None, Some(asked)) => (
            of_this_machine(flags, asked, context)?,
            "--instances".into(),
        ),
        (None, None) if flags.pin.is_some() => {
            let text = "--pin wants instances that a plan has laid out";
            return Err(CommandError::new(code::USAGE, text)
                .hint("add --instances auto, a number of instances, or --plan FILE".to_owned()));
        }
        (None, None) => return Ok(Vec::new()),
    };
    if flags.cluster.node_cpus.is_some() {
        let text = "--node-cpus and a plan of instances both decide where nodes run";
        return Err(CommandError::new(code::USAGE, text)
            .hint("leave --node-cpus out, or --instances and --plan".to_owned()));
    }
    let count = plan.instances.len();
    let Some(first) = plan.instances.first() else {
        let text = "the plan has no instance".to_owned();
        return Err(CommandError::new(code::USAGE, text)
            .within(&place)
            .hint("`helenus plan -o FILE` writes one".to_owned()));
    };
    let cluster = &mut flags.cluster;
    if cluster.cassandra == "5.0" && cluster.cassandra_home.is_none() {
        cluster.cassandra.clone_from(&plan.release);
    }
    flags.preset = flags.preset.or(Some(PresetName::Bench));
    let release = super::facts(&super::source(cluster))?;
    let said = cluster.clone();
    let alike =
        |one: &Instance| (one.heap, &one.set, &one.jvm) == (first.heap, &first.set, &first.jvm);
    let alike = plan.instances.iter().all(alike);
    if alike {
        put(first, cluster);
    }
    if count > 1 {
        cluster.nodes = Nodes {
            text: count.to_string(),
            total: u32::try_from(count).unwrap_or(u32::MAX),
        };
    }
    let here = machine::from(None, context)?;
    let words = plan.instances.iter().map(|instance| {
        let mut words = match alike {
            true => NodeWords::default(),
            false => own_words(instance, &said, release)?,
        };
        if flags.pin.unwrap_or(PinArg::Numa) == PinArg::Numa {
            let pin = instance.pin(&here);
            words.pin = pin.map_err(|e| CommandError::from(e).within(&place))?;
        }
        if said.data_dir.is_empty() && said.commitlog_dir.is_none() {
            words.folders = folders(instance).map_err(|e| e.within(&place))?;
        }
        Ok(words)
    });
    let words = words.collect::<Result<Vec<_>, CommandError>>()?;
    let has_addresses = first.address.is_some() || plan.instances.iter().any(|one| one.add_address);
    if has_addresses && flags.addresses.is_none() {
        ui.note("note: addresses of the plan are not used: nodes are on loopback, each with its address and the same ports; --interface and --addresses put them on a network");
    }
    let given = words.iter().any(|words| *words != NodeWords::default());
    Ok(if given { words } else { Vec::new() })
}

fn read(path: &Path) -> Result<MachinePlan, CommandError> {
    MachinePlan::parse(&input::text(path)?)
        .map_err(|e| CommandError::from(e).within(&path.display().to_string()))
}

fn of_this_machine(
    flags: &Up,
    asked: Instances,
    context: &Context,
) -> Result<MachinePlan, CommandError> {
    let machine = machine::from(None, context)?;
    Ok(plan(&Sizing {
        machine: &machine,
        release: super::facts(&super::source(&flags.cluster))?,
        purpose: Purpose::Throughput,
        wish: Wish::default(),
        instances: asked.number(),
    })?)
}

/// The settings of an instance before those of a person; of the JVM's flags, the last one counts.
fn put(instance: &Instance, cluster: &mut ClusterFlags) {
    cluster.node.heap = cluster.node.heap.or(Some(instance.heap));
    // JSON is YAML.
    let set = instance.set.iter();
    let set = set.map(|(key, value)| format!("{key}={value}"));
    cluster.node.set.splice(0..0, set);
    cluster.node.jvm.splice(0..0, instance.jvm.iter().cloned());
}

/// The same as one node's, where instances differ: what a person says of all is left out.
fn own_words(
    instance: &Instance,
    said: &ClusterFlags,
    release: &'static Release,
) -> Result<NodeWords, CommandError> {
    let names = |flag: &str| {
        let name = flag.split('=').next().unwrap_or(flag);
        name.replace(":-", ":+")
    };
    let said_flag = |flag: &&String| !said.node.jvm.iter().any(|own| names(own) == names(flag));
    let mut set = Vec::new();
    for (key, value) in &instance.set {
        let checked = release.check(key, &value.to_string())?;
        let begins = format!("{key}=");
        let name = format!("{}=", checked.name);
        let of_person = |own: &String| own.starts_with(&begins) || own.starts_with(&name);
        if !said.node.set.iter().any(of_person) {
            set.push((checked.name, checked.value));
        }
    }
    Ok(NodeWords {
        heap: said.node.heap.is_none().then_some(instance.heap),
        set,
        jvm: instance.jvm.iter().filter(said_flag).cloned().collect(),
        ..NodeWords::default()
    })
}

/// The folders of an instance. They are of other disks than the system's, so that a disk that is not mounted shows.
fn folders(instance: &Instance) -> Result<Option<Folders>, CommandError> {
    let folders = Folders {
        data: instance.data_dirs.clone(),
        commitlog: instance.commitlog_dir.clone(),
    };
    let device = |path: &Path| fs_err::metadata(path).map(|meta| meta.dev()).ok();
    let root = device(Path::new("/"));
    for folder in folders.all() {
        let there = Path::new(folder).ancestors().find(|path| path.exists());
        if there.and_then(device) == root {
            let text =
                format!("{folder} is on the system's disk: is the disk of the plan mounted?");
            return Err(CommandError::new(code::ENVIRONMENT, text).hint(
                "mount it, name another folder with --data-dir, or delete data_dirs and commitlog_dir in the plan: by default, data are in the state folder"
                    .to_owned(),
            ));
        }
    }
    Ok((!folders.is_none()).then_some(folders))
}
