//! `helenus topology`: files checked, files and clusters shown, the measured distances.
//! Refuses to change anything.

use super::up::shape;
use crate::cli::topology::{TopologyVerb, TopologyWhat};
use crate::error::CommandError;
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::state::ClusterState;
use helenus_model::format::Format;
use helenus_model::topology::link::{Directed, LINK_PRESETS, LinkPreset};
use helenus_model::topology::wan::Wan;
use helenus_model::units::{Bytes, plural};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A topology as it is shown.
#[derive(Serialize)]
struct Shown {
    format: Format,
    /// How many nodes there are.
    nodes: usize,
    /// The data centres, in order.
    data_centers: Vec<ShownDataCenter>,
    /// Links, a direction each; empty on loopback.
    links: Vec<Directed>,
    /// What delays the packets.
    #[serde(skip_serializing_if = "Wan::is_default")]
    wan: Wan,
}

impl Answers for Shown {
    fn answer(&self) -> String {
        let distance = match self.links.len() {
            0 => NO_DISTANCE.to_owned(),
            n => plural(n, "link"),
        };
        format!(
            "{} in {}; {distance}",
            plural(self.nodes, "node"),
            plural(self.data_centers.len(), "data centre")
        )
    }
}

#[derive(Serialize)]
struct ShownDataCenter {
    /// Its name.
    name: String,
    /// Nodes by rack, coordinators left out.
    racks: BTreeMap<String, Vec<String>>,
    /// Coordinators, which own no data.
    coordinators: Vec<String>,
    /// Presets that nodes have in place of the cluster's, by node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    presets: BTreeMap<String, String>,
    /// Sizes of the disks in memory that nodes have, by node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    disks: BTreeMap<String, Bytes>,
}

const NO_DISTANCE: &str = "no distance: the nodes are on loopback";

/// A node as it is shown.
struct ShownNode {
    name: String,
    data_center: String,
    rack: String,
    coordinator: bool,
    preset: Option<String>,
    disk: Option<Bytes>,
}

pub(crate) fn run(flags: &TopologyVerb, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &flags.what {
        TopologyWhat::Check { file } => of_file(file, ui),
        TopologyWhat::Show { what } => {
            let path = Path::new(what);
            if path.is_file() || what.contains('/') {
                return of_file(path, ui);
            }
            of_cluster(&context.clusters.load(what)?, ui);
            Ok(0)
        }
        TopologyWhat::Links => {
            links(ui);
            Ok(0)
        }
    }
}

fn of_file(path: &Path, ui: &Ui) -> Result<u8, CommandError> {
    let file = shape::read(path)?;
    let topology = file.topology;
    let places = topology.places().into_iter().enumerate();
    let nodes = places.map(|(k, place)| ShownNode {
        name: format!("node{}", k + 1),
        data_center: topology.data_centers[place.data_center].name.clone(),
        rack: place.rack,
        coordinator: place.coordinator,
        preset: place.words.preset,
        disk: place.words.disk.or(file.words.disk),
    });
    show(nodes, topology.links.clone(), topology.wan, ui);
    Ok(0)
}

fn of_cluster(state: &ClusterState, ui: &Ui) {
    let nodes = state.plan.nodes.iter().map(|node| ShownNode {
        name: node.name.clone(),
        data_center: node.data_center.clone(),
        rack: node.rack.clone(),
        coordinator: node.coordinator,
        preset: node
            .own
            .filter(|own| own.preset != state.plan.preset)
            .map(|own| own.preset.word().to_owned()),
        disk: node.disk,
    });
    let network = state.plan.network.as_ref();
    show(
        nodes,
        network.map(|n| n.links.clone()).unwrap_or_default(),
        network.map(|n| n.wan).unwrap_or_default(),
        ui,
    );
}

fn show(nodes: impl Iterator<Item = ShownNode>, links: Vec<Directed>, wan: Wan, ui: &Ui) {
    let mut shown = Shown {
        format: Format::new("topology", 1),
        nodes: 0,
        data_centers: Vec::new(),
        links,
        wan,
    };
    for node in nodes {
        shown.nodes += 1;
        let last = shown.data_centers.last();
        if last.is_none_or(|last| last.name != node.data_center) {
            shown.data_centers.push(ShownDataCenter {
                name: node.data_center,
                racks: BTreeMap::new(),
                coordinators: Vec::new(),
                presets: BTreeMap::new(),
                disks: BTreeMap::new(),
            });
        }
        if let Some(last) = shown.data_centers.last_mut() {
            if let Some(preset) = node.preset {
                last.presets.insert(node.name.clone(), preset);
            }
            if let Some(disk) = node.disk {
                last.disks.insert(node.name.clone(), disk);
            }
            if node.coordinator {
                last.coordinators.push(node.name);
            } else {
                last.racks.entry(node.rack).or_default().push(node.name);
            }
        }
    }
    ui.result(&shown, || text(&shown));
}

