//! Pages over a history and over clusters, for a browser on this machine.
//! Refuses text that is not escaped, and any address but its own.

use crate::comparison::StoredComparison;
use crate::planned::StoredExperiment;
use crate::report::page;
use crate::report::words::html;
use crate::run::{RunState, RunSummary};
use crate::series::Series;
use crate::when::Utc;
use helenus_model::doubt::Verdict;
use helenus_model::units::{fixed, whole};
use std::fmt::Write as _;

/// Size of a trend's drawing.
const WIDE: f64 = 1200.0;
const HIGH: f64 = 320.0;

/// A trend whose largest value is so many times its smallest has a logarithmic scale.
const FAR_APART: f64 = 8.0;

/// Room around a trend's points: top, right, bottom, left.
const EDGE: [f64; 4] = [16.0, 20.0, 34.0, 70.0];

/// Parts of the site, with their addresses and titles.
const PARTS: [(&str, &str); 5] = [
    ("", "Runs"),
    ("trend", "Trends"),
    ("comparisons", "Comparisons"),
    ("experiments", "Experiments"),
    ("clusters", "Clusters"),
];

/// What every page of the site knows.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// What every address begins with, without a slash at its end.
    pub base: &'a str,
}

/// What the list of runs is narrowed to; empty texts narrow nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Narrowed {
    /// A tag.
    pub tag: String,
    /// A workload.
    pub workload: String,
    /// A release.
    pub release: String,
    /// A state, as [`RunState`] is written.
    pub state: String,
}

/// A cluster on this machine.
#[derive(Debug, Clone)]
pub struct ClusterLine {
    /// Its name.
    pub name: String,
    /// Its state in a word.
    pub state: String,
    /// Its release; empty where it is not known.
    pub release: String,
    /// Why it is broken; empty where it is not.
    pub problem: String,
    /// Its nodes.
    pub nodes: Vec<NodeLine>,
}

/// A node of a cluster.
#[derive(Debug, Clone)]
pub struct NodeLine {
    /// Its name.
    pub name: String,
    /// Its state in a word.
    pub state: String,
    /// Its data centre and rack.
    pub place: String,
    /// Where clients reach it.
    pub address: String,
    /// Its process, where it has one.
    pub pid: Option<i32>,
    /// What its process has in memory, in words; empty where it has none.
    pub memory: String,
    /// Its tokens, in words.
    pub tokens: String,
}

