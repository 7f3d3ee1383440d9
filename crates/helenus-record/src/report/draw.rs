//! A chart as SVG: grid, bands, lines, marks and words, as wide as the page and as high as the chart says.
//! Refuses a size that only a script could know: a drawing is whole where none runs.
//!
//! Words and marks lie at shares of the width, so that nothing but lines is stretched, and a line's width is not.

use crate::report::axis::{Axis, Fitted, Tick, tooltip, whole};
use crate::report::chart::{Cell, Chart, Hover, Mark, Moment, Rule, Series, Style, Symbol};
use crate::report::heat;
use crate::report::path::{self, LANE, PIXEL, Place, WIDTH, Way};
use crate::report::series::{Point, stacked, thin};
use crate::report::words::html;

/// Ticks of the axis to the right: as many as a telephone has room for.
const X_TICKS: usize = 5;

/// Pixels of height for each tick of a linear axis, and of a logarithmic one.
const Y_TICK: [u32; 2] = [38, 26];

/// Pixels that a line may stand out of its chart above and below: half its width.
const EDGE: u32 = 2;

/// A name longer than this is cut in the drawing; and one beside the cells of a map.
const NAME_MOST: [usize; 2] = [44, 24];

/// Lines and marks that a drawing's words name.
const SAID_MOST: usize = 24;

/// Both axes, and the height in pixels.
struct Frame {
    x: Fitted,
    y: Fitted,
    height: f64,
    /// Whether the axis upwards has names and runs downwards.
    is_down: bool,
}

impl Frame {
    /// A place as a share of the width, in percent.
    fn across(&self, x: f64) -> Option<String> {
        self.x.share(x).map(percent)
    }

    /// A place in pixels from above.
    fn down(&self, y: f64) -> Option<f64> {
        let share = self.y.share(y)?;
        Some(self.height * if self.is_down { share } else { 1.0 - share })
    }

    /// A point in the units of paths.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "units within some chart widths"
    )]
    fn place(&self, point: Point) -> Place {
        let x = self.x.share(point.0)? * WIDTH;
        let y = self.down(point.1?)? * PIXEL;
        Some((x.round() as i64, y.round() as i64))
    }
}

/// A share of the width as SVG has it.
fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{text}%")
}