fn text(shown: &Shown) -> String {
    let mut text = String::new();
    for dc in &shown.data_centers {
        text.push_str(&format!("{}\n", dc.name));
        for (rack, nodes) in &dc.racks {
            text.push_str(&format!("  {rack}  {}\n", nodes.join(" ")));
        }
        if !dc.coordinators.is_empty() {
            text.push_str(&format!(
                "  coordinator-only  {}\n",
                dc.coordinators.join(" ")
            ));
        }
        let mut by_preset: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (node, preset) in &dc.presets {
            by_preset.entry(preset).or_default().push(node);
        }
        for (preset, nodes) in by_preset {
            text.push_str(&format!("  preset {preset}  {}\n", nodes.join(" ")));
        }
        let mut by_disk: BTreeMap<Bytes, Vec<&str>> = BTreeMap::new();
        for (node, disk) in &dc.disks {
            by_disk.entry(*disk).or_default().push(node);
        }
        for (disk, nodes) in by_disk {
            text.push_str(&format!("  disk {disk} in memory  {}\n", nodes.join(" ")));
        }
    }
    let names: Vec<String> = shown
        .data_centers
        .iter()
        .map(|dc| dc.name.clone())
        .collect();
    if shown.links.is_empty() {
        text.push_str(&format!("\n{NO_DISTANCE}\n"));
    } else {
        let table = distances(&names, &shown.links);
        text.push_str(&format!("\n{table}{}", held(shown.wan)));
    }
    text
}

/// Milliseconds of microseconds, as short as they can be.
pub(crate) fn ms(micros: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "at most a minute")]
    let ms = micros as f64 / 1e3;
    format!("{ms} ms")
}

/// A line that says who holds what crosses, where that is not the usual one.
pub(crate) fn held(wan: Wan) -> &'static str {
    match wan {
        Wan::Queue => "",
        Wan::Netem => "delayed by the kernel's netem\n",
    }
}

/// Links as a table, a row a direction; one row a pair where both directions are alike.
pub(crate) fn distances(names: &[String], links: &[Directed]) -> String {
    let of = |a: &str, b: &str| links.iter().find(|l| l.from == a && l.to == b);
    let mut table = Table::new(&[
        "link",
        ">round trip",
        ">one way",
        ">jitter",
        ">loss",
        ">rate",
    ]);
    for (k, a) in names.iter().enumerate() {
        for b in &names[k + 1..] {
            let (Some(there), Some(back)) = (of(a, b), of(b, a)) else {
                continue;
            };
            let rtt = ms(there.link.delay_us + back.link.delay_us);
            if there.link == back.link {
                table.row(row(&format!("{a} - {b}"), &rtt, there));
            } else {
                table.row(row(&format!("{a} > {b}"), &rtt, there));
                table.row(row(&format!("{b} > {a}"), &rtt, back));
            }
        }
    }
    table.render()
}

fn row(name: &str, rtt: &str, directed: &Directed) -> [String; 6] {
    let link = directed.link;
    let none = || "-".to_owned();
    if link.cut {
        let cut = || "cut".to_owned();
        return [name.to_owned(), cut(), cut(), none(), none(), none()];
    }
    [
        name.to_owned(),
        rtt.to_owned(),
        ms(link.delay_us),
        if link.jitter_us == 0 {
            none()
        } else {
            ms(link.jitter_us)
        },
        match link.loss_ppm {
            0 => none(),
            ppm => format!("{} %", f64::from(ppm) / 1e4),
        },
        link.rate_bits.map_or_else(none, |bits| {
            #[expect(clippy::cast_precision_loss, reason = "printed in millions")]
            let millions = bits as f64 / 1e6;
            format!("{millions} Mbit/s")
        }),
    ]
}

#[derive(Serialize)]
struct LinkPresets {
    format: Format,
    /// The presets.
    presets: [LinkPreset; 4],
}

impl Answers for LinkPresets {
    fn answer(&self) -> String {
        let names = self.presets.each_ref().map(|preset| preset.name);
        format!("{} presets of links: {}", names.len(), names.join(", "))
    }
}

fn links(ui: &Ui) {
    let list = LinkPresets {
        format: Format::new("link-presets", 1),
        presets: LINK_PRESETS,
    };
    ui.result(&list, || {
        let mut table = Table::new(&["links", "DC1, DC2, DC3", ">DC1-DC2", ">DC1-DC3", ">DC2-DC3"]);
        for preset in &LINK_PRESETS {
            let [a, b, c] = preset.rtt_us.map(ms);
            table.row([preset.name.to_owned(), preset.places.join(", "), a, b, c]);
        }
        format!("{}\n{}\n", table.render(), LINK_PRESETS[0].source)
    });
}
