//! `helenus load`: flags into a load, the load live, what was written and what was not.
//! Refuses clusters that are not this user's.

mod files;

use crate::cli::ingest::{LoadFiles, VerifyArg, ViaArg};
use crate::commands::bench;
use crate::commands::disturb;
use crate::commands::run::live_table;
use crate::error::{CommandError, code};
use crate::ui::{Answers, Progress, Ui};
use helenus_cluster::context::Context;
use helenus_cluster::scan::{ScanPlace, ScanTable, look};
use helenus_cluster::shell;
use helenus_cluster::wall::since_1970;
use helenus_cql::Consistency;
use helenus_lab::ingest::{
    self, IngestError, LoadEvent, LoadRequest, Loaded, Proof, SampleProof, Shape, TextEncoding,
    Verify, Way, header, preview,
};
use helenus_model::cql::CqlValue;
use helenus_model::cql::read::Habits;
use helenus_model::format::Format;
use helenus_model::ingest::delimited::Dialect;
use helenus_model::ingest::layout::LAYOUTS;
use helenus_model::ingest::{Layout, Mapping, Wishes};
use helenus_model::nearest::nearest;
use helenus_model::seed::Seed;
use helenus_model::units::{Bytes, human_duration, plural, thousands, whole};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// How files may be written, beside the layouts.
pub(crate) const FORMATS: [&str; 4] = ["csv", "tsv", "jsonl", "parquet"];

/// Rows that --dry-run shows.
const SHOWN: usize = 5;

pub(crate) fn run(flags: &LoadFiles, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (cluster, table) = match flags.into.split_once(':') {
        Some((cluster, table)) => (Some(cluster.to_owned()), table),
        None => (flags.cluster.clone(), flags.into.as_str()),
    };
    if let (Some(one), Some(other)) = (&cluster, &flags.cluster)
        && one != other
    {
        let text = "--into and --cluster name different clusters";
        return Err(CommandError::new(code::USAGE, text).hint("leave one of them out".to_owned()));
    }
    let files = files::files(&flags.files)?;
    let encoding = files::encoding(flags.encoding.as_deref())?;
    let named = || {
        let name = context.env.var("HELENUS_CLUSTER")?;
        name.to_str().map(str::to_owned)
    };
    let state = context
        .clusters
        .resolve(cluster.or_else(named).as_deref())?;
    let name = state.plan.name.clone();
    let place = ScanPlace::ours(&state)?;
    let table = look(&place, table)?;
    let mut request = request(flags, (files, encoding), (&name, &table), context)?;
    (request.via, request.via_reason) = match flags.via {
        ViaArg::Cql => (Way::Cql, String::new()),
        ViaArg::Sstable => (Way::Sstable, String::new()),
        ViaArg::Auto => ingest::choose(&place, &table, &request).map_err(failure)?,
    };
    if flags.dry_run {
        return dry_run(&request, &table, ui);
    }
    let _held = disturb::hold(context, &name);
    let progress = ui.progress(&format!("loading {}", table.name()));
    let to = (&place, &table);
    let loaded = ingest::load(context, to, &request, &context.cancel, &mut |event| {
        see(&progress, ui, &event);
    });
    drop(progress);
    let mut loaded = loaded.map_err(failure)?;
    let command = (&*disturb::words(), crate::cli::VERSION);
    let recorded = ingest::record(context, &state, &request, &loaded, command);
    loaded.run = recorded.as_ref().ok().map(ToString::to_string);
    ui.result(&loaded, || text(&loaded));
    let differs = loaded.proof.as_ref().is_some_and(|proof| !proof.equal);
    let ended = match differs || loaded.rows_rejected > 0 {
        true => code::BAR,
        false => 0,
    };
    bench::recorded(ended, "the load", recorded.err().as_ref())
}

pub(crate) use files::by_name;

fn usage(text: String, hint: &str) -> CommandError {
    CommandError::new(code::USAGE, text).hint(hint.to_owned())
}

