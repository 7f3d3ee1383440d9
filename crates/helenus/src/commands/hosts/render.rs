//! `helenus hosts render`: a cluster as files of a tool, on standard output or in a folder.
//! Refuses a folder with files of somebody else: the tool would take them, too.

use crate::cli::elsewhere::Elsewhere;
use crate::cli::hosts::{Containers, HostsPlace, Render};
use crate::commands::elsewhere::asked;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_cluster::hosts;
use helenus_cql::input;
use helenus_model::hosts::options::{Form, HostsError, Login, Options};
use helenus_model::hosts::{HostsPlan, machines, render};
use helenus_model::like::{InventoryHost, inventory};
use helenus_model::plan::ClusterPlan;
use helenus_model::units::plural;
use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs as _};
use std::path::Path;

impl Answers for HostsPlan {
    fn answer(&self) -> String {
        format!(
            "cluster {}: Cassandra {}, {}, as {}",
            self.name,
            self.release,
            plural(self.nodes.len(), "node"),
            self.form.word()
        )
    }
}

pub(super) fn run(flags: &Render, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (planned, _) = asked(&flags.cluster, context, ui)?;
    let more = Some(&flags.more);
    let options = options(flags.form, (&flags.cluster, &flags.place, more), &planned)?;
    let plan = render(&planned, &options)?;
    for caution in &plan.cautions {
        ui.caution(caution);
    }
    if let Some(folder) = flags.output.as_deref().filter(|_| !flags.dry_run) {
        write(&plan, folder)?;
        ui.result(&plan, || {
            let written = plural(plan.files.len(), "file");
            text(&plan, folder) + &format!("\n{written} written to {}\n", folder.display())
        });
    } else if flags.dry_run {
        let folder = flags.output.as_deref().unwrap_or(Path::new("DIR"));
        ui.result(&plan, || {
            text(&plan, folder) + "\nnothing was written (--dry-run)\n"
        });
    } else {
        ui.result(&plan, || plan.stream());
    }
    Ok(0)
}

/// What the flags ask for beside the cluster's plan.
pub(super) fn options(
    form: Form,
    (cluster, place, more): (&Elsewhere, &HostsPlace, Option<&Containers>),
    planned: &ClusterPlan,
) -> Result<Options, CommandError> {
    let HostsPlace {
        hosts,
        user,
        key,
        ssh_port,
        no_machine,
        memory_limit,
    } = place;
    let (hosts, known) = match (hosts, &cluster.from) {
        (Some(hosts), _) => (Some(hosts.clone()), None),
        (None, Some(path)) if form == Form::Ansible || form == Form::Tofu => {
            inventoried(path, planned)?
        }
        (None, _) => (None, None),
    };
    let (known_user, known_key) = known.unwrap_or_default();
    let hosts = match &hosts {
        None => Vec::new(),
        Some(text) => machines::parse(text, &planned.name, &resolve).map_err(HostsError::from)?,
    };
    let mut options = Options {
        hosts,
        login: Login {
            user: user.clone().or(known_user),
            key: key
                .as_ref()
                .map(|key| key.display().to_string())
                .or(known_key),
            port: *ssh_port,
        },
        machine: !no_machine,
        memory_limit: *memory_limit,
        cpus: cluster.worker_cpus,
        memory: cluster.worker_memory,
        ..Options::new(form, &planned.release)
    };
    if let Some(more) = more {
        options.image = more.image.clone().unwrap_or(options.image);
        options.network = more.network;
        options.provider = more.provider;
        options.disk = more.disk;
    }
    Ok(options)
}

/// Hosts as `--hosts` takes them, and the user and key of a login.
type Inventoried = (Option<String>, Option<(Option<String>, Option<String>)>);

/// The hosts of an inventory in the order of the nodes; none where the file is another.
fn inventoried(path: &Path, planned: &ClusterPlan) -> Result<Inventoried, CommandError> {
    let Some(found) = inventory(&input::text(path)?) else {
        return Ok((None, None));
    };
    let nodes = planned.nodes.iter();
    let places = nodes.map(|node| (&*node.data_center, &*node.rack));
    let places: Vec<(&str, &str)> = places.collect();
    let hosts = found.in_order(&places);
    let one = |host: &&InventoryHost| {
        format!(
            "{}={}",
            host.name,
            host.address.as_deref().unwrap_or(&host.name)
        )
    };
    let hosts: Vec<String> = hosts.iter().map(one).collect();
    Ok((Some(hosts.join(",")), Some((found.user, found.key))))
}

/// The IPv4 address of a host name, as this machine knows it.
fn resolve(name: &str) -> Option<Ipv4Addr> {
    let addresses = (name, 22).to_socket_addrs().ok()?;
    addresses.map(|at| at.ip()).find_map(|ip| match ip {
        IpAddr::V4(ip) => Some(ip),
        IpAddr::V6(_) => None,
    })
}

/// How names begin of what the tools and the steps of a rendering keep beside its files.
const KEPT: [&str; 7] = [
    ".",
    "tls",
    "terraform.tf",
    "plan.bin",
    "machines.yml",
    "image.yml",
    "jars-",
];

/// Writes the files, each whole; a folder with others is an error.
fn write(plan: &HostsPlan, folder: &Path) -> Result<(), CommandError> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let ours = plan.files.iter().any(|file| {
            let first = Path::new(&file.path).iter().next();
            first == Some(&name)
        });
        let theirs = name.to_string_lossy();
        let kept = KEPT.iter().any(|own| theirs.starts_with(own));
        if !ours && !kept {
            let text = format!(
                "{} has {theirs}, which is not part of this rendering",
                folder.display()
            );
            return Err(CommandError::new(code::USAGE, text)
                .hint("remove it, or name another folder".to_owned()));
        }
    }
    Ok(hosts::write(plan, folder)?)
}

/// The files of a rendering, and what is done beside running it.
fn text(plan: &HostsPlan, folder: &Path) -> String {
    let shown = folder.display().to_string();
    let step = |step: &String| format!("  {}\n", step.replace("DIR", &shown));
    let steps: String = plan.steps.iter().map(step).collect();
    format!("{}\n{}\n\nsteps:\n{steps}", files(plan), plan.answer())
}

/// The files of a rendering as a table; those of a node, of a role or of all hosts in one line.
pub(super) fn files(plan: &HostsPlan) -> String {
    let mut table = Table::new(&["file", ">lines", "what it has"]);
    let mut groups: Vec<(String, usize, usize, &str)> = Vec::new();
    for file in &plan.files {
        let folders: Vec<&str> = file.path.split('/').collect();
        let shown = match &folders[..] {
            ["files" | "roles", name, _, ..] => format!("{}/{name}/", folders[0]),
            ["host_vars", _] => "host_vars/".to_owned(),
            _ => file.path.clone(),
        };
        let lines = file.text.lines().count();
        match groups.iter_mut().find(|(name, ..)| *name == shown) {
            Some((_, count, sum, _)) => {
                *count += 1;
                *sum += lines;
            }
            None => groups.push((shown, 1, lines, &file.about)),
        }
    }
    for (name, count, lines, about) in groups {
        let about = match (name.as_str(), count) {
            (_, 1) => about.to_owned(),
            ("host_vars/", n) => format!("the nodes of each host: {}", plural(n, "file")),
            (name, n) if name.starts_with("files/") => {
                format!("configuration: {}", plural(n, "file"))
            }
            (_, n) => format!("{about}: {}", plural(n, "file")),
        };
        table.row([name, lines.to_string(), about]);
    }
    table.render()
}