/// Pixels, to a tenth.
fn px(pixels: f64) -> String {
    let text = format!("{pixels:.1}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The lines of all series as they are drawn: thinned, and those that are stacked as sums.
fn lines(chart: &Chart) -> Vec<Vec<Point>> {
    let own = chart.series.iter().filter(|s| s.is_stacked());
    let own: Vec<&[Point]> = own.map(Series::points).collect();
    let mut sums = stacked(&own).into_iter();
    let each = chart.series.iter().map(|series| {
        if series.is_stacked() {
            sums.next().unwrap_or_default()
        } else {
            thin(series.points())
        }
    });
    each.collect()
}

fn frame(chart: &Chart, lines: &[Vec<Point>]) -> Frame {
    let marks = || chart.series.iter().flat_map(|s| &s.marks);
    let ends = |of: fn(&Mark) -> Option<[f64; 2]>| marks().filter_map(of).flatten();
    let points = || lines.iter().flatten().filter(|p| p.1.is_some());
    let ruled = |of: fn(Rule) -> Option<f64>| chart.rule.and_then(of);
    let x = points().map(|p| p.0).chain(marks().map(|m| m.x));
    let x = x.chain(ends(|m| m.x_ends)).chain(ruled(|rule| match rule {
        Rule::X(at) => Some(at),
        Rule::Y(_) => None,
    }));
    let y = points().filter_map(|p| p.1).chain(marks().map(|m| m.y));
    let y = y.chain(chart.heat.iter().flat_map(|patch| patch.y));
    let y = y.chain(ends(|m| m.y_ends)).chain(ruled(|rule| match rule {
        Rule::Y(at) => Some(at),
        Rule::X(_) => None,
    }));
    let tick = Y_TICK[usize::from(chart.y.is_log())];
    let most = usize::try_from(chart.height / tick).unwrap_or(1);
    Frame {
        x: chart.x.fit(x, X_TICKS),
        y: chart.y.fit(y, most),
        height: f64::from(chart.height),
        is_down: chart.y.has_names(),
    }
}

/// The drawing of a chart.
pub(super) fn plot(chart: &Chart) -> String {
    let lines = lines(chart);
    let frame = frame(chart, &lines);
    let is_map = !chart.cells.is_empty();
    let most = NAME_MOST[usize::from(is_map)];
    let (names, gutter) = gutter(&chart.y, &frame.y, most);
    let data = match chart.hover {
        Hover::Marks => String::new(),
        Hover::Moment(unit) => data(chart, &frame, unit),
        Hover::Percentile => data(chart, &frame, "percentile"),
    };
    let parts = [
        bands(chart),
        x_axis(chart, &frame, most),
        y_axis(&frame, most),
        chart.cells.iter().map(|c| cell(chart, &frame, c)).collect(),
        chart.rule.map_or_else(String::new, |r| rule(&frame, r)),
        drawn_lines(chart, &frame, &lines),
        marks(chart, &frame),
        moments(chart, &frame),
    ];
    format!(
        "<div class=\"plot{names}\" style=\"--left:{gutter}px;--top:{top}px\"><svg class=\"area\" width=\"100%\" height=\"{height}\" \
         role=\"img\" aria-label=\"{words}\"{data}>{parts}</svg></div>\n",
        height = chart.height,
        top = 24 + chart.lanes * LANE,
        words = html(&alternative(chart)),
        parts = parts.concat(),
    )
}

/// What is drawn, for those who do not see it: each line from its lowest to its highest value, or its marks' own words.
fn alternative(chart: &Chart) -> String {
    let value = |value: f64, unit: &str| match chart.y.is_of_shares() {
        true => format!("{} %", tooltip(value * 100.0)),
        false => format!("{} {unit}", tooltip(value)).trim_end().to_owned(),
    };
    let line = |series: &Series| {
        let values = || series.points().iter().filter_map(|p| p.1);
        let (low, high) = (
            values().min_by(f64::total_cmp)?,
            values().max_by(f64::total_cmp)?,
        );
        let (low, high) = (tooltip(low), value(high, series.unit));
        Some(format!("{} from {low} to {high}", series.name))
    };
    let unmarked = chart.series.iter().filter(|s| s.marks.is_empty());
    let marks = chart.series.iter().flat_map(|series| &series.marks);
    let marks = marks.filter(|mark| mark.symbol != Symbol::Stroke);
    let cells = chart.cells.iter().map(|cell| cell.words.clone());
    let said = unmarked.filter_map(line);
    let said = said.chain(marks.map(|mark| mark.says.clone())).chain(cells);
    let mut said: Vec<String> = said.filter(|words| !words.is_empty()).collect();
    let more = said.len().saturating_sub(SAID_MOST);
    said.truncate(SAID_MOST);
    if more > 0 {
        said.push(format!("and {more} more"));
    }
    match said.is_empty() {
        true => chart.title.clone(),
        false => format!("{}: {}", chart.title, said.join("; ")),
    }
}

/// What the page's script needs to read values back from places.
fn data(chart: &Chart, frame: &Frame, unit: &str) -> String {
    let axis = |name: &str, axis: &Fitted| {
        let (from, to, scale) = (axis.from, axis.to, axis.scale());
        format!(" data-{name}=\"{scale}\" data-{name}0=\"{from}\" data-{name}1=\"{to}\"")
    };
    let shares = if chart.y.is_of_shares() {
        " data-shares=\"yes\""
    } else {
        ""
    };
    let (x, y) = (axis("x", &frame.x), axis("y", &frame.y));
    format!(" data-of=\"{unit}\"{x}{y}{shares}")
}

/// The class of a chart with names beside it, and the room for what stands there, in pixels.
fn gutter(axis: &Axis, fitted: &Fitted, most: usize) -> (&'static str, usize) {
    let longest = fitted.ticks.iter().map(|t| t.label.chars().count()).max();
    let longest = longest.unwrap_or(0).min(most);
    let names = if axis.has_names() { " names" } else { "" };
    (names, (longest * 15 / 2 + 16).max(36))
}

fn bands(chart: &Chart) -> String {
    if !chart.is_over_time() {
        return String::new();
    }
    let (above, high) = (chart.lanes * LANE, chart.height);
    let all = above + high;
    format!(
        "<svg class=\"behind\" y=\"-{above}\" width=\"100%\" height=\"{all}\" viewBox=\"0 -{above} {WIDTH} {all}\" \
         preserveAspectRatio=\"none\"><use href=\"#bands\" transform=\"scale(1 {high})\"/><use href=\"#lanes\" y=\"-{above}\"/></svg>"
    )
}

/// The ticks to the right, and what they are of.
fn x_axis(chart: &Chart, frame: &Frame, most: usize) -> String {
    let h = chart.height;
    let tick = |tick: &Tick| {
        let x = percent(tick.at);
        let words = named(&tick.label, most);
        format!(
            "<line x1=\"{x}\" x2=\"{x}\" y2=\"{h}\"/><text x=\"{x}\" y=\"{h}\" dy=\"18\">{words}</text>"
        )
    };
    let ticks: String = frame.x.ticks.iter().map(tick).collect();
    let title = if chart.x.title.is_empty() {
        String::new()
    } else {
        let title = html(&chart.x.title);
        format!("<text class=\"of\" x=\"50%\" y=\"{h}\" dy=\"35\">{title}</text>")
    };
    format!("<g class=\"x\">{ticks}</g>{title}")
}

fn y_axis(frame: &Frame, most: usize) -> String {
    let ticks = frame.y.ticks.iter().map(|tick| {
        let base = if tick.at <= 0.0 { " class=\"base\"" } else { "" };
        let share = if frame.is_down {
            tick.at
        } else {
            1.0 - tick.at
        };
        let y = px(share * frame.height);
        let words = named(&tick.label, most);
        format!(
            "<line{base} x2=\"100%\" y1=\"{y}\" y2=\"{y}\"/><text x=\"-8\" y=\"{y}\" dy=\"4\">{words}</text>"
        )
    });
    format!("<g class=\"y\">{}</g>", ticks.collect::<String>())
}

/// A name that is cut where it is long, and then whole under the pointer.
fn named(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return html(name);
    }
    let cut: String = name.chars().take(most - 1).collect();
    format!("{}…<title>{}</title>", html(&cut), html(name))
}

fn rule(frame: &Frame, rule: Rule) -> String {
    let line = match rule {
        Rule::X(at) => frame.across(at).map(|x| {
            let h = px(frame.height);
            format!("x1=\"{x}\" x2=\"{x}\" y2=\"{h}\"")
        }),
        Rule::Y(at) => frame.down(at).map(|y| {
            let y = px(y);
            format!("x2=\"100%\" y1=\"{y}\" y2=\"{y}\"")
        }),
    };
    line.map_or_else(String::new, |line| format!("<line class=\"rule\" {line}/>"))
}

/// A cell of a map, with its words.
fn cell(chart: &Chart, frame: &Frame, cell: &Cell) -> String {
    let (x, y) = (whole(cell.column), whole(cell.row));
    let place = || {
        let (left, right) = (frame.x.share(x - 0.5)?, frame.x.share(x + 0.5)?);
        let (above, below) = (frame.down(y - 0.5)?, frame.down(y + 0.5)?);
        Some((left, right - left, above, below - above))
    };
    let Some((left, wide, above, high)) = place() else {
        return String::new();
    };
    let of = |axis: &Fitted, place: usize| axis.ticks.get(place).map(|t| html(&t.label));
    let column = of(&frame.x, cell.column).unwrap_or_default();
    let row = of(&frame.y, cell.row).unwrap_or_default();
    let strong = if cell.strength > 0.5 { " strong" } else { "" };
    format!(
        "<g class=\"cell{strong}\"><title>{row}, {column}: {words} ({unit})</title><rect x=\"{left}\" y=\"{y}\" \
         width=\"{wide}\" height=\"{high}\" fill-opacity=\"{strength:.2}\"/><text x=\"{middle}\" y=\"{text}\" \
         dy=\"4\">{words}</text></g>",
        unit = html(&chart.title),
        left = percent(left),
        wide = percent(wide),
        y = px(above),
        high = px(high),
        strength = 0.1 + 0.9 * cell.strength,
        middle = percent(left + wide / 2.0),
        text = px(above + high / 2.0),
        words = html(&cell.words),
    )
}

/// The lines of all series, in a frame that is stretched to the chart's width. Of a stack the highest is drawn first,
/// down to the axis, and the others over it.
fn drawn_lines(chart: &Chart, frame: &Frame, lines: &[Vec<Point>]) -> String {
    let base = frame.down(frame.y.from).map_or(0.0, |y| y * PIXEL);
    let mut all: Vec<(usize, &Series)> = chart.series.iter().enumerate().collect();
    all.retain(|(_, series)| series.line.is_some());
    if all.iter().any(|(_, series)| series.is_stacked()) {
        all.reverse();
    }
    let one = |(number, series): (usize, &Series)| {
        let style = series.line.as_ref().map_or(Style::Solid, |line| line.0);
        let places: Vec<Place> = lines[number].iter().map(|p| frame.place(*p)).collect();
        #[expect(clippy::cast_possible_truncation, reason = "a chart's height")]
        let path = match style {
            Style::Stacked => path::area(&places, base.round() as i64),
            Style::Steps => path::line(&places, Way::Steps),
            _ => path::line(&places, Way::Straight),
        };
        let dots = match path::dots(&places) {
            dots if dots.is_empty() => dots,
            dots => format!("<path class=\"dots\" d=\"{dots}\"/>"),
        };
        let data_unit = match chart.hover {
            Hover::Marks => String::new(),
            _ => format!(" data-unit=\"{}\"", html(series.unit)),
        };
        format!(
            "<g class=\"series {role}\" data-series=\"{number}\"><path class=\"line {style}\" data-name=\"{name}\"\
             {data_unit} d=\"{path}\"/>{dots}</g>\n",
            role = html(&series.role),
            style = style.class(),
            name = html(&series.name),
        )
    };
    let patches = heat::drawn(&chart.heat, |point| frame.place(point));
    let drawn: String = std::iter::once(patches)
        .chain(all.into_iter().map(one))
        .collect();
    if drawn.is_empty() {
        return drawn;
    }
    let (high, edge) = (chart.height + 2 * EDGE, f64::from(EDGE) * PIXEL);
    format!(
        "<svg class=\"lines\" y=\"-{EDGE}\" width=\"100%\" height=\"{high}\" viewBox=\"0 -{edge} {WIDTH} {}\" \
         preserveAspectRatio=\"none\">\n{drawn}</svg>",
        f64::from(high) * PIXEL
    )
}

fn marks(chart: &Chart, frame: &Frame) -> String {
    let all = chart.series.iter().enumerate();
    let all = all.filter(|(_, series)| !series.marks.is_empty());
    let one = |(number, series): (usize, &Series)| {
        let marks: String = series.marks.iter().filter_map(|m| mark(frame, m)).collect();
        format!(
            "<g class=\"series {}\" data-series=\"{number}\" data-name=\"{}\">{marks}</g>\n",
            html(&series.role),
            html(&series.name)
        )
    };
    all.map(one).collect()
}

/// A mark with its interval and its words.
fn mark(frame: &Frame, mark: &Mark) -> Option<String> {
    let (x, y) = (frame.across(mark.x)?, frame.down(mark.y)?);
    let level = px(y);
    let across = mark.x_ends.and_then(|[low, high]| {
        let (low, high) = (frame.across(low)?, frame.across(high)?);
        let (above, below) = (px(y - 5.0), px(y + 5.0));
        let end = |x: &str| format!("<line x1=\"{x}\" x2=\"{x}\" y1=\"{above}\" y2=\"{below}\"/>");
        Some(format!(
            "<line x1=\"{low}\" x2=\"{high}\" y1=\"{level}\" y2=\"{level}\"/>{}{}",
            end(&low),
            end(&high)
        ))
    });
    let upright = mark.y_ends.and_then(|[low, high]| {
        let (low, high) = (px(frame.down(low)? - y), px(frame.down(high)? - y));
        Some(format!(
            "<path class=\"bar\" d=\"M0 {low}V{high}M-4 {low}h8M-4 {high}h8\"/>"
        ))
    });
    let title = if mark.says.is_empty() {
        String::new()
    } else {
        format!("<title>{}</title>", html(&mark.says))
    };
    Some(format!(
        "<g class=\"mark\">{title}{}<svg x=\"{x}\" y=\"{level}\">{}{}</svg></g>",
        across.unwrap_or_default(),
        upright.unwrap_or_default(),
        symbol(mark.symbol)
    ))
}

/// A mark around the point at 0, 0.
fn symbol(symbol: Symbol) -> &'static str {
    match symbol {
        Symbol::Circle => "<circle r=\"4.5\"/>",
        Symbol::Open => "<circle class=\"open\" r=\"4.5\"/>",
        Symbol::Diamond => "<path d=\"M0-6.5L6.5 0 0 6.5-6.5 0z\"/>",
        Symbol::Square => "<path d=\"M-5-5H5V5H-5z\"/>",
        Symbol::Stroke => "<path class=\"bar\" d=\"M0-5V5\"/>",
    }
}