fn failure(error: IngestError) -> CommandError {
    let hint = error.hint();
    let code = match error {
        IngestError::Cluster(error) => return error.into(),
        IngestError::File { .. }
        | IngestError::Content { .. }
        | IngestError::Changed(_)
        | IngestError::Way(_) => code::USAGE,
        IngestError::Rejected { .. } => code::BAR,
        IngestError::Kept { .. } | IngestError::Io(_) => code::ENVIRONMENT,
        IngestError::Busy | IngestError::Silent { .. } | IngestError::Endpoint(_) => code::CLUSTER,
        IngestError::Interrupted { .. } => code::INTERRUPTED,
    };
    CommandError::of(code, &error).hint(hint)
}

/// A format that is not there, with the nearest one.
pub(crate) fn no_format<'a>(
    asked: &str,
    known: impl Iterator<Item = &'a str>,
    all: &str,
) -> CommandError {
    let near = nearest(asked, known).map_or(String::new(), |n| format!("; did you mean {n}?"));
    usage(format!("there is no file format {asked:?}{near}"), all)
}

fn request(
    flags: &LoadFiles,
    (files, encoding): (Vec<PathBuf>, Option<TextEncoding>),
    (cluster, table): (&str, &ScanTable),
    context: &Context,
) -> Result<LoadRequest, CommandError> {
    let described = live_table(context, cluster, &table.keyspace, &table.table)?;
    let format = match &flags.file_format {
        Some(name) => name.as_str(),
        None => by_name(&files[0]),
    };
    let layout = Layout::named(format);
    if layout.is_none() && !FORMATS.contains(&format) {
        let all = FORMATS.into_iter().chain(LAYOUTS.iter().map(|l| l.name));
        return Err(no_format(
            format,
            all,
            "csv, tsv, jsonl, parquet, and ip2location-db1 to ip2location-db11",
        ));
    }
    let mut dialect = match format {
        "tsv" => Dialect::TSV,
        _ => Dialect::CSV,
    };
    if let Some(delimiter) = flags.delimiter {
        let byte = u8::try_from(delimiter).ok().filter(u8::is_ascii);
        let byte = byte.filter(|b| ![b'"', b'\n', b'\r'].contains(b));
        dialect.delimiter = byte.ok_or_else(|| {
            let text = format!("{delimiter:?} cannot separate fields");
            usage(text, "take one ASCII character, such as ';'")
        })?;
    }
    if flags.decimal_comma && format == "jsonl" {
        let text = "--decimal-comma is about text, and JSON writes numbers with a point";
        return Err(usage(text.to_owned(), "leave it out"));
    }
    let from_layout = layout.map(|layout| layout.columns());
    let named = !flags.columns.is_empty() || layout.is_some();
    let all_columns = || described.columns.iter().map(|c| c.name.clone()).collect();
    let fields: Vec<String> = match (&flags.columns[..], from_layout, format) {
        ([], Some(columns), _) => columns,
        ([], None, "jsonl") => all_columns(),
        (_, _, "parquet") => files::parquet(&files, flags)?,
        ([], None, _) if files[0].as_os_str() == "-" => {
            let text = "standard input is read once: its header cannot be looked at before";
            return Err(usage(
                text.to_owned(),
                "name its fields with --columns (and --header if it has one)",
            ));
        }
        ([], None, _) => header(&files[0], &dialect, encoding).map_err(failure)?,
        (given, ..) => given.to_vec(),
    };
    let wishes = Wishes {
        fields: fields.clone(),
        lenient: layout.is_some() || format == "jsonl",
        maps: flags.map.clone(),
        expand: flags.expand.clone(),
        timestamp: flags.timestamp.clone(),
        skipped: flags.skip.clone(),
        habits: Habits {
            decimal_comma: flags.decimal_comma,
        },
    };
    let mapping = Mapping::new(&described, &wishes)?;
    let nulls = match (&flags.nulls[..], format) {
        ([], "tsv") => vec!["\\N".to_owned()],
        ([], _) => vec![String::new()],
        (given, _) => given.to_vec(),
    };
    let shape = match format {
        "jsonl" => Shape::JsonLines(fields),
        "parquet" => Shape::Parquet(fields),
        _ => Shape::Delimited {
            dialect,
            header: match (flags.header, named) {
                (true, _) => Some(Vec::new()),
                (false, true) => None,
                (false, false) => Some(fields),
            },
            nulls,
        },
    };
    let rejected = flags.rejected.clone().unwrap_or_else(|| {
        let first = match files[0].as_os_str() == "-" {
            true => "stdin".into(),
            false => files[0].clone().into_os_string(),
        };
        let mut name = first;
        if let Some(part) = flags.part {
            name.push(format!(".{}-of-{}", part.number, part.of));
        }
        name.push(".rejected");
        name.into()
    });
    let paths: Vec<String> = files
        .iter()
        .map(|f| {
            std::path::absolute(f)
                .unwrap_or_else(|_| f.clone())
                .display()
                .to_string()
        })
        .collect();
    let id = Seed(0)
        .derive(&format!("{} {}", table.name(), paths.join("\n")))
        .0;
    let ttl = flags
        .ttl
        .map(|ttl| u32::try_from(ttl.as_secs()).unwrap_or(u32::MAX));
    let now = since_1970();
    let loads = context.clusters.folder(cluster).join("loads");
    Ok(LoadRequest {
        files,
        shape,
        encoding,
        multi_cell: multi_cell(&mapping, context, cluster, table)?,
        mapping,
        ttl_s: ttl,
        part: flags.part,
        parts: loads.join(format!(
            "{id:016x}-of-{}.parts",
            flags.part.map_or(1, |part| part.of)
        )),
        via: Way::Cql,
        via_reason: String::new(),
        memory_bytes: usize::try_from(flags.memory.0).unwrap_or(usize::MAX),
        consistency: flags.cl,
        in_flight: flags.in_flight as usize,
        batch_bytes: flags.batch_bytes as usize,
        max_rejected: flags.max_rejected,
        rejected,
        journal: loads.join(match flags.part {
            Some(part) => format!("{id:016x}-{}-of-{}.json", part.number, part.of),
            None => format!("{id:016x}.json"),
        }),
        restart: flags.restart,
        verify: match flags.verify {
            VerifyArg::Auto => Verify::Auto,
            VerifyArg::Full => Verify::Full,
            VerifyArg::Sample => Verify::Sample,
            VerifyArg::None => Verify::None,
        },
        now_us: i64::try_from(now.as_micros()).unwrap_or(i64::MAX),
    })
}