impl Site<'_> {
    /// The navigation, with the part that is open.
    fn nav(&self, here: &str) -> String {
        let mut links = String::new();
        for (part, title) in PARTS {
            let current = if part == here {
                " aria-current=\"page\""
            } else {
                ""
            };
            let _infallible = write!(
                links,
                "<a href=\"{}/{part}\"{current}>{title}</a>",
                self.base
            );
        }
        format!("<nav class=\"site\" aria-label=\"Helenus\">{links}</nav>\n")
    }

    fn page(&self, here: &str, title: &str, body: &str) -> String {
        page::site(title, &self.nav(here), body)
    }

    /// A report of its own with the site's navigation, read again every so many seconds where that is asked for.
    pub fn around(&self, report: &str, again_s: Option<u32>) -> String {
        let nav = self.nav("-");
        let style = format!("<style>{}</style>\n</head>", page::SITE_STYLE);
        let again = again_s.map_or(String::new(), |s| {
            format!("<meta http-equiv=\"refresh\" content=\"{s}\">\n")
        });
        report
            .replacen("<head>\n", &format!("<head>\n{again}"), 1)
            .replacen("</head>", &style, 1)
            .replacen("<body>\n", &format!("<body>\n{nav}"), 1)
    }

    /// A page that says something, such as what went wrong; a paragraph a line.
    pub fn message(&self, title: &str, text: &str) -> String {
        let body: String = text
            .lines()
            .map(|line| format!("<p>{}</p>\n", html(line)))
            .collect();
        self.page("-", title, &body)
    }

    /// The runs, the newest first; `older` narrows to those before, where there are more.
    pub fn runs(&self, runs: &[RunSummary], to: &Narrowed, older: Option<&str>) -> String {
        let base = self.base;
        let field = |label: &str, name: &str, value: &str| {
            format!(
                "<label>{label}<input name=\"{name}\" value=\"{}\"></label>",
                html(value)
            )
        };
        let states: String = ["", "complete", "invalid", "interrupted", "broken"]
            .iter()
            .map(|state| {
                let chosen = if *state == to.state { " selected" } else { "" };
                let word = if state.is_empty() { "any" } else { state };
                format!("<option value=\"{state}\"{chosen}>{word}</option>")
            })
            .collect();
        let mut body = format!(
            "<form class=\"filter\" action=\"{base}/\">{}{}{}<label>State<select name=\"state\">{states}</select></label>\
             <button>Show</button></form>\n",
            field("Tag", "tag", &to.tag),
            field("Workload", "workload", &to.workload),
            field("Release", "release", &to.release),
        );
        if runs.is_empty() {
            body.push_str("<p>No run. <code>helenus bench</code> makes one.</p>\n");
            return self.page("", "Runs", &body);
        }
        let rows: String = runs.iter().map(|run| self.run_row(run)).collect();
        let _infallible = write!(
            body,
            "<form action=\"{base}/compare\">\n<div class=\"scroll\"><table>\n<thead><tr><th>compare</th><th>run</th><th>when (UTC)</th>\
             <th>state</th><th>workload</th><th>release</th><th>tags</th><th>phase</th><th class=\"n\">rate</th>\
             <th class=\"n\">op/s</th><th class=\"n\">p99, ms</th></tr></thead>\n<tbody>{rows}</tbody></table></div>\n\
             <div class=\"act\"><button>Compare A with B</button>\
             <span class=\"note\">Tick runs as A and as B. Fewer than six restarts a side claim nothing.</span></div>\n</form>\n"
        );
        if let Some(older) = older {
            let _infallible = writeln!(
                body,
                "<p><a href=\"{base}/?{}\">Older runs</a></p>",
                html(older)
            );
        }
        self.page("", "Runs", &body)
    }

    fn run_row(&self, run: &RunSummary) -> String {
        let id = run.id.to_string();
        let (word, style) = state(run);
        let ended = run.state != RunState::Broken;
        let pick = if ended {
            format!(
                "<label><input type=\"checkbox\" name=\"a\" value=\"{id}\" aria-label=\"{id} as A\"> A</label>\
                 <label><input type=\"checkbox\" name=\"b\" value=\"{id}\" aria-label=\"{id} as B\"> B</label>"
            )
        } else {
            String::new()
        };
        let mut cells: [String; 4] = Default::default();
        for (at, phase) in run.phases.iter().enumerate() {
            let p99 = match phase.rate_per_s {
                Some(_) => phase.response_p99_us,
                None => phase.service_p99_us,
            };
            let values = [
                html(&phase.name),
                phase.rate_per_s.map_or("closed".to_owned(), whole),
                phase.achieved_per_s.map_or("–".to_owned(), whole),
                p99.map_or("–".to_owned(), |us| fixed(us / 1e3, 2)),
            ];
            for (cell, value) in cells.iter_mut().zip(values) {
                if at > 0 {
                    cell.push_str("<br>");
                }
                cell.push_str(&value);
            }
        }
        let [phases, rates, reached, p99s] = cells;
        format!(
            "<tr><td class=\"pick\">{pick}</td><td><a href=\"{base}/run/{id}\">{id}</a></td><td>{}</td>\
             <td><span class=\"state {style}\">{word}</span></td><td>{}</td><td>{}</td><td>{}</td><td>{phases}</td>\
             <td class=\"n\">{rates}</td><td class=\"n\">{reached}</td><td class=\"n\">{p99s}</td></tr>\n",
            Utc::of_ns(run.began_wall_ns).to_minute(),
            html(&run.workload),
            html(run.release.as_deref().unwrap_or("–")),
            html(&run.tags.join(" ")),
            base = self.base,
        )
    }

    /// A measure over runs; none where no run is like that.
    pub fn trend(
        &self,
        series: Option<&Series>,
        to: &Narrowed,
        (phase, measure): (&str, &str),
    ) -> String {
        let base = self.base;
        let field = |label: &str, name: &str, value: &str| {
            format!(
                "<label>{label}<input name=\"{name}\" value=\"{}\"></label>",
                html(value)
            )
        };
        let measures: String = ["p99", "throughput"]
            .iter()
            .map(|word| {
                let chosen = if *word == measure { " selected" } else { "" };
                format!("<option{chosen}>{word}</option>")
            })
            .collect();
        let mut body = format!(
            "<form class=\"filter\" action=\"{base}/trend\">{}{}{}{}<label>Measure<select name=\"measure\">{measures}</select></label>\
             <button>Show</button></form>\n",
            field("Tag", "tag", &to.tag),
            field("Workload", "workload", &to.workload),
            field("Release", "release", &to.release),
            field("Phase", "phase", phase),
        );
        let Some(series) = series else {
            body.push_str("<p>No run that has ended is like that.</p>\n");
            return self.page("trend", "Trends", &body);
        };
        let _infallible = write!(
            body,
            "<h2>{}</h2>\n<figure class=\"frame\"><figcaption>{} of {} {}{}, {}</figcaption>\n{}</figure>\n",
            html(&series.headline()),
            html(series.measure),
            html(&series.workload),
            html(&series.phase),
            series
                .rate_per_s
                .map_or(String::new(), |rate| format!(" at {}/s", whole(rate))),
            series.unit,
            self.drawn(series)
        );
        if !series.steps.is_empty() {
            let each: String = series
                .steps
                .iter()
                .map(|step| format!("<li>{}</li>", html(&series.words(step))))
                .collect();
            let _infallible = writeln!(body, "<ul class=\"more\">{each}</ul>");
        }
        if series.left_out > 0 {
            let _infallible = writeln!(
                body,
                "<p class=\"note\">{} of another workload, phase or rate, or without the measure, left out.</p>",
                series.left_out
            );
        }
        self.page("trend", "Trends", &body)
    }

    fn drawn(&self, series: &Series) -> String {
        let [top, right, bottom, left] = EDGE;
        let scale = Scale::of(series.runs.iter().map(|point| point.value));
        #[expect(clippy::cast_precision_loss, reason = "places below 2^53")]
        let x = |at: f64| {
            let last = (series.runs.len().max(2) - 1) as f64;
            left + (WIDE - left - right) * at / last
        };
        let y = |value: f64| top + (HIGH - top - bottom) * (1.0 - scale.share(value));
        let mut svg = format!(
            "<svg class=\"trend\" viewBox=\"0 0 {WIDE} {HIGH}\" role=\"img\" aria-label=\"{}\">\n",
            html(&series.headline())
        );
        for quarter in 0..=4 {
            let value = scale.value(f64::from(quarter) / 4.0);
            let _infallible = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{left}\" x2=\"{}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDE - right,
                left - 8.0,
                y(value) + 4.0,
                fixed(value, series.decimals()),
                at = y(value),
            );
        }
        #[expect(clippy::cast_precision_loss, reason = "places below 2^53")]
        let place = |at: usize| at as f64;
        for step in &series.steps {
            let at = x(place(step.at) - 0.5);
            let _infallible = writeln!(
                svg,
                "<line class=\"step\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{}\"><title>{}</title></line>",
                HIGH - bottom,
                html(&series.words(step))
            );
        }
        let points: Vec<String> = series
            .runs
            .iter()
            .enumerate()
            .map(|(at, point)| format!("{:.1},{:.1}", x(place(at)), y(point.value)))
            .collect();
        let _infallible = writeln!(svg, "<polyline points=\"{}\"/>", points.join(" "));
        for (at, point) in series.runs.iter().enumerate() {
            let _infallible = writeln!(
                svg,
                "<a href=\"{}/run/{id}\"><circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\"><title>{id} {} {}: {} {}</title></circle></a>",
                self.base,
                x(place(at)),
                y(point.value),
                Utc::of_ns(point.began_wall_ns).to_minute(),
                html(point.release.as_deref().unwrap_or_default()),
                fixed(point.value, series.decimals()),
                series.unit,
                id = point.run,
            );
        }
        for (at, anchor) in [(0, "start"), (series.runs.len().saturating_sub(1), "end")] {
            if let Some(point) = series.runs.get(at) {
                let _infallible = writeln!(
                    svg,
                    "<text class=\"of\" x=\"{:.1}\" y=\"{}\" text-anchor=\"{anchor}\">{} {}</text>",
                    x(place(at)),
                    HIGH - 10.0,
                    point.run,
                    Utc::of_ns(point.began_wall_ns).to_minute()
                );
            }
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// Stored comparisons, the newest first.
    pub fn comparisons(&self, all: &[StoredComparison]) -> String {
        let row = |one: &StoredComparison| {
            let of = &one.comparison;
            format!(
                "<tr><td><a href=\"{base}/comparison/{id}\">{id}</a></td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
                Utc::of_ns(one.made_wall_ns).to_minute(),
                html(&of.a.label),
                html(&of.b.label),
                of.pairs.len(),
                html(&of.conclusion().headline),
                base = self.base,
                id = one.id,
            )
        };
        let heads = "<th>comparison</th><th>made (UTC)</th><th>A</th><th>B</th><th class=\"n\">pairs</th><th>answer</th>";
        let none =
            "No comparison. Tick runs in the list, or use <code>helenus compare --ab</code>.";
        self.listed("comparisons", "Comparisons", heads, all, row, none)
    }

    /// Experiments, the newest first.
    pub fn experiments(&self, all: &[StoredExperiment]) -> String {
        let row = |one: &StoredExperiment| {
            format!(
                "<tr><td><a href=\"{base}/experiment/{id}\">{id}</a></td><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td></tr>\n",
                html(&one.name),
                Utc::of_ns(one.began_wall_ns).to_minute(),
                if one.running { "running" } else { "" },
                html(&one.command),
                base = self.base,
                id = one.id,
            )
        };
        let heads = "<th>experiment</th><th>name</th><th>began (UTC)</th><th></th><th>command</th>";
        let none = "No experiment. <code>helenus experiment run FILE</code> makes one.";
        self.listed("experiments", "Experiments", heads, all, row, none)
    }

    fn listed<T>(
        &self,
        here: &str,
        title: &str,
        heads: &str,
        all: &[T],
        row: impl Fn(&T) -> String,
        none: &str,
    ) -> String {
        if all.is_empty() {
            return self.page(here, title, &format!("<p>{none}</p>\n"));
        }
        let rows: String = all.iter().map(row).collect();
        let body = format!(
            "<div class=\"scroll\"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table></div>\n"
        );
        self.page(here, title, &body)
    }

    /// Clusters of this machine with their nodes.
    pub fn clusters(&self, all: &[ClusterLine]) -> String {
        let mut body = String::new();
        if all.is_empty() {
            body.push_str("<p>No cluster. <code>helenus up</code> brings one up.</p>\n");
        }
        for one in all {
            let _infallible = write!(
                body,
                "<section><h2>{}</h2>\n<p>{} <span class=\"note\">Cassandra {}</span></p>\n",
                html(&one.name),
                html(&one.state),
                html(&one.release)
            );
            if !one.problem.is_empty() {
                let _infallible = writeln!(body, "<p>{}</p>", html(&one.problem));
            }
            let rows: String = one
                .nodes
                .iter()
                .map(|node| {
                    format!(
                        "<tr><td>{name}</td><td>{}</td><td>{}</td><td><code>{}</code></td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                         <td class=\"n\">{}</td><td><a href=\"{}/log/{}/{name}\">log</a></td></tr>\n",
                        html(&node.state),
                        html(&node.place),
                        html(&node.address),
                        node.pid.map_or("–".to_owned(), |pid| pid.to_string()),
                        html(&node.memory),
                        html(&node.tokens),
                        self.base,
                        html(&one.name),
                        name = html(&node.name),
                    )
                })
                .collect();
            let _infallible = write!(
                body,
                "<div class=\"scroll\"><table>\n<thead><tr><th>node</th><th>state</th><th>data centre, rack</th><th>address</th><th class=\"n\">process</th>\
                 <th class=\"n\">memory</th><th class=\"n\">tokens</th><th></th></tr></thead>\n<tbody>{rows}</tbody></table></div>\n\
                 <p class=\"note\">To change it: <code>helenus stop {name}</code>, <code>helenus rm {name}</code> and others ask as ever.</p></section>\n",
                name = html(&one.name)
            );
        }
        self.page("clusters", "Clusters", &body)
    }

    /// The end of a node's log.
    pub fn log(&self, cluster: &str, node: &str, text: &str) -> String {
        let body = format!(
            "<p class=\"note\">The newest lines are at the end; <code>helenus logs {}/{} -f</code> follows it.</p>\n{}",
            html(cluster),
            html(node),
            page::verbatim(text)
        );
        self.page("clusters", &format!("Log of {cluster}/{node}"), &body)
    }
}

