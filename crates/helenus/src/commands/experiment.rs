//! `helenus experiment`: a matrix of settings from one file, checked, planned, run, gone on with, answered.
//! Refuses to run what was planned from another text, and to begin what has been begun and not ended.

mod cells;
mod lent;
pub(crate) mod live;
pub(crate) mod pairs;
pub(crate) mod plan;
pub(crate) mod report;
mod status;

use crate::cli::experiment::{Asked, ExperimentVerb, ExperimentWhat};
use crate::commands::disturb;
use crate::commands::{bench, populate};
use crate::error::{CommandError, code};
use crate::ui::Ui;
use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_cluster::error::with_causes;
use helenus_cql::input;
use helenus_lab::experiment::{self, Combination, ExperimentError, ExperimentRequest};
use helenus_model::experiment::{self as model, Experiment, NotLonger, Progress};
use helenus_model::seed::Seed;
use helenus_record::{ExperimentId, History, StoredExperiment};
use std::path::{Path, PathBuf};

/// An experiment's file, read.
#[derive(Clone)]
struct File {
    /// As it is printed.
    shown: String,
    folder: PathBuf,
    text: String,
    experiment: Experiment,
}

pub(crate) fn run(flags: &ExperimentVerb, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &flags.what {
        ExperimentWhat::Check { file } => plan::check(&read(file)?, context, ui),
        ExperimentWhat::Plan { file, asked }
        | ExperimentWhat::Run {
            file,
            asked,
            dry_run: true,
            ..
        } => plan::plan(&as_asked(read(file)?, asked)?, context, ui),
        ExperimentWhat::Run {
            file, asked, anew, ..
        } => begin(&as_asked(read(file)?, asked)?, *anew, context, ui),
        ExperimentWhat::Resume {
            experiment,
            repeats,
            dry_run,
        } => resume(experiment, *repeats, *dry_run, context, ui),
        ExperimentWhat::Status {
            experiment: Some(one),
        } => status::one(one, context, ui),
        ExperimentWhat::Status { experiment: None } => status::all(context, ui),
        ExperimentWhat::Report {
            experiment,
            bars,
            markdown,
            csv,
            html,
        } => report::run(
            experiment,
            bars,
            &report::Files {
                markdown: markdown.as_deref(),
                csv: csv.as_deref(),
                html: html.as_deref(),
            },
            context,
            ui,
        ),
    }
}

fn read(path: &Path) -> Result<File, CommandError> {
    let text = input::text(path)?;
    let whole = fs::canonicalize(path).map_err(|e| CommandError::of(code::USAGE, &e))?;
    of_text(
        path.display().to_string(),
        whole.parent().unwrap_or(Path::new("/")),
        text,
    )
}

fn of_text(shown: String, folder: &Path, text: String) -> Result<File, CommandError> {
    let experiment = model::read(&text).map_err(|error| {
        let place = format!("{shown}:{}: {}", error.line, error.what);
        CommandError::new(code::USAGE, place).hint(error.hint)
    })?;
    Ok(File {
        shown,
        folder: folder.to_owned(),
        text,
        experiment,
    })
}

/// The file, with what the command line says instead.
fn as_asked(mut file: File, asked: &Asked) -> Result<File, CommandError> {
    let of = &mut file.experiment;
    of.seed = asked.seed.map(Seed).or(of.seed);
    if let Some(repeats) = asked.repeats {
        of.repeat(repeats).map_err(|within| {
            let (least, most) = (within.start(), within.end());
            let text = format!("--repeats must be a number from {least} to {most}, not {repeats}");
            CommandError::new(code::USAGE, text)
        })?;
    }
    Ok(file)
}

fn open(context: &Context) -> Result<History, CommandError> {
    Ok(History::open(
        &context.paths.state.join(helenus_record::FILE),
    )?)
}

