//! `helenus flame`: a node profiled for a while, or the profile of a stored run, as a graph and a table.
//! Refuses to write over a file that is no report, unless asked to.

use crate::cli::flame::Flame;
use crate::commands::report::replaceable;
use crate::error::{CommandError, code};
use crate::outfile;
use crate::ui::{Answers, Table, Ui};
use helenus_cluster::context::Context;
use helenus_lab::flame;
use helenus_model::flame::{
    Profile, ProfileEvent, ProfilePlan, Profiled, Sampler, TopFrame, Weight,
};
use helenus_model::format::Format;
use helenus_model::telemetry::Seen;
use helenus_model::units::{percent, thousands};
use helenus_record::History;
use helenus_record::report::{self as pages, FlameReport};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What `flame --format json` prints.
#[derive(Serialize)]
struct Flamed<'a> {
    format: Format,
    /// The cluster; none for the profile of a stored run.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<&'a str>,
    /// The run, where its profile was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    /// The node.
    node: &'a str,
    /// What was sampled.
    event: ProfileEvent,
    /// How; none where nothing was done.
    by: Option<Sampler>,
    /// What must be known of that.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    /// For how long, in seconds.
    seconds: f64,
    /// Samples.
    samples: u64,
    /// What `own` and `total` of the frames count.
    weight: Weight,
    /// The frames with the most of their own, the most first.
    top: &'a [TopFrame],
    /// The graph.
    file: &'a Path,
    /// Whether nothing was done.
    dry_run: bool,
}

impl Answers for Flamed<'_> {
    fn answer(&self) -> String {
        let place = match (self.cluster, self.run) {
            (Some(cluster), _) => format!("{cluster}/{}", self.node),
            (None, run) => format!("{} in {}", self.node, run.unwrap_or_default()),
        };
        let (event, file) = (self.event, self.file.display());
        match self.dry_run {
            true => format!(
                "{event} of {place} would be profiled for {:.1} s, into {file}",
                self.seconds
            ),
            false => format!(
                "{event} of {place}: {} samples in {:.1} s; the graph is in {file}",
                thousands(self.samples),
                self.seconds
            ),
        }
    }
}

/// The forms of a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Html,
    Svg,
    Collapsed,
}

/// Whose profile it is.
struct Owner {
    cluster: Option<String>,
    run: Option<String>,
}

pub(crate) fn run(flags: &Flame, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    match &flags.run {
        Some(name) => of_run(name, flags, context, ui),
        None => of_node(flags, context, ui),
    }
}

fn of_node(flags: &Flame, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let (state, node) = context.clusters.target(flags.target.as_deref())?;
    let node = state.node_or_first(node.as_deref())?.name.clone();
    let plan = ProfilePlan {
        node,
        event: flags.event,
    };
    let owner = Owner {
        cluster: Some(state.plan.name.clone()),
        run: None,
    };
    let (file, form) = file(
        flags,
        &format!("{}-{}-{}", state.plan.name, plan.node, plan.event),
    )?;
    if flags.dry_run {
        let none = Profiled {
            node: plan.node,
            event: plan.event,
            by: Sampler::of(plan.event)[0].0,
            seconds: flags.length.as_secs_f64(),
            samples: 0,
            weight: plan.event.weighs(),
            top: Vec::new(),
        };
        show(&none, &owner, &file, true, ui);
        return Ok(0);
    }
    let progress = ui.progress(&format!("profiling {plan}"));
    let whole = u64::try_from(flags.length.as_millis()).unwrap_or(u64::MAX);
    let (from_ns, profile) = flame::profile(context, &state, &plan, flags.length, &mut |passed| {
        progress.at(
            u64::try_from(passed.as_millis())
                .unwrap_or(whole)
                .min(whole),
            whole,
        );
    })?;
    drop(progress);
    if context.cancel.is_set() {
        return Err(CommandError::new(
            code::INTERRUPTED,
            "interrupted, and the profiler is stopped",
        ));
    }
    let profiled = Profiled::of(&plan.node, from_ns, &profile);
    write((&profiled, &profile), &owner, (&file, form), ui)
}

