//! `helenus ui`: pages for a browser on this machine, over the history and the clusters.
//! Refuses whoever does not know the token, other hosts' names, and any change.

use crate::cli::site::Site as Flags;
use crate::commands::experiment::report as experiment;
use crate::commands::{list, report};
use crate::error::{CommandError, code};
use crate::ui::{Answers, Ui};
use fs_err as fs;
use helenus_cluster::context::Context;
use helenus_cluster::random::random;
use helenus_cluster::wall;
use helenus_lab::compare::compared;
use helenus_lab::http::{Asked, Page, Pages};
use helenus_model::format::Format;
use helenus_model::hex::hex;
use helenus_model::secret::same;
use helenus_record::report::{ComparisonReport, Narrowed, Site, comparison_html};
use helenus_record::{
    ComparisonId, History, HistoryError, Measure, RunFilter, RunReference, RunState, Series,
};
use serde::Serialize;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs on one page of the list.
const RUNS_MOST: u32 = 200;

/// Bytes of a node's log that are shown.
const LOG_MOST: u64 = 256 * 1024;

/// A run under way is shown again after so many seconds.
const AGAIN_S: u32 = 3;

/// Between two looks at whether the person stops it.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What `ui` prints.
#[derive(Serialize)]
struct Printed {
    format: Format,
    /// The page's address, with its token.
    url: String,
}

impl Answers for Printed {
    fn answer(&self) -> String {
        format!("serving {}", self.url)
    }
}

pub(crate) fn run(flags: &Flags, context: Context, ui: &Ui) -> Result<u8, CommandError> {
    let token = token()?;
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, flags.port));
    let cancel = context.cancel.clone();
    let mut desk = Desk {
        base: format!("/{token}"),
        history: context.paths.state.join(helenus_record::FILE),
        context,
    };
    let pages = Pages::serve(at, move |asked| desk.answer(asked)).map_err(|e| {
        CommandError::new(code::ENVIRONMENT, format!("cannot serve {at}: {e}"))
            .hint("name another --port, or none for a free one".to_owned())
    })?;
    let printed = Printed {
        format: Format::new("ui", 1),
        url: format!("http://{}/{token}/", pages.at()),
    };
    ui.result(&printed, || {
        format!("{}; Ctrl-C ends it\n", printed.answer())
    });
    while !cancel.is_set() {
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(0)
}

/// 128 random bits that nobody can guess.
fn token() -> std::io::Result<String> {
    Ok(hex(&random::<16>()?))
}

/// Whoever answers.
struct Desk {
    /// A slash and the token.
    base: String,
    history: PathBuf,
    context: Context,
}

/// Why a page cannot be had.
enum Lacks {
    /// There is no such thing.
    Nothing(String),
    /// It cannot be read.
    Failed(CommandError),
}

impl From<CommandError> for Lacks {
    fn from(error: CommandError) -> Self {
        Self::Failed(error)
    }
}

impl From<HistoryError> for Lacks {
    fn from(error: HistoryError) -> Self {
        Self::Failed(error.into())
    }
}

impl Desk {
    fn answer(&mut self, asked: Asked<'_>) -> Page {
        // Another site's name that leads here is no name of ours, whatever it asks for.
        let host = asked
            .host
            .rsplit_once(':')
            .map_or(asked.host, |(name, _)| name);
        let ours = matches!(host, "127.0.0.1" | "localhost");
        let inside = asked.path.strip_prefix('/').and_then(|path| {
            let (token, rest) = path.split_once('/')?;
            same(token, &self.base[1..]).then_some(rest)
        });
        let (true, Some(inside)) = (ours, inside) else {
            let text = "open the address that helenus ui printed, with its token\n";
            return Page::text(403, text);
        };
        let site = Site { base: &self.base };
        let query = query(asked.query);
        match self.page(&site, inside, &query) {
            Ok(html) => shown(200, html),
            Err(Lacks::Nothing(what)) => shown(404, site.message("Not found", &what)),
            Err(Lacks::Failed(error)) => {
                let text = anstream::adapter::strip_str(&error.render()).to_string();
                shown(400, site.message("This cannot be shown", &text))
            }
        }
    }

    fn page(
        &self,
        site: &Site<'_>,
        path: &str,
        query: &[(String, String)],
    ) -> Result<String, Lacks> {
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            ["clusters"] => return Ok(site.clusters(&list::lines(&self.context)?)),
            ["log", cluster, node] => return self.log(site, cluster, node),
            _ => {}
        }
        let Some(history) = History::open_existing(&self.history)? else {
            let none = site.runs(&[], &Narrowed::default(), None);
            return match parts[..] {
                [""] => Ok(none),
                _ => Err(Lacks::Nothing("The history is empty.".to_owned())),
            };
        };
        match parts[..] {
            [""] => runs(site, &history, query),
            ["run", name] => run_page(site, &history, name),
            ["compare"] => compare(site, &history, query),
            ["comparisons"] => Ok(site.comparisons(&history.comparisons()?)),
            ["comparison", name] => {
                let id = ComparisonId::named(name).ok_or_else(|| nothing(name))?;
                Ok(site.around(&report::read(&history, &id.to_string())?.html, None))
            }
            ["trend"] => trend(site, &history, query),
            ["experiments"] => Ok(site.experiments(&history.experiments()?)),
            ["experiment", name] => {
                // A name of the history and nothing else: no file is read for an address.
                let all = history.experiments()?;
                let known = all.iter().any(|one| one.id.to_string() == name);
                let page = if known {
                    experiment::page(name, &history)?
                } else {
                    return Err(nothing(name));
                };
                page.map(|page| site.around(&page, None)).ok_or_else(|| {
                    Lacks::Nothing(format!(
                        "{name} is a comparison of two sides: see the comparisons."
                    ))
                })
            }
            _ => Err(nothing(path)),
        }
    }

    /// The end of a node's log.
    fn log(&self, site: &Site<'_>, cluster: &str, node: &str) -> Result<String, Lacks> {
        let clusters = &self.context.clusters;
        let names = clusters.names().map_err(CommandError::from)?;
        if !names.iter().any(|name| name == cluster) {
            return Err(nothing(cluster));
        }
        let state = clusters.load(cluster).map_err(CommandError::from)?;
        let known = state.plan.nodes.iter().find(|one| one.name == node);
        let known = known.ok_or_else(|| nothing(node))?;
        let logs = Path::new(&known.folder).join("logs");
        let text = tail(&logs.join("system.log")).or_else(|_| tail(&logs.join("console.log")));
        Ok(site.log(cluster, node, &text.map_err(CommandError::from)?))
    }
}