/// How values become heights: by their logarithms where they lie far apart.
enum Scale {
    /// From zero to this.
    Linear(f64),
    /// Logarithms from and to.
    Logarithmic(f64, f64),
}

impl Scale {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let most = values.clone().fold(f64::MIN_POSITIVE, f64::max);
        let least = values.fold(most, f64::min);
        if most > FAR_APART * least {
            Self::Logarithmic((least / 1.1).ln(), (most * 1.1).ln())
        } else {
            Self::Linear(most * 1.1)
        }
    }

    /// The height of a value, 0 to 1.
    fn share(&self, value: f64) -> f64 {
        match *self {
            Self::Linear(most) => value / most,
            Self::Logarithmic(from, to) => (value.ln() - from) / (to - from),
        }
    }

    /// The value at a height.
    fn value(&self, share: f64) -> f64 {
        match *self {
            Self::Linear(most) => most * share,
            Self::Logarithmic(from, to) => (from + (to - from) * share).exp(),
        }
    }
}

/// A run's state in a word, and the name of its style.
fn state(run: &RunSummary) -> (&'static str, &'static str) {
    match (run.state, run.verdict) {
        (RunState::Broken, _) if run.running => ("running", "valid"),
        (RunState::Broken, _) => ("broken", "invalid"),
        (RunState::Interrupted, _) => ("interrupted", "caution"),
        (RunState::Invalid, _) => ("invalid", "invalid"),
        (RunState::Complete, Some(Verdict::Valid)) => ("valid", "valid"),
        (RunState::Complete, _) => ("caution", "caution"),
    }
}
