//! `helenus link`: the links of a cluster shown, measured, changed while they work.
//! Refuses a cluster on loopback, where there is no distance.

use super::topology::distances;
use crate::cli::topology::Link;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::error::{ClusterError, with_causes};
use helenus_cluster::net::client::Keeper;
use helenus_cluster::net::control::Status;
use helenus_cluster::net::echo::Echo;
use helenus_cluster::state::ClusterState;
use helenus_model::format::Format;
use helenus_model::network::NetworkPlan;
use helenus_model::topology::link::{Directed, LinkWords};
use helenus_model::topology::wan::Wan;
use helenus_model::units::plural;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Shown {
    format: Format,
    /// The cluster.
    cluster: String,
    /// Whether nothing was done.
    dry_run: bool,
    /// The network as its keeper reports it.
    network: Status,
    /// Round trips that were measured.
    round_trips: Vec<Echo>,
}

impl Answers for Shown {
    fn answer(&self) -> String {
        let links = &self.network.links;
        let cut = match links.iter().filter(|one| one.link.cut).count() {
            0 => "none is cut".to_owned(),
            1 => "1 is cut".to_owned(),
            n => format!("{n} are cut"),
        };
        let would = if self.dry_run { " would have" } else { " has" };
        let links = plural(links.len(), "link");
        format!("{}{would} {links}, one a direction; {cut}", self.cluster)
    }
}

pub(crate) fn run(flags: &Link, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let state = context.clusters.load(&flags.name)?;
    let network = network_of(&state)?;
    let pair = pair(flags, network)?;
    let words = words(flags);
    let keeper = Keeper::call(Path::new(&state.plan.folder))?;
    let changes = words != LinkWords::default();
    let directions: Vec<(Option<&str>, Option<&str>)> = match &pair {
        None => vec![(None, None)],
        Some((a, b)) if flags.one_way => vec![(Some(a), Some(b))],
        Some((a, b)) => vec![(Some(a), Some(b)), (Some(b), Some(a))],
    };
    if changes && !flags.dry_run {
        for (from, to) in &directions {
            keeper.change(*from, *to, words)?;
        }
    }
    let mut status = keeper.status()?;
    if changes && flags.dry_run {
        for link in &mut status.links {
            let is = |asked: Option<&str>, name: &str| asked.is_none_or(|asked| asked == name);
            if directions
                .iter()
                .any(|(f, t)| is(*f, &link.from) && is(*t, &link.to))
            {
                link.link = words.on(link.link);
            }
        }
    }
    let round_trips = match flags.measure {
        Some(samples) if !flags.dry_run => measure(&keeper, network, pair.as_ref(), samples, ui)?,
        _ => Vec::new(),
    };
    let shown = Shown {
        format: Format::new("links", 1),
        cluster: state.plan.name.clone(),
        dry_run: flags.dry_run,
        network: if flags.measure.is_some() && !flags.dry_run {
            keeper.status()?
        } else {
            status
        },
        round_trips,
    };
    ui.result(&shown, || text(&shown, network));
    Ok(0)
}

fn network_of(state: &ClusterState) -> Result<&NetworkPlan, CommandError> {
    state.plan.network.as_ref().ok_or_else(|| {
        let what = format!(
            "cluster {} has no links: it is on loopback",
            state.plan.name
        );
        let cure = "bring one up with distance: helenus up wan -n 3:3 --rtt 40ms";
        CommandError::new(code::USAGE, what).hint(cure.to_owned())
    })
}

fn words(flags: &Link) -> LinkWords {
    LinkWords {
        delay_us: flags.rtt.or(flags.delay),
        jitter_us: flags.jitter,
        loss_ppm: flags.loss,
        rate_bits: flags.rate,
        cut: match (flags.cut, flags.join) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        },
    }
}

/// The two data centres that were named.
fn pair(flags: &Link, network: &NetworkPlan) -> Result<Option<(String, String)>, CommandError> {
    let Some(text) = &flags.pair else {
        return Ok(None);
    };
    let names: Vec<String> = network.sites.iter().map(|s| s.name.clone()).collect();
    let form = || {
        CommandError::new(
            code::USAGE,
            format!("{text:?} is not a pair of data centres"),
        )
        .hint(format!(
            "write it like {}:{}",
            names[0],
            names[names.len() - 1]
        ))
    };
    let (a, b) = text.split_once(':').ok_or_else(form)?;
    for name in [a, b] {
        if !names.iter().any(|known| known == name) {
            let what = format!("no such data centre: {name}");
            return Err(CommandError::new(code::USAGE, what)
                .hint(helenus_model::topology::name_hint(name, &names)));
        }
    }
    if a == b {
        return Err(form());
    }
    Ok(Some((a.to_owned(), b.to_owned())))
}