/// By target, whether it is of a type that is not frozen and has parts.
fn multi_cell(
    mapping: &Mapping,
    context: &Context,
    cluster: &str,
    table: &ScanTable,
) -> Result<Vec<bool>, CommandError> {
    let state = context.clusters.load(cluster)?;
    let mut client = shell::connect(&state, None)?;
    let text = |text: &str| Some(CqlValue::Text(text.to_owned()));
    let rows = client.query_with(
        "SELECT column_name, type FROM system_schema.columns WHERE keyspace_name = ? AND table_name = ?",
        &[text(&table.keyspace), text(&table.table)],
        Consistency::One,
    );
    let rows = rows.map_err(|error| CommandError::of(code::CLUSTER, &error))?;
    let is_frozen = |name: &str| {
        let mut rows_of = (0..rows.len()).filter(|row| {
            let column = rows.text(*row, "column_name");
            column.as_deref() == Some(name)
        });
        let ty = rows_of.next().and_then(|row| rows.text(row, "type"));
        ty.is_some_and(|ty| ty.starts_with("frozen<"))
    };
    let targets = mapping.targets.iter();
    let multi_cell = targets.map(|target| {
        use helenus_model::cql::CqlType as T;
        let has_parts = matches!(
            target.ty,
            T::List(_) | T::Set(_) | T::Map(..) | T::Udt { .. }
        );
        has_parts && !is_frozen(&target.name)
    });
    Ok(multi_cell.collect())
}

/// What would be written.
#[derive(Serialize)]
pub(crate) struct LoadPlan {
    format: Format,
    /// The table.
    table: String,
    /// The statement that each row is written with.
    statement: String,
    /// Columns, in the order of the rows' values.
    columns: Vec<String>,
    /// The first rows, as texts.
    rows: Vec<Vec<Option<String>>>,
}

