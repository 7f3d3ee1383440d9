//! `cargo xtask prove NAME`: the campaigns behind every time, rate and memory figure. Variants take turns in random
//! order, raw results are written as they land, a cut campaign goes on. Refuses a figure without its machine and load.

mod agents;
mod believe;
mod bench;
mod campaign;
mod cluster3;
mod count;
mod experiments;
mod fifteen;
pub(crate) mod figures;
mod findings;
mod host;
mod hosts;
mod idle;
mod ingest;
mod install;
mod journal;
mod kube;
mod levels;
mod like;
mod live;
mod open;
mod pause;
mod populate;
mod real_effects;
mod report;
mod reset;
mod restore;
mod rig;
mod same;
mod site;
mod slo;
mod sstables;
mod stack;
mod start;
mod stress;
mod tail;
mod tiny;
mod upgrade;
mod wan;
mod wan15;
mod wire;
mod workloads;

use crate::figures::null;
use campaign::{Campaign, order};
use host::Host;
use journal::{Journal, Line};
use rig::Rig;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const CAMPAIGNS: [Campaign; 31] = [
    start::START,
    cluster3::CLUSTER3,
    bench::BENCH,
    pause::PAUSE,
    open::REPORT,
    idle::IDLE,
    tiny::TINY,
    fifteen::FIFTEEN,
    reset::RESET,
    restore::RESTORE,
    count::COUNT,
    populate::POPULATE,
    wan::WAN,
    wan15::WAN15,
    levels::LEVELS_CAMPAIGN,
    experiments::PLANTED,
    real_effects::PLANTED_REAL,
    same::NULL_LIVE,
    experiments::KILLED,
    upgrade::UPGRADE,
    stress::STRESS,
    workloads::WORKLOADS,
    wire::WIRE,
    slo::SLO,
    agents::CAMPAIGN,
    tail::TAIL,
    ingest::INGEST,
    ingest::clients::CLIENTS_CAMPAIGN,
    site::SITE,
    live::LIVE,
    install::INSTALL,
];

/// Campaigns that count, and measure no time: the debug build will do, on a machine that need not be quiet.
const COUNTING: [&str; 4] = [
    agents::CAMPAIGN.name,
    stress::STRESS.name,
    workloads::WORKLOADS.name,
    same::NULL_LIVE.name,
];

/// Trials a variant, where the person does not say; of a campaign that counts one is enough, unless it says how many.
const REPEATS: usize = 5;

/// A campaign that fails this often in one sitting is broken, not unlucky.
const FAILURES_MOST: usize = 3;

/// Longest wait before a trial for a quiet machine.
const QUIET_WITHIN: Duration = Duration::from_secs(120);

/// Campaigns whose rows a person may choose, with what they are where nobody does.
const CHOOSE: [(&str, u64); 3] = [
    (ingest::INGEST.name, ingest::ROWS),
    (
        ingest::clients::CLIENTS_CAMPAIGN.name,
        ingest::clients::ROWS,
    ),
    (workloads::WORKLOADS.name, workloads::COUNT),
];

/// Whether a person may choose the rows of a campaign.
fn chooses(campaign: &str) -> bool {
    CHOOSE.iter().any(|(name, _)| *name == campaign)
}

/// Name of a campaign with its number of rows: other numbers are another file.
fn sheet_name(campaign: &str, rows: Option<u64>) -> String {
    match rows.filter(|rows| !CHOOSE.contains(&(campaign, *rows))) {
        Some(rows) => format!("{campaign}_{rows}"),
        None => campaign.to_owned(),
    }
}

struct Wish<'a> {
    campaign: &'a Campaign,
    repeats: usize,
    fresh: bool,
    /// Of a campaign whose rows a person may choose.
    rows: Option<u64>,
    /// The variant that this sitting measures; all, where nobody says.
    only: Option<&'a str>,
}

impl Wish<'_> {
    /// Whether the campaign counts only, and measures no time.
    fn counts(&self) -> bool {
        COUNTING.contains(&self.campaign.name)
    }
}