/// Round trips between each two data centres, or the two that were named.
fn measure(
    keeper: &Keeper,
    network: &NetworkPlan,
    pair: Option<&(String, String)>,
    samples: u32,
    ui: &Ui,
) -> Result<Vec<Echo>, CommandError> {
    let names: Vec<&String> = network.sites.iter().map(|site| &site.name).collect();
    let mut pairs = Vec::new();
    for (k, a) in names.iter().enumerate() {
        pairs.extend(names[k + 1..].iter().map(|b| ((*a).clone(), (*b).clone())));
    }
    if let Some(pair) = pair {
        pairs = vec![pair.clone()];
    }
    // As they are, not as they were set: a fault may have cut some.
    let status = keeper.status()?;
    pairs.retain(|(a, b)| {
        let open = !status.is_cut(a, b);
        if !open {
            ui.caution(&format!("{a} - {b} is cut, and not measured"));
        }
        open
    });
    let progress = ui.progress("measuring round trips");
    let mut echoes = Vec::new();
    for (done, (a, b)) in pairs.iter().enumerate() {
        progress.at(done as u64, pairs.len() as u64);
        match keeper.echo(a, b, samples) {
            Ok(echo) => echoes.push(echo),
            Err(error) if done + 1 == pairs.len() && echoes.is_empty() => {
                return Err(ClusterError::from(error).into());
            }
            Err(error) => ui.caution(&format!("{a} - {b}: {}", with_causes(&error))),
        }
    }
    Ok(echoes)
}

fn text(shown: &Shown, network: &NetworkPlan) -> String {
    let names: Vec<String> = network.sites.iter().map(|s| s.name.clone()).collect();
    let status = &shown.network;
    let mut text = distances(&names, &status.links);
    if !shown.round_trips.is_empty() {
        text.push_str(&format!("\n{}", measured(&shown.round_trips)));
    }
    text.push_str(&format!(
        "\n{}{}",
        carried(&status.links, status),
        work(status)
    ));
    if shown.dry_run {
        text.push_str("\nnothing was changed (--dry-run)\n");
    }
    text
}

fn measured(echoes: &[Echo]) -> String {
    let mut table = Table::new(&[
        "measured",
        ">samples",
        ">asked",
        ">p50",
        ">p99",
        ">error p50",
    ]);
    let ms = |us: f64| format!("{:.2} ms", us / 1e3);
    for echo in echoes {
        #[expect(clippy::cast_precision_loss, reason = "at most a minute")]
        let asked = echo.asked_us as f64;
        table.row([
            format!("{} - {}", echo.from, echo.to),
            echo.samples.to_string(),
            ms(asked),
            ms(echo.p50_us),
            echo.p99_us.map_or_else(|| "-".to_owned(), ms),
            ms(echo.error_p50_us()),
        ]);
    }
    table.render()
}

fn carried(links: &[Directed], status: &Status) -> String {
    let mut table = Table::new(&["direction", ">packets", ">bytes", ">lost", ">under way"]);
    for (link, carried) in links.iter().zip(&status.carried) {
        table.row([
            format!("{} > {}", link.from, link.to),
            carried.packets.to_string(),
            helenus_model::units::Bytes(carried.bytes).to_string(),
            carried.lost.to_string(),
            carried.held.to_string(),
        ]);
    }
    table.render()
}

fn work(status: &Status) -> String {
    let work = &status.work;
    #[expect(clippy::cast_precision_loss, reason = "shares and means are printed")]
    let (share, late) = (
        100.0 * work.cpu_us as f64 / work.up_us.max(1) as f64,
        work.late_us as f64 / work.packets.max(1) as f64 / 1e3,
    );
    #[expect(clippy::cast_precision_loss, reason = "printed in milliseconds")]
    let latest = work.latest_us as f64 / 1e3;
    let (holder, packets) = match status.wan {
        Wan::Queue => ("emulator", "packets"),
        Wan::Netem => ("netem, by probes", "probes"),
    };
    let mut text = format!("\n{holder}: {share:.2} % of a core since it started; ");
    if work.packets == 0 {
        text.push_str(&format!("no {packets} yet\n"));
    } else {
        #[expect(clippy::cast_precision_loss, reason = "printed in milliseconds")]
        let below = work.lateness.below_us(0.99).map(|us| us as f64 / 1e3);
        text.push_str(&format!(
            "{packets} {late:.3} ms late on average, {}{latest:.2} ms at most, {} of {} by more than 1 ms\n",
            below.map_or_else(String::new, |ms| format!("99 % by less than {ms} ms, ")),
            work.late_1ms,
            work.packets
        ));
    }
    if work.overrun > 0 {
        text.push_str(&format!(
            "the kernel could not hand over all packets {} times: some were lost\n",
            work.overrun
        ));
    }
    let settings: Vec<String> = status
        .settings
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    text.push_str(&format!("settings: {}\n", settings.join("; ")));
    text
}
