//! A chart as the page's script draws it: traces and a layout in plotly's words, colours by role.
//! Refuses colours of its own: a role has one colour in each theme, and the style sheet knows it.

use crate::report::series::{Clock, Point, is_thinned, thin};
use crate::report::words::html;
use serde_json::{Value, json};

/// A figure of the page.
pub(super) struct Chart {
    /// Its place in the page: letters and dashes.
    pub(super) id: String,
    /// Title, not yet escaped.
    pub(super) title: String,
    /// A sentence below it, not yet escaped.
    pub(super) note: String,
    /// Whether its axis is the run's time: then it zooms with the others, and carries the bands.
    pub(super) time: bool,
    /// Height in pixels.
    pub(super) height: u32,
    traces: Vec<Value>,
    layout: Value,
    thinned: bool,
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// The line that matters.
    Solid,
    /// Beside it.
    Dotted,
    /// An upper bound.
    Thin,
    /// Dashed.
    Dashed,
    /// Filled, on top of the one before.
    Stacked,
    /// Steps that last until the next point.
    Steps,
}

impl Chart {
    /// An empty chart over the run's time.
    pub(super) fn over_time(id: &str, title: &str, unit: &str, clock: Clock, log: bool) -> Self {
        let mut chart = Self::plain(id, title);
        chart.time = true;
        let room = (clock.end() - clock.begin()) * 0.02;
        chart.layout["xaxis"] = json!({
            "title": {"text": clock.title()}, "range": [short(clock.begin()), short(clock.end())], "hoverformat": ".1f",
            "ticksuffix": "", "minallowed": short(clock.begin() - room), "maxallowed": short(clock.end() + room)
        });
        chart.layout["yaxis"] = if log {
            json!({"title": {"text": unit}, "type": "log", "exponentformat": "none", "dtick": "D2"})
        } else {
            json!({"title": {"text": unit}, "rangemode": "tozero"})
        };
        chart.layout["hovermode"] = json!("x unified");
        chart
    }

    /// An empty chart over anything else.
    pub(super) fn plain(id: &str, title: &str) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            note: String::new(),
            time: false,
            height: 300,
            traces: Vec::new(),
            layout: json!({"xaxis": {}, "yaxis": {}, "hovermode": "closest"}),
            thinned: false,
        }
    }

    /// With a sentence below it.
    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Sets a part of the layout.
    pub(super) fn set(&mut self, part: &str, value: Value) {
        self.layout[part] = value;
    }

    /// Adds a trace in plotly's own words; `role` names its colour.
    pub(super) fn trace(&mut self, role: &str, mut trace: Value) {
        trace["role"] = json!(role);
        self.traces.push(trace);
    }

    /// Adds a line over time, thinned; nothing where it has no value.
    pub(super) fn line(
        &mut self,
        name: &str,
        role: &str,
        style: Style,
        points: &[Point],
        hover: &str,
    ) {
        if points.iter().all(|p| p.1.is_none()) {
            return;
        }
        self.thinned |= is_thinned(points.len());
        let kept = thin(points);
        let x: Vec<f64> = kept.iter().map(|p| short(p.0)).collect();
        let y: Vec<Option<f64>> = kept.iter().map(|p| p.1.map(short)).collect();
        let (dash, width) = match style {
            Style::Solid | Style::Steps => ("solid", 2.0),
            Style::Dotted => ("dot", 1.5),
            Style::Thin => ("solid", 0.8),
            Style::Dashed => ("dash", 1.5),
            Style::Stacked => ("solid", 0.5),
        };
        let mut trace = json!({
            "type": "scatter", "mode": "lines", "name": text(name), "x": x, "y": y,
            "line": {"dash": dash, "width": width}, "hovertemplate": format!("%{{y}} {hover}"),
            "connectgaps": false
        });
        if has_lone_point(&kept) {
            // A line has no length there.
            trace["mode"] = json!("lines+markers");
            trace["marker"] = json!({"size": 5});
        }
        match style {
            Style::Stacked => trace["stackgroup"] = json!("all"),
            Style::Steps => trace["line"]["shape"] = json!("hv"),
            _ => {}
        }
        self.trace(role, trace);
    }

    /// Whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.traces.is_empty()
    }

    /// The figure with its data. Bands are on the page once, for all charts over time.
    pub(super) fn render(&self) -> String {
        let data = json!({"traces": self.traces, "layout": self.layout, "time": self.time});
        let thinned = if self.thinned {
            "Drawn from the lowest and the highest point of each of 700 sections: no peak is left out. "
        } else {
            ""
        };
        let note = format!("{thinned}{}", self.note);
        let note = if note.is_empty() {
            String::new()
        } else {
            format!("<p class=\"note\">{}</p>", html(note.trim()))
        };
        format!(
            "<figure class=\"chart\" id=\"chart-{id}\"><figcaption>{title}</figcaption>\
             <div class=\"plot\" style=\"height:{height}px\" role=\"img\" aria-label=\"{title}\"></div>{note}\
             <script type=\"application/json\">{data}</script></figure>\n",
            id = html(&self.id),
            title = html(&self.title),
            height = self.height,
            data = json_in_page(&data),
        )
    }
}

/// Whether a point stands between two holes, or alone.
fn has_lone_point(points: &[Point]) -> bool {
    let none = |place: Option<usize>| {
        let point = place.and_then(|place| points.get(place));
        point.is_none_or(|point| point.1.is_none())
    };
    let mut places = 0..points.len();
    places.any(|i| points[i].1.is_some() && none(i.checked_sub(1)) && none(Some(i + 1)))
}

/// JSON that no browser takes for markup, whatever texts are in it.
pub(super) fn json_in_page(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// A text as plotly shows it: its own few tags are not to be had from outside.
pub(super) fn text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Five significant digits: more than a chart can show, and a smaller page.
pub(super) fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_stays_a_name() {
        let mut chart = Chart::plain("x", "</figure><img src=x onerror=alert(1)>");
        chart.trace(
            "service",
            json!({"name": text("</script><img onerror=1>"), "x": [1], "y": [2]}),
        );
        let page = chart.render();
        assert_eq!(page.matches("</script>").count(), 1, "{page}");
        assert!(!page.contains("<img"), "{page}");
        assert!((short(1234.567) - 1234.6).abs() < 1e-9);
    }
}