pub(crate) fn run(words: &[&str]) -> Result<ExitCode, Box<dyn Error>> {
    if words == ["--list"] {
        for campaign in &CAMPAIGNS {
            println!("{:<10} {}", campaign.name, campaign.about);
        }
        for (name, about) in [
            ("believe", believe::ABOUT),
            ("hosts", hosts::ABOUT),
            ("kube", kube::ABOUT),
            ("like", like::ABOUT),
            ("null", null::ABOUT),
            ("sstables", sstables::ABOUT),
            ("stack", stack::ABOUT),
        ] {
            println!("{name:<10} {about}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let root = fs_err::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?;
    let own: Option<Alone> = match words.first().copied() {
        Some("like") => Some(like::run),
        Some("hosts") => Some(hosts::run),
        Some("kube") => Some(kube::run),
        Some("stack") => Some(stack::run),
        Some("sstables") => Some(sstables::run),
        Some("null") => Some(|root, rest| null::run(root, rest).map(|()| true)),
        _ => None,
    };
    if let Some(own) = own {
        return own(&root, &words[1..]).map(exit);
    }
    let believe = match words {
        ["believe", stages @ ..] => Some(stages),
        _ => None,
    };
    let wish = believe.is_none().then(|| wish(words)).transpose()?;
    // Stock wants to lock its memory: a limit below the heap would spare it the work.
    let unlimited = rustix::process::Rlimit {
        current: None,
        maximum: None,
    };
    let _refused_without_privilege =
        rustix::process::setrlimit(rustix::process::Resource::Memlock, unlimited);
    // What counts wants no quick binary, and no quiet machine.
    let counts = wish.as_ref().is_some_and(Wish::counts);
    println!("building the binary, if it is not there");
    let mut rig = Rig::open(&root, !counts)?;
    let host = Host::read(rig.jdk_name(), &root);
    let folder: PathBuf = root.join("benches/runs");
    let Some(wish) = wish else {
        let mut stages = believe.unwrap_or_default().to_vec();
        let fresh = stages.contains(&"--fresh");
        stages.retain(|word| *word != "--fresh");
        return believe::run(&rig, &host, &folder, &stages, fresh).map(exit);
    };
    rig.rows = wish.rows;
    let name = sheet_name(wish.campaign.name, wish.rows);
    let mut journal = Journal::open(&folder, &name, &host, wish.fresh)?;
    measure(&wish, &rig, &host, &mut journal)?;
    let (text, holds) = report::report(wish.campaign, &journal, wish.repeats);
    println!("\n{text}");
    if wish.campaign.name == stress::STRESS.name {
        rig.clear()?;
        println!("{}", stress::table(&journal));
    }
    Ok(exit(holds))
}

/// A campaign that opens its rig itself, by its words; whether all holds.
type Alone = fn(&Path, &[&str]) -> Result<bool, Box<dyn Error>>;

fn exit(holds: bool) -> ExitCode {
    match holds {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn wish<'a>(words: &[&'a str]) -> Result<Wish<'a>, Box<dyn Error>> {
    let [name, rest @ ..] = words else {
        return Err("prove what? `cargo xtask prove --list` names the campaigns".into());
    };
    let campaign = CAMPAIGNS
        .iter()
        .find(|c| c.name == *name)
        .ok_or_else(|| format!("no campaign {name}: `cargo xtask prove --list` names them"))?;
    let mut wish = Wish {
        campaign,
        repeats: match *name {
            _ if *name == tail::TAIL.name => tail::REPEATS,
            _ if COUNTING.contains(name) => 1,
            _ => REPEATS,
        },
        fresh: false,
        rows: None,
        only: None,
    };
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--fresh" => wish.fresh = true,
            "--repeats" => {
                let number = rest.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                wish.repeats = number.ok_or("--repeats wants a number above 0")?;
            }
            "--rows" if chooses(name) => {
                let number = rest.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                wish.rows = Some(number.ok_or("--rows wants a number above 0")?);
            }
            "--rows" => {
                let names = CHOOSE.map(|(name, _)| name).join(", ");
                return Err(format!("--rows is for {names} only").into());
            }
            "--only" => {
                let variant = rest.next().filter(|v| campaign.variants.contains(v));
                let names = campaign.variants.join(", ");
                wish.only = Some(variant.ok_or(format!("--only wants one of {names}"))?);
            }
            word => {
                let known = "--repeats N, --only VARIANT, --rows N, --fresh";
                return Err(format!("{word} is none of {known}").into());
            }
        }
    }
    Ok(wish)
}

