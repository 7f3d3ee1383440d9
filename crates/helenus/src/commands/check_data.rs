//! `helenus check-data`: every row of a workload's tables read back and compared with what must have been written.
//! Refuses to call a table right of which only a part was read.

use crate::cli::count::CheckData;
use crate::commands::count::{gentleness, place, show_progress};
use crate::commands::run::choose;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::scan::check::{CheckReport, CheckRequest, POSITIONS_MOST, check, lacks};
use helenus_cluster::scan::{ScanEvent, ScanPlace, look};
use helenus_model::format::Format;
use helenus_model::seed::Seed;
use helenus_model::units::human_duration;
use helenus_model::units::thousands;
use helenus_model::units::whole as rounded;
use helenus_model::workload::data_seed;
use helenus_model::workload::expected::Expected;
use helenus_model::workload::findings::Difference;
use serde::Serialize;
use std::time::Duration;

/// The result of a whole check.
#[derive(Debug, Serialize)]
struct Checked {
    format: Format,
    /// The workload.
    workload: String,
    /// Root seed of the data.
    seed: u64,
    /// Whether the whole of every table was read.
    complete: bool,
    /// Whether nothing that was read is missing or wrong.
    all_there: bool,
    /// By table.
    tables: Vec<CheckReport>,
}

impl Answers for Checked {
    fn answer(&self) -> String {
        let each: Vec<String> = self.tables.iter().map(found).collect();
        each.join("; ")
    }
}

/// What became of one table's rows.
fn found(report: &CheckReport) -> String {
    let rows = &report.findings;
    let part = match report.complete {
        true => String::new(),
        false => format!(" in {:.1} % of the ring", report.share * 100.0),
    };
    format!(
        "{} rows of {}.{} are right{part}, {} missing, {} wrong, {} foreign",
        thousands(rows.right),
        report.keyspace,
        report.table,
        thousands(rows.missing),
        thousands(rows.wrong),
        thousands(rows.foreign)
    )
}

pub(crate) fn run(flags: &CheckData, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let chosen = choose(&flags.workload, &flags.params, None)?;
    let Some(population) = flags.population.or(chosen.population()) else {
        return Err(CommandError::new(
            code::USAGE,
            "--population is missing: how many partitions were written?",
        )
        .hint("use --population N, as the run that wrote them".to_owned()));
    };
    let tables = Expected::tables(&chosen.workload, data_seed(Seed(flags.seed)))
        .map_err(|error| CommandError::of(code::USAGE, &error))?;
    let place = place(&flags.place, context)?;
    let request = CheckRequest {
        population,
        keep: flags.differences,
        positions_most: POSITIONS_MOST,
        gentleness: gentleness(&flags.read),
    };
    let mut checked = Checked {
        format: Format::new("check-data", 1),
        workload: chosen.workload.name().to_owned(),
        seed: flags.seed,
        complete: true,
        all_there: true,
        tables: Vec::new(),
    };
    for expected in &tables {
        let report = one(expected, &place, &request, context, ui)?;
        checked.complete &= report.complete;
        checked.all_there &= report.findings.all_there();
        checked.tables.push(report);
    }
    ui.result(&checked, || text(&checked));
    if !checked.complete {
        return Err(CommandError::new(
            code::INTERRUPTED,
            "interrupted: only a part was checked",
        ));
    }
    Ok(if checked.all_there { 0 } else { code::BAR })
}

fn one(
    expected: &Expected,
    place: &ScanPlace,
    request: &CheckRequest,
    context: &Context,
    ui: &Ui,
) -> Result<CheckReport, CommandError> {
    let of = expected.table();
    let table = look(place, &format!("\"{}\".\"{}\"", of.keyspace, of.name))?;
    if let Some(column) = lacks(&table, expected) {
        let text = format!(
            "{} has no column {column}, which the workload writes",
            table.name()
        );
        return Err(CommandError::new(code::USAGE, text).hint(
            "is it the table of another workload, or of another version of this one?".to_owned(),
        ));
    }
    let progress = ui.progress(&format!("checking {}", table.name()));
    let report = check(
        place,
        &table,
        expected,
        request,
        &context.cancel,
        &mut |event| match event {
            ScanEvent::Keys { done, total } => {
                progress.say("computing keys");
                progress.at(done, total);
            }
            ScanEvent::Progress(at) => show_progress(&progress, &at),
            ScanEvent::Partitions(_) => {}
        },
    );
    drop(progress);
    Ok(report?)
}

fn text(checked: &Checked) -> String {
    checked.tables.iter().map(table_text).collect()
}

fn table_text(report: &CheckReport) -> String {
    let found = &report.findings;
    let time = Duration::try_from_secs_f64(report.seconds).unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = found.found as f64 / report.seconds.max(1e-9);
    let part = match report.complete {
        true => String::new(),
        false => format!(", {:.1} % of the ring", report.share * 100.0),
    };
    let mut text = format!(
        "{}.{} of {} at {}{part}: {} rows read in {}, {} rows/s\n",
        report.keyspace,
        report.table,
        report.cluster_name,
        report.consistency,
        thousands(found.found),
        human_duration(time),
        rounded(rate)
    );
    let mut table = Table::new(&["", ">rows"]);
    table.row(["right".to_owned(), thousands(found.right)]);
    table.row(["missing".to_owned(), thousands(found.missing)]);
    table.row(["wrong".to_owned(), thousands(found.wrong)]);
    table.row(["foreign".to_owned(), thousands(found.foreign)]);
    if found.unwritten > 0 {
        table.row([
            "may be absent, and are".to_owned(),
            thousands(found.unwritten),
        ]);
    }
    // Its heads say nothing that the rows do not.
    let rows = table.render();
    text.push_str(rows.split_once('\n').map_or("", |(_, rows)| rows));
    for (_, difference) in &found.differences {
        text.push_str(&match difference {
            Difference::Missing { key } => format!("missing  {key}\n"),
            Difference::Foreign { key } => format!("foreign  {key}\n"),
            Difference::Wrong {
                key,
                column,
                expected,
                found,
            } => {
                format!("wrong    {key}: {column} is {found}, not {expected}\n")
            }
        });
    }
    let same = found.checksum == found.expected_checksum;
    text.push_str(&match same {
        true => format!("checksum {}, as expected\n", found.checksum),
        false if found.unwritten > 0 => format!("checksum {}\n", found.checksum),
        false => format!(
            "checksum {}, not {}\n",
            found.checksum, found.expected_checksum
        ),
    });
    text
}
