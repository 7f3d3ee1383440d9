//! A chart: axes and series as the pages ask for them, in words of what they mean.
//! Refuses colours: a role has one colour in each theme, and the style sheet knows it.

use crate::report::axis::Axis;
use crate::report::draw;
use crate::report::heat::Patch;
use crate::report::series::{Clock, Point, is_thinned};
use crate::report::words::html;

/// A figure of the page.
pub(super) struct Chart {
    /// Its place in the page: letters and dashes.
    pub(super) id: String,
    /// Title, not yet escaped.
    pub(super) title: String,
    /// A sentence below it, not yet escaped.
    pub(super) note: String,
    /// What the pointer shows.
    pub(super) hover: Hover,
    /// Height of what lies between the axes, in pixels.
    pub(super) height: u32,
    /// The axis to the right.
    pub(super) x: Axis,
    /// The axis upwards, or downwards where it has names.
    pub(super) y: Axis,
    /// What is drawn, the undermost first.
    pub(super) series: Vec<Series>,
    /// A line across the whole chart.
    pub(super) rule: Option<Rule>,
    /// Words at moments.
    pub(super) moments: Vec<Moment>,
    /// The cells of a map.
    pub(super) cells: Vec<Cell>,
    /// How many lanes of events are above it.
    pub(super) lanes: u32,
    /// Patches behind the lines.
    pub(super) heat: Vec<Patch>,
}

/// What the pointer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hover {
    /// Each mark has its own text.
    Marks,
    /// All lines at one moment, in this unit; such charts zoom together, and carry the bands.
    Moment(&'static str),
    /// All lines at one percentile.
    Percentile,
}

/// A line across the whole chart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Rule {
    /// Upright, at this value.
    X(f64),
    /// Level, at this value.
    Y(f64),
}

/// Words at a moment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Moment {
    /// On the axis of time.
    pub(super) at: f64,
    /// Not yet escaped.
    pub(super) words: String,
    /// Whether a phase begins there; else it is a fault.
    pub(super) is_phase: bool,
}

/// A cell of a map.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    /// Its place from the left.
    pub(super) column: usize,
    /// Its place from above.
    pub(super) row: usize,
    /// How strong its colour is, from 0 to 1.
    pub(super) strength: f64,
    /// What stands in it, not yet escaped.
    pub(super) words: String,
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

impl Style {
    /// Its class in the style sheet.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Solid | Self::Steps => "solid",
            Self::Dotted => "dotted",
            Self::Thin => "thin",
            Self::Dashed => "dashed",
            Self::Stacked => "stacked",
        }
    }
}

/// How a mark looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Symbol {
    /// A filled circle.
    Circle,
    /// A circle.
    Open,
    /// A filled diamond.
    Diamond,
    /// A filled square.
    Square,
    /// A short upright stroke.
    Stroke,
}

/// A point that stands for itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Mark {
    /// Where.
    pub(super) x: f64,
    /// Where.
    pub(super) y: f64,
    /// How it looks.
    pub(super) symbol: Symbol,
    /// From where to where it may be, along the axis to the right.
    pub(super) x_ends: Option<[f64; 2]>,
    /// From where to where it may be, along the axis upwards.
    pub(super) y_ends: Option<[f64; 2]>,
    /// What it shows under the pointer, not yet escaped.
    pub(super) says: String,
}

impl Mark {
    /// A mark without an interval.
    pub(super) fn at(x: f64, y: f64, symbol: Symbol, says: String) -> Self {
        Self {
            x,
            y,
            symbol,
            x_ends: None,
            y_ends: None,
            says,
        }
    }
}

/// A line, marks, or both: one entry of the legend.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    /// Its name, not yet escaped.
    pub(super) name: String,
    /// What it is: the style sheet has its colour.
    pub(super) role: String,
    /// The unit of its values.
    pub(super) unit: &'static str,
    /// Its line.
    pub(super) line: Option<(Style, Vec<Point>)>,
    /// Its marks.
    pub(super) marks: Vec<Mark>,
}

impl Series {
    /// A line.
    pub(super) fn line(name: &str, role: &str, style: Style, points: Vec<Point>) -> Self {
        Self {
            line: Some((style, points)),
            ..Self::marks(name, role, Vec::new())
        }
    }