/// An experiment of the history by its file, its name, or a name such as e3; with its file as it was then.
fn stored(history: &History, name: &str) -> Result<(StoredExperiment, File), CommandError> {
    let path = Path::new(name);
    let now = path.is_file().then(|| read(path)).transpose()?;
    let wanted = now
        .as_ref()
        .map_or(name, |file| file.experiment.name.as_str());
    let Some(stored) = history.experiment(wanted)? else {
        let text = format!("no such experiment in the history: {wanted}");
        let hint = match &now {
            Some(_) => format!("start it: helenus experiment run {name}"),
            None => "`helenus experiment status` lists them".to_owned(),
        };
        return Err(CommandError::new(code::USAGE, text).hint(hint));
    };
    if now.is_some_and(|file| file.text != stored.text) {
        let id = stored.id;
        let text = format!("{name} is not the file that {id} was planned from");
        return Err(CommandError::new(code::USAGE, text).hint(format!(
            "resume with the old text: helenus experiment resume {id}; or start the new one: helenus experiment run {name} --anew"
        )));
    }
    let file = of_text(
        stored.id.to_string(),
        Path::new(&stored.folder),
        stored.text.clone(),
    )?;
    Ok((stored, file))
}

/// The requests of all combinations of a file.
fn combinations(file: &File, context: &Context, ui: &Ui) -> Result<Vec<Combination>, CommandError> {
    let place = cells::Place {
        file: &file.shown,
        folder: &file.folder,
    };
    cells::all(&file.experiment, &place, (context, ui))
}

/// The request of a file's text.
pub(crate) fn request(
    text: String,
    seed: Seed,
    (context, ui): (&Context, &Ui),
) -> Result<ExperimentRequest, CommandError> {
    let folder = std::env::current_dir().unwrap_or_default();
    let file = of_text("the comparison".to_owned(), &folder, text)?;
    Ok(ExperimentRequest {
        combinations: combinations(&file, context, ui)?,
        seed,
        experiment: file.experiment,
        text: file.text,
        folder: file.folder.display().to_string(),
        command: disturb::words(),
    })
}

/// Enters an experiment into the history and runs it.
pub(crate) fn start(
    request: &ExperimentRequest,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let id = experiment::begin(context, request).map_err(failure)?;
    sit(request, id, context, ui)
}

/// The seed that was asked for, or a random one.
fn seed(file: &File) -> Seed {
    let known = file.experiment.seed;
    known.unwrap_or_else(|| Seed(bench::random()))
}

fn begin(file: &File, anew: bool, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let name = &file.experiment.name;
    let history = open(context)?;
    if let Some(last) = history.experiment(name)?
        && !anew
        && status::progress(&history, last.id)?.left > 0
    {
        let id = last.id;
        let text = format!("{id} is an unfinished experiment {name}");
        return Err(CommandError::new(code::USAGE, text).hint(format!(
            "resume it: helenus experiment resume {id}; or start another: --anew"
        )));
    }
    drop(history);
    if let Some(few) = plan::few(&file.experiment) {
        ui.caution(&few);
    }
    let request = ExperimentRequest {
        combinations: plan::decidable(file, context, ui)?,
        seed: seed(file),
        experiment: file.experiment.clone(),
        text: file.text.clone(),
        folder: file.folder.display().to_string(),
        command: disturb::words(),
    };
    experiment::may_begin(context, &request).map_err(failure)?;
    start(&request, context, ui)
}

