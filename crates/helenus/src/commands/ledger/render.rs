//! Ledgers as tables: writes by level and outcome, keys by class, and the keys that are lost.
//! Refuses to say more than the report does.

use crate::ui::{Answers, Table};
use helenus_lab::ledger::{
    Extent, LedgerFile, LedgerFileError, LedgerReport, LostKey, TableReport,
};
use helenus_model::consistency::Consistency;
use helenus_model::format::Format;
use helenus_model::units::human_duration;
use helenus_model::units::thousands;
use helenus_record::when::Utc;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Microseconds since 1970 as a moment, to the millisecond.
fn moment(us: u64) -> String {
    let at = Utc::of_ns(us.saturating_mul(1000));
    format!("{at}.{:03}", at.millisecond)
}

/// By CQL's name.
fn level(of: Consistency) -> &'static str {
    helenus_cql::Consistency::from(of).name()
}

/// Where a client stood, as a sentence has it.
fn from(data_center: &str) -> String {
    match data_center {
        "" => "any data centre".to_owned(),
        name => name.to_owned(),
    }
}

/// How far a ledger goes, where that is not the whole run.
fn short(extent: &Extent) -> String {
    let mut text = String::new();
    if extent.torn_bytes > 0 {
        let bytes = extent.torn_bytes;
        text.push_str(&format!(
            "its last record is incomplete: {bytes} bytes are left out\n"
        ));
    }
    if !extent.ended {
        text.push_str("its generator did not finish: writes of its last second may be missing\n");
    }
    text
}

/// What a ledger holds, `helenus.ledger/1`.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    format: Format,
    /// The ledger.
    file: PathBuf,
    /// Name of its run, where the history has it.
    run: Option<String>,
    /// The workload.
    workload: String,
    /// Root seed of the run.
    seed: u64,
    /// Data centre whose nodes coordinated the writes; empty where any did.
    client_dc: String,
    #[serde(flatten)]
    extent: Extent,
    /// Of the first and the last write, in microseconds since 1970.
    first_us: Option<u64>,
    /// Of the last write, in microseconds since 1970.
    last_us: Option<u64>,
    /// Writes by level and outcome.
    outcomes: Vec<Outcome>,
}

/// Writes at one level that ended alike.
#[derive(Debug, Serialize)]
struct Outcome {
    /// Consistency level.
    consistency: &'static str,
    /// How they ended.
    outcome: &'static str,
    /// Whether they may have been applied.
    may_have_applied: bool,
    /// How many.
    writes: u64,
}

