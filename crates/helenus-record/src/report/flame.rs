//! Flame graphs: a profile's tree as SVG that opens by itself, on a page of its own or in the page of a run.
//! Refuses to draw what nobody sees: the lightest call paths are left out, and their number of weights is said.

use crate::report::page::{Head, Section, render};
use crate::report::words::{count, digits, html, percent};
use crate::report::{MARK, RunReport};
use helenus_model::flame::{
    Called, FrameKind, Profile, Profiled, Sampler, Stacks, Weight, bare, kind_of,
};
use helenus_model::sample::Stretch;
use helenus_model::telemetry::Seen;
use std::fmt::Write as _;

/// Most call paths that are drawn.
const MOST: usize = 4000;
/// Height of a row in pixels.
const ROW: usize = 17;
/// Share of the width from which on a frame has its name on it before anything is zoomed.
const NAMED: f64 = 0.008;
/// Width of a graph in a file of its own, in pixels.
const WIDTH: usize = 1400;

/// What a graph's page is made from.
#[derive(Debug, Clone, Copy)]
pub struct FlameReport<'a> {
    /// What was profiled, such as `c/node1`, or `node1 of r12`.
    pub of: &'a str,
    /// The summary.
    pub profiled: &'a Profiled,
    /// The stacks.
    pub stacks: &'a Stacks,
}

/// The graph as one HTML file.
pub fn flame_html(report: &FlameReport<'_>) -> String {
    let Profiled { event, samples, .. } = report.profiled;
    let head = Head {
        title: format!("{event} of {}", report.of),
        kicker: "Helenus · flame graph".to_owned(),
        headline: format!("{event} of {}: {} samples", report.of, count(*samples)),
        badge: (event.word().to_owned(), "valid"),
        facts: vec![
            format!("{} s", digits(report.profiled.seconds)),
            sampled(report.profiled.by).to_owned(),
        ],
    };
    let sections = [
        Section::open(
            "flame",
            "Flame graph",
            graph(report.stacks, report.profiled.weight),
        ),
        Section::open("top", "Frames by their own weight", top(report.profiled)),
    ];
    render(&head, "", &sections)
}

/// The graph alone, as one SVG file: drawn whole, without search and zoom.
pub fn flame_svg(report: &FlameReport<'_>) -> String {
    let drawn = Drawn::of(report.stacks, report.profiled.weight);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{}\"><!-- {MARK} -->\n\
         <style>text{{font:11px sans-serif;fill:#16202c}}rect{{stroke:#fff;stroke-width:.5}}\
         .fk-cassandra{{fill:#7fb3e6}}.fk-java{{fill:#8fcf9f}}.fk-native{{fill:#e8cf7a}}.fk-kernel{{fill:#eaa77f}}\
         </style>\n{}</svg>\n",
        drawn.height, drawn.frames
    )
}

/// How it was sampled, in words.
fn sampled(by: Sampler) -> &'static str {
    match by {
        Sampler::PerfEvents => "sampled by perf events",
        Sampler::Ctimer => "sampled by a CPU timer of each thread, without frames of the kernel",
        Sampler::Itimer => "sampled by the CPU timer of the process, without frames of the kernel",
        Sampler::Jvm => "sampled by events of the JVM",
        Sampler::Timer => "sampled by a timer over all threads",
    }
}

/// The section of a run's page; empty where nothing was profiled.
pub(super) fn section(report: &RunReport<'_>) -> String {
    let mut body = String::new();
    for reading in report.readings {
        let Seen::Profile(profile) = &reading.seen else {
            continue;
        };
        let profiled = Profiled::of(&reading.source, reading.at_ns, profile);
        let _infallible = write!(
            body,
            "<p>{} of {}, {} s{}: {} samples, {}.</p>\n{}{}",
            profiled.event,
            html(&profiled.node),
            digits(profiled.seconds),
            phase_of(report, reading.at_ns, profile)
                .map(|name| format!(" of phase {}", html(&name)))
                .unwrap_or_default(),
            count(profiled.samples),
            sampled(profiled.by),
            graph(&profile.stacks, profiled.weight),
            top(&profiled),
        );
    }
    if body.is_empty() {
        return body;
    }
    format!(
        "<p class=\"note\">The node was profiled in the measurement window only. What that costs is in this run's \
         times.</p>{body}"
    )
}