/// The words at moments: those of phases above the chart, those of faults above its axis.
fn moments(chart: &Chart, frame: &Frame) -> String {
    let one = |moment: &Moment| {
        let share = frame.x.share(moment.at)?;
        let y = if moment.is_phase {
            -6 - i64::from(chart.lanes * LANE)
        } else {
            i64::from(chart.height) - 6
        };
        // From the right half on they end where others begin, so that none is cut.
        let end = if share > 0.6 { " end" } else { "" };
        Some(format!(
            "<text class=\"moment{end}\" data-at=\"{at}\" x=\"{x}\" y=\"{y}\">{words}</text>",
            at = moment.at,
            x = percent(share),
            words = html(&moment.words),
        ))
    };
    chart.moments.iter().filter_map(one).collect()
}

/// The names of the series with what they look like, where there are several. A click hides one.
pub(super) fn legend(chart: &Chart) -> String {
    let scale = match chart.heat.is_empty() {
        true => String::new(),
        false => heat::scale(),
    };
    if chart.series.len() < 2 && scale.is_empty() {
        return scale;
    }
    let one = |(number, series): (usize, &Series)| {
        let line = series.line.as_ref().map(|(style, _)| match style {
            Style::Stacked => {
                "<rect class=\"line stacked\" y=\"1\" width=\"24\" height=\"10\"/>".to_owned()
            }
            style => format!("<path class=\"line {}\" d=\"M0 6h24\"/>", style.class()),
        });
        let mark = series.marks.first().map(|mark| {
            format!(
                "<svg class=\"mark\" x=\"12\" y=\"6\">{}</svg>",
                symbol(mark.symbol)
            )
        });
        format!(
            "<li><button type=\"button\" aria-pressed=\"true\" data-shows=\"{number}\"><svg class=\"{}\" width=\"24\" \
             height=\"12\" aria-hidden=\"true\">{}{}</svg>{}</button></li>",
            html(&series.role),
            line.unwrap_or_default(),
            mark.unwrap_or_default(),
            html(&series.name)
        )
    };
    let all: String = chart.series.iter().enumerate().map(one).collect();
    format!("<ul class=\"legend\">{all}{scale}</ul>")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(y: Axis) -> Chart {
        Chart::plain("x", "x", Axis::between("", 0.0, 10.0), y)
    }

    #[test]
    fn lines_lie_in_units_of_width_and_hundredths_of_a_pixel() {
        let mut chart = chart(Axis::from_zero("").with_ends(0.0, 100.0));
        let points = vec![
            (0.0, Some(0.0)),
            (5.0, Some(100.0)),
            (7.0, None),
            (10.0, Some(50.0)),
        ];
        chart
            .series
            .push(Series::line("a", "service", Style::Solid, points));
        let svg = plot(&chart);
        assert!(
            svg.contains("d=\"M0 23000l5000-23000M10000 11500l0 0\""),
            "{svg}"
        );
        assert!(
            svg.contains("<path class=\"dots\" d=\"M10000 11500l0 0\"/>"),
            "{svg}"
        );
        assert!(svg.contains("viewBox=\"0 -200 10000 23400\""), "{svg}");
    }

    #[test]
    fn a_log_axis_has_no_place_for_zero() {
        let mut chart = chart(Axis::log(""));
        let points = vec![(0.0, Some(1.0)), (5.0, Some(0.0)), (10.0, Some(100.0))];
        chart
            .series
            .push(Series::line("a", "service", Style::Solid, points));
        let svg = plot(&chart);
        assert!(svg.contains("d=\"M0 23000l0 0M10000 0l0 0\""), "{svg}");
    }

    #[test]
    fn of_a_stack_the_highest_is_drawn_first() {
        let mut chart = chart(Axis::from_zero("").with_ends(0.0, 100.0));
        for (name, value) in [("low", 25.0), ("high", 50.0)] {
            let points = vec![(0.0, Some(value)), (10.0, Some(value))];
            chart
                .series
                .push(Series::line(name, "file", Style::Stacked, points));
        }
        let svg = plot(&chart);
        let at = |part: &str| svg.find(part).unwrap_or_else(|| panic!("{part} in {svg}"));
        let high = at("d=\"M0 5750l10000 0V23000H0z\"");
        assert!(high < at("d=\"M0 17250l10000 0V23000H0z\""), "{svg}");
        assert_eq!(legend(&chart).matches("<li>").count(), 2);
    }

    #[test]
    fn intervals_are_drawn_from_end_to_end() {
        let mut chart = chart(Axis::names("", &["one".to_owned(), "two".to_owned()]));
        chart.height = 80;
        let mut mark = Mark::at(5.0, 0.0, Symbol::Diamond, "half".to_owned());
        mark.x_ends = Some([2.5, 10.0]);
        chart.series.push(Series::marks("a", "better", vec![mark]));
        let svg = plot(&chart);
        // The first name is above.
        assert!(
            svg.contains("<line x1=\"25%\" x2=\"100%\" y1=\"20\" y2=\"20\"/>"),
            "{svg}"
        );
        assert!(
            svg.contains("<title>half</title>") && svg.contains("plot names"),
            "{svg}"
        );
    }
}