impl Shown {
    /// Reads a ledger to its end.
    pub(super) fn of(file: &LedgerFile, run: Option<String>) -> Result<Self, LedgerFileError> {
        let mut counts = BTreeMap::new();
        let (mut first_us, mut last_us) = (None, None);
        let extent = file.read(&mut |record| {
            let at = Some(record.written_us);
            first_us = first_us.min(at).or(at);
            last_us = last_us.max(at);
            *counts
                .entry((level(record.consistency), record.fate))
                .or_default() += 1;
        })?;
        let outcomes = counts.into_iter();
        let outcomes = outcomes.map(|((consistency, fate), writes)| Outcome {
            consistency,
            outcome: fate.name(),
            may_have_applied: fate.may_have_applied(),
            writes,
        });
        let plan = &file.head.plan;
        Ok(Self {
            format: Format::new("ledger-show", 1),
            file: file.path.clone(),
            run,
            workload: plan.workload.name().to_owned(),
            seed: plan.seed.0,
            client_dc: file.client_dc().to_owned(),
            extent,
            first_us,
            last_us,
            outcomes: outcomes.collect(),
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.answer() + "\n";
        if let (Some(first), Some(last)) = (self.first_us, self.last_us) {
            text.push_str(&format!("from {} to {} UTC\n", moment(first), moment(last)));
        }
        text.push_str(&short(&self.extent));
        if self.outcomes.is_empty() {
            return text;
        }
        let mut table = Table::new(&["level", "outcome", "applied", ">writes"]);
        for one in &self.outcomes {
            let applied = match (one.outcome, one.may_have_applied) {
                ("acknowledged", _) => "yes",
                (_, true) => "perhaps",
                (_, false) => "no",
            };
            let writes = thousands(one.writes);
            table.row([one.consistency, one.outcome, applied, &writes]);
        }
        text.push('\n');
        text.push_str(&table.render());
        text
    }
}

impl Answers for Shown {
    fn answer(&self) -> String {
        format!(
            "{}: {} writes of {}, seed {}, by a client of {}",
            self.run.clone().unwrap_or(self.file.display().to_string()),
            thousands(self.extent.writes),
            self.workload,
            self.seed,
            from(&self.client_dc)
        )
    }
}

impl Answers for LedgerReport {
    fn answer(&self) -> String {
        let keys = self.tables.iter().map(|table| table.counts.keys).sum();
        let part = match self.complete {
            true => "",
            false => ", only a part of them",
        };
        let read = format!("{} keys{part}", thousands(keys));
        format!(
            "{}: {read}, {} lost",
            read_back(self),
            thousands(self.lost())
        )
    }
}

/// The first line.
fn read_back(report: &LedgerReport) -> String {
    let time = Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
    format!(
        "{}: {} writes of {}, seed {}, by a client of {}; read back in {}",
        report
            .run
            .clone()
            .unwrap_or(report.file.display().to_string()),
        thousands(report.extent.writes),
        report.workload,
        report.seed,
        from(&report.client_dc),
        human_duration(time)
    )
}

/// What the check has found.
pub(super) fn checked(report: &LedgerReport) -> String {
    let mut text = read_back(report) + "\n";
    text.push_str(&short(&report.extent));
    report.tables.iter().for_each(|t| text.push_str(&one(t)));
    text
}

fn one(report: &TableReport) -> String {
    let copies = report.replication.iter();
    let copies: Vec<String> = copies
        .filter(|(option, _)| *option != "class")
        .map(|(option, copies)| match option.as_str() {
            "replication_factor" => copies.clone(),
            dc => format!("{dc} {copies}"),
        })
        .collect();
    let mut text = format!(
        "\n{}.{} of {}, copies: {}; read at {} by a client of {}\n",
        report.keyspace,
        report.table,
        report.cluster_name,
        copies.join(", "),
        level(report.consistency),
        from(&report.client_dc)
    );
    if !report.durable_writes {
        text.push_str(
            "its keyspace has durable_writes = false: writes do not go through the commit log\n",
        );
    }
    let counts = &report.counts;
    let mut table = Table::new(&["class", ">keys", ""]);
    let rows = [
        (
            "present",
            counts.present,
            "the newest acknowledged write was read",
        ),
        (
            "superseded",
            counts.superseded,
            "a newer write was read that is not in this ledger",
        ),
        (
            "lost",
            counts.lost,
            "acknowledged, and neither there nor anything newer",
        ),
        (
            "stale, permitted",
            counts.stale_permitted,
            "not there, and the levels of write and read need not meet",
        ),
        (
            "indeterminate, applied",
            counts.indeterminate_applied,
            "it had no answer or an error, and was read",
        ),
        (
            "indeterminate, not applied",
            counts.indeterminate_not_applied,
            "it had no answer or an error, and is not there",
        ),
        (
            "refused",
            counts.refused,
            "no write of it could have applied",
        ),
    ];
    for (class, keys, meaning) in rows {
        let always = ["present", "lost"].contains(&class);
        if keys > 0 || always {
            table.row([class, &thousands(keys), meaning]);
        }
    }
    text.push_str(&table.render());
    if counts.covered_writes > 0 {
        text.push_str(&format!(
            "{} acknowledged writes were followed by a later one of the same key\n",
            thousands(counts.covered_writes)
        ));
    }
    text.push_str(&lost(&report.lost, counts.lost));
    text
}

/// The keys that are lost, as far as they are named.
fn lost(named: &[LostKey], all: u64) -> String {
    if named.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        "lost: written at (UTC)",
        "level",
        "client",
        ">took",
        ">position",
        "key",
        "owned by",
        "there instead",
    ]);
    for one in named {
        let instead = one.found_us.map_or("nothing".to_owned(), moment);
        table.row([
            moment(one.write.written_us),
            level(one.write.consistency).to_owned(),
            from(&one.client_dc),
            human_duration(Duration::from_micros(one.write.took_us.into())),
            thousands(one.position),
            one.key.clone(),
            one.owners.join(", "),
            instead,
        ]);
    }
    let mut text = format!("\n{}", table.render());
    let more = all.saturating_sub(named.len() as u64);
    if more > 0 {
        text.push_str(&format!("and {} more\n", thousands(more)));
    }
    text
}