/// The phase in which the middle of a profile lies.
fn phase_of(report: &RunReport<'_>, from_ns: u64, profile: &Profile) -> Option<String> {
    let middle = from_ns / 2 + profile.to_ns / 2;
    let measured = report
        .intervals
        .iter()
        .filter(|i| i.stretch == Stretch::Measured);
    let near = measured.min_by_key(|i| (i.start_ns / 2 + i.end_ns / 2).abs_diff(middle))?;
    let phases = &report.run.summary.phases;
    phases.get(near.phase).map(|phase| phase.name.clone())
}

fn top(profiled: &Profiled) -> String {
    let mut rows = String::new();
    for one in &profiled.top {
        let _infallible = writeln!(
            rows,
            "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
            percent(one.own_share),
            percent(one.total_share),
            html(&one.frame)
        );
    }
    if rows.is_empty() {
        return "<p class=\"note\">Nothing was sampled.</p>\n".to_owned();
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th class=\"n\">own</th><th class=\"n\">total</th>\
         <th>frame</th></tr></thead><tbody>{rows}</tbody></table></div>\n"
    )
}

/// The graph with its field and its legend.
fn graph(stacks: &Stacks, weight: Weight) -> String {
    let drawn = Drawn::of(stacks, weight);
    if drawn.frames.is_empty() {
        return String::new();
    }
    let legend: String = [
        FrameKind::Cassandra,
        FrameKind::Java,
        FrameKind::Native,
        FrameKind::Kernel,
    ]
    .map(|kind| {
        let (style, words) = style(kind);
        format!("<span class=\"kind {style}\">{words}</span>")
    })
    .concat();
    let left = match drawn.least {
        1 => String::new(),
        least => format!(" Call paths below {} are not drawn.", worth(least, weight)),
    };
    format!(
        "<figure class=\"flame\"><div class=\"bar\"><input type=\"search\" placeholder=\"search frames\" \
         aria-label=\"search frames\"><span class=\"found\"></span><button type=\"button\" hidden>whole graph</button>\
         <span class=\"keys\">{legend}</span></div>\n<svg class=\"stacks\" width=\"100%\" height=\"{}\">{}</svg>\n\
         <p class=\"note\">A click on a frame zooms to it.{left}</p></figure>\n",
        drawn.height, drawn.frames
    )
}

/// Frames as SVG.
struct Drawn {
    frames: String,
    height: usize,
    least: u64,
}

impl Drawn {
    #[expect(clippy::cast_precision_loss, reason = "weights below 2^53")]
    fn of(stacks: &Stacks, weight: Weight) -> Self {
        let least = stacks.least_for(MOST);
        let tree = stacks.tree(least);
        let depth = tree.iter().map(deep).max().unwrap_or(0);
        let mut drawing = Drawing {
            out: String::new(),
            all: stacks.total().max(1) as f64,
            depth,
            weight,
        };
        drawing.calls(&tree, 0, 1);
        Self {
            frames: drawing.out,
            height: depth * ROW,
            least,
        }
    }
}

fn deep(one: &Called<'_>) -> usize {
    1 + one.calls.iter().map(deep).max().unwrap_or(0)
}

struct Drawing {
    out: String,
    all: f64,
    depth: usize,
    weight: Weight,
}