/// Rounds of all variants, until each has its trials.
fn measure(
    wish: &Wish<'_>,
    rig: &Rig,
    host: &Host,
    journal: &mut Journal,
) -> Result<(), Box<dyn Error>> {
    let campaign = wish.campaign;
    let left_out = left_out(campaign, rig)?;
    let apart =
        |variant: &str| left_out.contains(&variant) || wish.only.is_some_and(|v| v != variant);
    let missing = |journal: &Journal, variant: &str| match apart(variant) {
        true => 0,
        false => wish.repeats.saturating_sub(journal.trials(variant).len()),
    };
    if campaign.variants.iter().all(|v| missing(journal, v) == 0) {
        println!("nothing is missing; --fresh measures anew");
        return Ok(());
    }
    let seed = journal.sit(campaign.name, host)?;
    println!("seed {}, {}", seed.0, journal.path.display());
    (campaign.prepare)(rig)?;
    let mut failures = 0;
    for round in 0.. {
        let before = campaign.variants.iter().map(|v| missing(journal, v)).max();
        if before == Some(0) {
            return Ok(());
        }
        for variant in order(seed, round, campaign.variants.len()) {
            let variant = campaign.variants[variant];
            // A round that an earlier sitting measured, at least for this variant.
            if round < journal.trials(variant).len() || missing(journal, variant) == 0 {
                continue;
            }
            if !wish.counts() {
                rustix::fs::sync();
                host::wait_for_quiet(QUIET_WITHIN)?;
            }
            let line = one(campaign, rig, variant, round);
            let failed = matches!(line, Line::Failed { .. });
            journal.append(line)?;
            failures += usize::from(failed);
            if failures >= FAILURES_MOST {
                return Err(format!("{failures} trials failed: {}", journal.path.display()).into());
            }
        }
    }
    Ok(())
}

/// Variants that the binary cannot carry out; each is named with the reason.
fn left_out(campaign: &Campaign, rig: &Rig) -> Result<Vec<&'static str>, Box<dyn Error>> {
    let mut left_out = Vec::new();
    if campaign.name == ingest::INGEST.name {
        for variant in campaign.variants {
            if let Some(why) = ingest::lacks(rig, variant)? {
                println!("{variant} is left out: {why}");
                left_out.push(*variant);
            }
        }
    }
    Ok(left_out)
}

fn one(campaign: &Campaign, rig: &Rig, variant: &str, round: usize) -> Line {
    let line = Line::of((campaign.trial)(rig, variant), (variant, round), &rig.root);
    match &line {
        Line::Trial {
            measures, pressure, ..
        } => {
            let measures = measures
                .iter()
                .map(|(name, value)| format!("{name} {value}"));
            println!(
                "round {round} {variant}: {}; load {}, steal {}, others {}",
                measures.collect::<Vec<_>>().join(", "),
                pressure.load,
                pressure.steal,
                pressure.others
            );
        }
        Line::Failed { why, .. } => println!("round {round} {variant}: failed: {why}"),
        Line::Sitting { .. } => {}
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_numbers_of_rows_are_another_sheet() {
        assert_eq!(sheet_name("ingest", None), "ingest");
        assert_eq!(sheet_name("ingest", Some(ingest::ROWS)), "ingest");
        assert_eq!(sheet_name("ingest", Some(1_000_000)), "ingest_1000000");
        assert_eq!(sheet_name("start", None), "start");
        assert!(chooses("ingest_clients") && chooses("workloads") && !chooses("start"));
    }
}