impl Answers for LoadPlan {
    fn answer(&self) -> String {
        format!(
            "{} rows shown, nothing was written (--dry-run)",
            self.rows.len()
        )
    }
}

fn dry_run(request: &LoadRequest, table: &ScanTable, ui: &Ui) -> Result<u8, CommandError> {
    let rows = preview(request, SHOWN).map_err(failure)?;
    let texts = |row: &Vec<Option<CqlValue>>| {
        let cells = row.iter();
        cells
            .map(|cell| cell.as_ref().map(CqlValue::exact_text))
            .collect()
    };
    let plan = LoadPlan {
        format: Format::new("load-plan", 1),
        table: table.name(),
        statement: request.mapping.insert(request.ttl_s),
        columns: request
            .mapping
            .targets
            .iter()
            .map(|t| t.name.clone())
            .collect(),
        rows: rows.iter().map(texts).collect(),
    };
    ui.result(&plan, || {
        let mut text = format!("{}\n", plan.statement);
        for row in &plan.rows {
            let cells = plan.columns.iter().zip(row);
            let cells: Vec<String> = cells
                .map(|(name, cell)| format!("{name}={}", cell.as_deref().unwrap_or("null")))
                .collect();
            text.push_str(&format!("  {}\n", cells.join("  ")));
        }
        text + &plan.answer() + "\n"
    });
    Ok(0)
}

fn see(progress: &Progress, ui: &Ui, event: &LoadEvent) {
    match event {
        LoadEvent::Resumed(rows) => {
            ui.note(&format!(
                "resuming an interrupted load after {} rows",
                thousands(*rows)
            ));
        }
        LoadEvent::Progress {
            rows,
            rejected,
            rows_per_s,
            bytes,
            repeated,
        } => {
            let mut words = format!("{} rows, {}/s", thousands(*rows), whole(*rows_per_s));
            if *rejected > 0 {
                words.push_str(&format!(", {} rejected", thousands(*rejected)));
            }
            if *repeated > 0 {
                words.push_str(&format!(", {} sent again", thousands(*repeated)));
            }
            progress.say(words);
            if let Some((done, all)) = bytes {
                progress.at(*done, *all);
            }
        }
        LoadEvent::Building(rows, all) => {
            progress.say(format!("writing SSTables: {} rows", thousands(*rows)));
            progress.at(*rows, *all);
        }
        LoadEvent::Importing(node) => progress.say(format!("{node} imports its SSTables")),
        LoadEvent::Proving(rows) => {
            progress.say(format!("reading the file again: {} rows", thousands(*rows)));
        }
        LoadEvent::Reading(rows) => {
            progress.say(format!("reading the table: {} rows", thousands(*rows)));
        }
    }
}

impl Answers for Loaded {
    fn answer(&self) -> String {
        let proof = match (&self.proof, &self.unproved) {
            (Some(proof), _) => {
                let verdict = if proof.equal { "equal" } else { "different" };
                match &proof.sample {
                    None if proof.equal => "file and table are equal".to_owned(),
                    None => "file and table differ".to_owned(),
                    Some(sample) => {
                        let share = percent(sample.share);
                        format!("in a sample of {share} file and table are {verdict}")
                    }
                }
            }
            (None, Some(why)) => format!("not compared: {why}"),
            (None, None) => "not compared".to_owned(),
        };
        format!(
            "{} rows written into {}, {} rejected; {proof}",
            thousands(self.rows_written),
            self.table,
            thousands(self.rows_rejected)
        )
    }
}