/// All profiles of a run in one graph: it has one for each phase.
fn of_run(name: &str, flags: &Flame, context: &Context, ui: &Ui) -> Result<u8, CommandError> {
    let history = History::open(&context.paths.state.join(helenus_record::FILE))?;
    let none = || CommandError::new(code::USAGE, format!("no such run or tag: {name:?}"));
    let id = history.resolve_any(name)?.last().ok_or_else(none)?.id;
    let mut all: Option<(Profiled, Profile)> = None;
    for reading in history.readings(id)? {
        let Seen::Profile(profile) = reading.seen else {
            continue;
        };
        let next = Profiled::of(&reading.source, reading.at_ns, &profile);
        match &mut all {
            None => all = Some((next, profile)),
            Some((sum, stacks)) => {
                stacks.stacks.merge(&profile.stacks);
                sum.seconds += next.seconds;
                sum.samples += next.samples;
                sum.top = stacks.stacks.top(helenus_model::flame::TOP);
            }
        }
    }
    let (profiled, profile) = all.ok_or_else(|| {
        CommandError::new(code::USAGE, format!("{id} was not profiled"))
            .hint("profile a run with `helenus run … --flame`".to_owned())
    })?;
    let owner = Owner {
        cluster: None,
        run: Some(id.to_string()),
    };
    let (file, form) = file(flags, &format!("{id}-{}-{}", profiled.node, profiled.event))?;
    write((&profiled, &profile), &owner, (&file, form), ui)
}

/// The file and its form, by its name.
fn file(flags: &Flame, of: &str) -> Result<(PathBuf, Form), CommandError> {
    let own = || PathBuf::from(format!("helenus-flame-{of}.html"));
    let path = flags.out.clone().unwrap_or_else(own);
    let form = match path.extension().and_then(|e| e.to_str()) {
        Some("html" | "htm") => Form::Html,
        Some("svg") => Form::Svg,
        Some("txt" | "collapsed") => Form::Collapsed,
        _ => {
            let text = format!(
                "{}: no form of a flame graph has this ending",
                path.display()
            );
            return Err(CommandError::new(code::USAGE, text)
                .hint("name it .html, .svg, or .txt for collapsed stacks".to_owned()));
        }
    };
    let cure = "name another file with --out, or use --force";
    replaceable(&path, flags.force, cure)?;
    Ok((path, form))
}

fn write(
    (profiled, profile): (&Profiled, &Profile),
    owner: &Owner,
    (file, form): (&Path, Form),
    ui: &Ui,
) -> Result<u8, CommandError> {
    let of = match (&owner.cluster, &owner.run) {
        (Some(cluster), _) => format!("{cluster}/{}", profiled.node),
        (None, run) => format!(
            "{} in {}",
            profiled.node,
            run.as_deref().unwrap_or_default()
        ),
    };
    let report = FlameReport {
        of: &of,
        profiled,
        stacks: &profile.stacks,
    };
    let text = match form {
        Form::Html => pages::flame_html(&report),
        Form::Svg => pages::flame_svg(&report),
        Form::Collapsed => profile.stacks.collapsed(),
    };
    outfile::write(file, text.as_bytes())?;
    show(profiled, owner, file, false, ui);
    Ok(0)
}

fn show(profiled: &Profiled, owner: &Owner, file: &Path, dry_run: bool, ui: &Ui) {
    let flamed = Flamed {
        format: Format::new("flame", 1),
        cluster: owner.cluster.as_deref(),
        run: owner.run.as_deref(),
        node: &profiled.node,
        event: profiled.event,
        by: (!dry_run).then_some(profiled.by),
        note: profiled.by.note().filter(|_| !dry_run),
        seconds: profiled.seconds,
        samples: profiled.samples,
        weight: profiled.weight,
        top: &profiled.top,
        file,
        dry_run,
    };
    ui.result(&flamed, || match dry_run {
        true => format!("{}\nnothing was profiled (--dry-run)\n", flamed.answer()),
        false => format!("{}\n{}", flamed.answer(), table(profiled)),
    });
}

/// The frames with the most of their own, and what must be known of them.
pub(crate) fn table(profiled: &Profiled) -> String {
    let note = profiled.by.note().map(|note| format!("{note}\n"));
    let note = note.unwrap_or_default();
    if profiled.top.is_empty() {
        return format!("{note}nothing was sampled\n");
    }
    let mut table = Table::new(&[">own", ">total", "frame"]);
    for one in &profiled.top {
        table.row([
            percent(one.own_share),
            percent(one.total_share),
            one.frame.clone(),
        ]);
    }
    format!("{note}\n{}", table.render())
}