fn nothing(name: &str) -> Lacks {
    Lacks::Nothing(format!("There is no {name} here."))
}

/// A page with what keeps a browser from sending it, or anything in it, elsewhere.
fn shown(code: u16, body: String) -> Page {
    let headers = [
        ("Cache-Control", "no-store"),
        ("Referrer-Policy", "no-referrer"),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ];
    Page {
        code,
        kind: "text/html; charset=utf-8",
        headers: headers.map(|(name, value)| (name, value.to_owned())).into(),
        body,
    }
}

/// Names and values behind a question mark.
fn query(text: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(text.as_bytes())
        .into_owned()
        .collect()
}

/// The first value of a name; empty without one.
fn value<'a>(query: &'a [(String, String)], name: &str) -> &'a str {
    query
        .iter()
        .find(|(own, _)| own == name)
        .map_or("", |(_, value)| value.trim())
}

fn narrowed(query: &[(String, String)]) -> Narrowed {
    let text = |name: &str| value(query, name).to_owned();
    Narrowed {
        tag: text("tag"),
        workload: text("workload"),
        release: text("release"),
        state: text("state"),
    }
}

fn filter(to: &Narrowed) -> RunFilter {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    RunFilter {
        tag: some(&to.tag),
        workload: some(&to.workload),
        release: some(&to.release),
        state: match to.state.as_str() {
            "complete" => Some(RunState::Complete),
            "invalid" => Some(RunState::Invalid),
            "interrupted" => Some(RunState::Interrupted),
            "broken" => Some(RunState::Broken),
            _ => None,
        },
        ..RunFilter::default()
    }
}

fn runs(site: &Site<'_>, history: &History, query: &[(String, String)]) -> Result<String, Lacks> {
    let to = narrowed(query);
    let before = value(query, "before").parse().ok();
    let found = history.runs(&RunFilter {
        before,
        limit: Some(RUNS_MOST + 1),
        ..filter(&to)
    })?;
    let most = RUNS_MOST as usize;
    let shown = &found[..found.len().min(most)];
    let older = (found.len() > most).then(|| {
        let last = shown.last().map(|run| run.id.to_string());
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(query.iter().filter(|(name, _)| name != "before"))
            .append_pair("before", &last.unwrap_or_default())
            .finish()
    });
    Ok(site.runs(shown, &to, older.as_deref()))
}

fn run_page(site: &Site<'_>, history: &History, name: &str) -> Result<String, Lacks> {
    let reference: RunReference = name.parse().map_err(|_| nothing(name))?;
    let id = history.resolve(reference)?;
    let running = history.run(id)?.summary.running;
    let page = report::read(history, &id.to_string())?;
    Ok(site.around(&page.html, running.then_some(AGAIN_S)))
}

fn compare(
    site: &Site<'_>,
    history: &History,
    query: &[(String, String)],
) -> Result<String, Lacks> {
    let side = |letter: &str| -> String {
        let names = query.iter().filter(|(name, _)| name == letter);
        let names: Vec<&str> = names.map(|(_, value)| value.as_str()).collect();
        names.join(",")
    };
    let (a, b) = (side("a"), side("b"));
    if a.is_empty() || b.is_empty() {
        return Err(Lacks::Nothing(
            "Tick at least one run as A, and one as B.".to_owned(),
        ));
    }
    let found = compared(history, [&a, &b], Vec::new())
        .map_err(|error| CommandError::of(code::USAGE, &error))?;
    let now = wall::now_ns();
    let repeat = [format!("helenus compare {a} {b}")];
    let page = comparison_html(&ComparisonReport {
        name: "A and B",
        comparison: &found,
        made_wall_ns: now,
        repeat: &repeat,
    });
    Ok(site.around(&page, None))
}

fn trend(site: &Site<'_>, history: &History, query: &[(String, String)]) -> Result<String, Lacks> {
    let to = narrowed(query);
    let (phase, measure) = (value(query, "phase"), value(query, "measure"));
    let followed = match measure {
        "throughput" => Measure::Throughput,
        _ => Measure::P99,
    };
    let runs = history.runs(&RunFilter {
        state: Some(RunState::Complete),
        ..filter(&to)
    })?;
    let named = (!phase.is_empty()).then_some(phase);
    let series = Series::of(runs, named, followed, None);
    Ok(site.trend(series.as_ref(), &to, (phase, followed.word())))
}

/// The last lines of a file.
fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(LOG_MOST);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(LOG_MOST).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // The first line of a part is a part of a line.
    Ok(match text.split_once('\n') {
        Some((_, rest)) if from > 0 => rest.to_owned(),
        _ => text,
    })
}