fn text(loaded: &Loaded) -> String {
    let took = human_duration(Duration::from_secs_f64(loaded.seconds));
    let mut text = format!("{}\n", loaded.answer());
    text.push_str(&format!(
        "{} rows read; {took}, {} rows/s, {:.1} µs of processor time a row here, {} requests sent again\n",
        thousands(loaded.rows_read),
        whole(loaded.rows_per_s),
        loaded.client_cpu_us_per_row,
        thousands(loaded.repeated)
    ));
    if let Some(sstables) = &loaded.sstables {
        let why = match loaded.via_reason.as_str() {
            "" => String::new(),
            why => format!(" ({why})"),
        };
        text.push_str(&format!(
            "by SSTables{why}: {} rows with different keys, {} of data in {}; sorted in {:.1} s, written in {:.1} s, imported in {:.1} s\n",
            thousands(sstables.distinct_rows),
            Bytes(sstables.data_bytes),
            plural(usize::try_from(sstables.count).unwrap_or(usize::MAX), "SSTable"),
            sstables.sorting_s,
            sstables.writing_s,
            sstables.importing_s,
        ));
    } else if !loaded.via_reason.is_empty() {
        text.push_str(&format!("by CQL ({})\n", loaded.via_reason));
    }
    if loaded.resumed_after > 0 {
        let rows = thousands(loaded.resumed_after);
        text.push_str(&format!(
            "resumed after {rows} rows of an interrupted load\n"
        ));
    }
    if let Some(path) = &loaded.rejected_file {
        text.push_str(&format!(
            "rejected rows and their reasons: {}\n",
            path.display()
        ));
    }
    if let Some(proof) = &loaded.proof {
        text.push_str(&proved(proof));
    }
    if let Some(run) = &loaded.run {
        text.push_str(&format!("run {run}\n"));
    }
    text
}

/// A share as a percentage with two digits that count.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = (1.0 - percent.max(1e-9).log10().floor()).clamp(0.0, 9.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 9"
    )]
    let digits = digits as usize;
    format!("{percent:.digits$} %")
}

/// What a sample was of, and what it would not have shown.
fn sampled(sample: &SampleProof, equal: bool) -> String {
    let mut text = format!(
        "a sample, and not the whole: {} of all tokens in {} ranges (seed {}), {} partitions; --verify full compares all\n",
        percent(sample.share),
        thousands(sample.ranges as u64),
        sample.seed,
        thousands(sample.partitions),
    );
    if equal {
        text.push_str(&format!(
            "with 95 % confidence less than {} of the partitions are wrong, or {} of the rows where rows fail alone (rule of three)\n",
            percent(sample.unseen_partitions_most),
            percent(sample.unseen_rows_most),
        ));
    }
    text
}

fn proved(proof: &Proof) -> String {
    let mut text = String::new();
    if let Some(sample) = &proof.sample {
        text.push_str(&sampled(sample, proof.equal));
    }
    text += &format!(
        "file: {} rows with different keys, {} with a repeated key, checksum {}\n",
        thousands(proof.distinct_rows),
        thousands(proof.equal_keys),
        proof.file_checksum
    );
    text.push_str(&format!(
        "table: {} rows, checksum {}\n",
        thousands(proof.table_rows),
        proof.table_checksum
    ));
    if !proof.equal && proof.table_rows > proof.distinct_rows {
        text.push_str(
            "the table holds rows that the file does not have: it may not have been empty\n",
        );
    }
    if proof.refused_rows > 0 {
        text += &format!(
            "{} of the rejected rows were refused when they were written: they are rows of the file, and not of the table\n",
            thousands(proof.refused_rows)
        );
    } else if proof.table_rows < proof.distinct_rows {
        text.push_str(
            "rows are missing: a node that dies loses what it acknowledged last, unless others have it; load the files again\n",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_digits_that_count() {
        let shown = [0.0625, 0.002, 0.000_012_3, 1.0, 0.5].map(percent);
        assert_eq!(shown, ["6.2 %", "0.20 %", "0.0012 %", "100 %", "50 %"]);
    }

    #[test]
    fn a_sample_says_that_it_is_one() {
        let sample = SampleProof {
            share: 0.002,
            ranges: 1_024,
            seed: 7,
            partitions: 3_000,
            unseen_partitions_most: 0.001,
            unseen_rows_most: 0.000_03,
        };
        let text = sampled(&sample, true);
        assert!(
            text.starts_with("a sample, and not the whole: 0.20 % of all tokens"),
            "{text}"
        );
        assert!(
            text.contains("less than 0.10 % of the partitions are wrong, or 0.0030 % of the rows"),
            "{text}"
        );
        assert!(!sampled(&sample, false).contains("confidence"));
    }
}