fn resume(
    name: &str,
    repeats: Option<usize>,
    dry_run: bool,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let mut history = open(context)?;
    let (stored, file) = self::stored(&history, name)?;
    if stored.running && !dry_run {
        let text = format!("{} is already running", stored.id);
        return Err(CommandError::new(code::USAGE, text)
            .hint(format!("helenus experiment status {}", stored.id)));
    }
    if let Some(blocks) = repeats {
        let file = as_asked(file.clone(), &Asked::blocks(blocks))?;
        let own = (stored.id, stored.seed);
        let longer = experiment::lengthen(&mut history, &file.experiment, own, blocks, dry_run)?;
        let missing = longer.map_err(|why| {
            let hint = match why {
                NotLonger::Fewer { .. } => format!(
                    "Ctrl-C when enough has run; the answer so far: helenus experiment report {}",
                    stored.id
                ),
                NotLonger::Claims { .. } => format!(
                    "start another with that many from the start: --anew --repeats {blocks}; or `until` in its file"
                ),
            };
            CommandError::of(code::USAGE, &why).hint(hint)
        })?;
        let runs = missing.len();
        if dry_run && runs > 0 {
            ui.note(&format!(
                "{runs} runs would be added, for {blocks} blocks in all"
            ));
        }
    }
    if dry_run {
        return status::one(name, context, ui);
    }
    drop(history);
    let request = ExperimentRequest {
        combinations: combinations(&file, context, ui)?,
        seed: stored.seed,
        experiment: file.experiment,
        text: file.text,
        folder: stored.folder,
        command: stored.command,
    };
    sit(&request, stored.id, context, ui)
}

/// Runs what is left, and prints the answer if nothing is.
fn sit(
    request: &ExperimentRequest,
    id: ExperimentId,
    context: &Context,
    ui: &Ui,
) -> Result<u8, CommandError> {
    let mut live = live::Live::new(ui, request);
    let sat = experiment::sit(context, request, id, &mut |event| live.see(&event));
    drop(live);
    let of = &request.experiment;
    let compared = of.pairs.as_ref().map(|_| pairs::made(of, id, context, ui));
    let go_on = || format!("helenus experiment resume {id}");
    let sat = sat.map_err(|error| {
        let stopped = failure(error).within(&format!("{id} stopped"));
        ui.note(&format!("what has run is kept; to resume: {}", go_on()));
        stopped
    })?;
    if sat.interrupted {
        let Progress { done, left, .. } = sat.progress;
        let how = match &sat.not_removed {
            Some(error) => format!("interrupted, and not cleaned up ({})", with_causes(error)),
            None => "interrupted, and cleaned up".to_owned(),
        };
        let text = format!("{how}: {done} runs are done, {left} are left");
        return Err(CommandError::new(code::INTERRUPTED, text).hint(format!("resume: {}", go_on())));
    }
    compared.unwrap_or_else(|| report::show(id, context, ui))
}

pub(crate) fn failure(error: ExperimentError) -> CommandError {
    match error {
        ExperimentError::Side { run, source } => bench::failure(*source).within(&run),
        ExperimentError::Compare(error) => pairs::not_comparable(error),
        ExperimentError::TooManyInvalid { ref doubts, .. } => {
            let mostly = doubts
                .first()
                .map(|(text, times)| format!("most often ({times} times): {text}"));
            CommandError::of(code::INVALID, &error).hint(mostly)
        }
        ExperimentError::Cluster(error) => error.into(),
        ExperimentError::Bench(error) => bench::failure(*error),
        ExperimentError::Populate(error) => populate::failure(error),
        ExperimentError::History(error) => error.into(),
        ExperimentError::NotRecorded(ref source) => {
            let hint = source.hint();
            CommandError::of(code::ENVIRONMENT, &error).hint(hint)
        }
        ExperimentError::NameTaken(ref name) => {
            let hint = format!("`helenus rm {name}`, or another HELENUS_HOME for the experiment");
            CommandError::of(code::USAGE, &error).hint(hint)
        }
        ExperimentError::NotPutBack {
            ref name, heals, ..
        } => {
            let hint = format!("`helenus {heals} {name}` puts them back");
            CommandError::of(code::CLUSTER, &error).hint(hint)
        }
        ExperimentError::Disturbed(_) => CommandError::of(code::CLUSTER, &error)
            .hint("`helenus experiment resume` runs it again, and continues".to_owned()),
        ExperimentError::NotWhole => CommandError::of(code::CLUSTER, &error),
    }
}