impl Drawing {
    /// Calls of one caller, from a weight on to the right, in a row from one.
    #[expect(clippy::cast_precision_loss, reason = "weights below 2^53")]
    fn calls(&mut self, calls: &[Called<'_>], mut from: u64, row: usize) {
        for one in calls {
            let share = one.total as f64 / self.all;
            let (name, kind) = (bare(one.frame), kind_of(one.frame));
            let text = match share >= NAMED {
                true => format!("<text x=\"3\" y=\"12\">{}</text>", html(short(name, kind))),
                false => String::new(),
            };
            let _infallible = writeln!(
                self.out,
                "<svg x=\"{:.4}%\" y=\"{}\" width=\"{:.4}%\" height=\"{ROW}\"><title>{}: {}, {}</title>\
                 <rect class=\"{}\" width=\"100%\" height=\"100%\"/>{text}</svg>",
                from as f64 / self.all * 100.0,
                (self.depth - row) * ROW,
                share * 100.0,
                html(name),
                worth(one.total, self.weight),
                percent(share),
                style(kind).0,
            );
            self.calls(&one.calls, from, row + 1);
            from += one.total;
        }
    }
}

/// A weight with its unit.
#[expect(clippy::cast_precision_loss, reason = "weights below 2^53")]
fn worth(weight: u64, unit: Weight) -> String {
    match unit {
        Weight::Samples if weight == 1 => "1 sample".to_owned(),
        Weight::Samples => format!("{} samples", count(weight)),
        Weight::Bytes => crate::report::words::bytes(weight),
        Weight::Nanoseconds => format!("{} ms", digits(weight as f64 / 1e6)),
    }
}

/// Class and method without the package; a function as it is.
fn short(name: &str, kind: FrameKind) -> &str {
    if matches!(kind, FrameKind::Native | FrameKind::Kernel) {
        return name;
    }
    let mut dots = name.rmatch_indices('.').map(|(at, _)| at);
    match (dots.next(), dots.next()) {
        (Some(_), Some(before)) => &name[before + 1..],
        _ => name,
    }
}

/// The name of the style of a kind of frames, and its words in the legend.
fn style(kind: FrameKind) -> (&'static str, &'static str) {
    match kind {
        FrameKind::Cassandra => ("fk-cassandra", "Cassandra"),
        FrameKind::Java => ("fk-java", "other Java"),
        FrameKind::Native => ("fk-native", "JVM and libraries"),
        FrameKind::Kernel => ("fk-kernel", "kernel"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::flame::ProfileEvent;

    fn page(text: &str) -> (String, String) {
        let stacks = Stacks::parse(text).expect("a profile");
        let profile = Profile {
            event: ProfileEvent::Cpu,
            by: Sampler::PerfEvents,
            to_ns: 12_000_000_000,
            samples: stacks.total(),
            stacks: stacks.clone(),
        };
        let report = FlameReport {
            of: "c/node1",
            profiled: &Profiled::of("node1", 2_000_000_000, &profile),
            stacks: &stacks,
        };
        (flame_html(&report), flame_svg(&report))
    }

    #[test]
    fn each_frame_has_its_place_width_and_kind() {
        let (html, svg) = page("a.B.run_[j];org.apache.cassandra.C.get_[j] 3\na.B.run_[j] 1\n");
        let frame = "<svg x=\"0.0000%\" y=\"0\" width=\"75.0000%\" height=\"17\"><title>org.apache.cassandra.C.get: 3 \
                     samples, 75 %</title><rect class=\"fk-cassandra\" width=\"100%\" height=\"100%\"/>\
                     <text x=\"3\" y=\"12\">C.get</text></svg>";
        assert!(svg.contains(frame) && html.contains(frame), "{svg}");
        assert!(html.contains("c/node1: 4 samples") && crate::report::is_report(&svg));
    }

    #[test]
    fn names_are_escaped() {
        let (html, svg) = page("std::vector<int>::push<\"x\"> 3\n");
        assert!(html.contains("std::vector&lt;int&gt;") && !html.contains("vector<int"));
        assert!(!svg.contains("vector<int"));
    }

    #[test]
    fn an_empty_profile_says_so() {
        assert!(page("").0.contains("Nothing was sampled"));
    }
}