    /// Marks without a line.
    pub(super) fn marks(name: &str, role: &str, marks: Vec<Mark>) -> Self {
        Self {
            name: name.to_owned(),
            role: role.to_owned(),
            unit: "",
            line: None,
            marks,
        }
    }

    /// With a unit.
    pub(super) fn in_unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// With marks.
    pub(super) fn with(mut self, marks: Vec<Mark>) -> Self {
        self.marks = marks;
        self
    }

    /// The points of its line; none where it has none.
    pub(super) fn points(&self) -> &[Point] {
        self.line.as_ref().map_or(&[], |(_, points)| points)
    }

    /// Whether it lies on top of the ones before.
    pub(super) fn is_stacked(&self) -> bool {
        matches!(self.line, Some((Style::Stacked, _)))
    }
}

impl Chart {
    /// An empty chart over the run's time.
    pub(super) fn over_time(id: &str, title: &str, y: Axis, clock: Clock) -> Self {
        let x = Axis::between(clock.title(), clock.begin(), clock.end());
        Self {
            hover: Hover::Moment(clock.unit()),
            ..Self::plain(id, title, x, y)
        }
    }

    /// An empty chart over anything else.
    pub(super) fn plain(id: &str, title: &str, x: Axis, y: Axis) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            note: String::new(),
            hover: Hover::Marks,
            height: 230,
            x,
            y,
            series: Vec::new(),
            rule: None,
            moments: Vec::new(),
            cells: Vec::new(),
            lanes: 0,
            heat: Vec::new(),
        }
    }

    /// With a sentence below it.
    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Adds a line over time; nothing where it has no value.
    pub(super) fn line(
        &mut self,
        name: &str,
        role: &str,
        style: Style,
        points: &[Point],
        unit: &'static str,
    ) {
        if points.iter().any(|p| p.1.is_some()) {
            let series = Series::line(name, role, style, points.to_vec());
            self.series.push(series.in_unit(unit));
        }
    }

    /// Whether it is over the run's time.
    pub(super) fn is_over_time(&self) -> bool {
        matches!(self.hover, Hover::Moment(_))
    }

    /// Whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.series.is_empty() && self.cells.is_empty() && self.heat.is_empty()
    }

    /// The figure: its title, its drawing, its legend, and the sentence below it.
    pub(super) fn render(&self) -> String {
        let is_thinned = self.series.iter().any(|s| is_thinned(s.points().len()));
        let thinned = if is_thinned {
            "Drawn from the lowest and the highest point of each of 500 sections: no peak is left out. "
        } else {
            ""
        };
        let note = format!("{thinned}{}", self.note);
        let note = if note.is_empty() {
            String::new()
        } else {
            format!("<p class=\"note\">{}</p>", html(note.trim()))
        };
        let unit = if self.y.title.is_empty() {
            String::new()
        } else {
            format!(" <span class=\"unit\">{}</span>", html(&self.y.title))
        };
        format!(
            "<figure class=\"chart{over_time}\" id=\"chart-{id}\"><figcaption>{title}{unit}</figcaption>\n\
             {plot}{legend}{note}</figure>\n",
            over_time = if self.is_over_time() { " time" } else { "" },
            id = html(&self.id),
            title = html(&self.title),
            plot = draw::plot(self),
            legend = draw::legend(self),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_stays_a_name() {
        let hostile = "</svg></figure><img src=x onerror=alert(1)>\"'";
        let names = Axis::names(hostile, &[hostile.to_owned()]);
        let mut chart = Chart::plain(hostile, hostile, Axis::around(hostile), names).note(hostile);
        let mark = Mark::at(1.0, 0.0, Symbol::Circle, hostile.to_owned());
        for _ in 0..2 {
            let points = vec![(0.0, Some(1.0))];
            let series = Series::line(hostile, "service", Style::Solid, points);
            chart.series.push(series.with(vec![mark.clone()]));
        }
        chart.moments = vec![Moment {
            at: 1.0,
            words: hostile.to_owned(),
            is_phase: true,
        }];
        let page = chart.render();
        assert_eq!(page.matches("</figure>").count(), 1, "{page}");
        assert!(
            !page.contains("<img") && !page.contains("alert(1)>"),
            "{page}"
        );
        assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    }
}
