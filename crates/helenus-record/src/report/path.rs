//! Paths: the points of a line as the `d` of an SVG path, in whole units and from one point to the next.
//! Refuses to bridge a hole: where there is no value the line ends, and begins again behind it.
//!
//! The page's script reads the values under the pointer back from these paths: they are in the page once.

use std::fmt::Write as _;

/// Units of a plot's width: a path lies in as many, however wide it is drawn.
pub(super) const WIDTH: f64 = 10_000.0;

/// Pixels of a lane above the charts, with the gap to the next.
pub(super) const LANE: u32 = 6;

/// Units of a pixel of a plot's height.
pub(super) const PIXEL: f64 = 100.0;

/// A point in units, from the upper left corner; none breaks the line.
pub(super) type Place = Option<(i64, i64)>;

/// How a line goes from a point to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Straight.
    Straight,
    /// Level, and then up or down.
    Steps,
}

/// A line through points. A point alone is a line of no length, which round ends make a dot.
pub(super) fn line(places: &[Place], way: Way) -> String {
    let mut path = String::new();
    for part in parts(places) {
        let (x, y) = part[0];
        let _infallible = write!(path, "M{x} {y}");
        let mut open = false;
        for pair in part.windows(2) {
            let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
            if way == Way::Steps {
                let _infallible = write!(path, "h{dx}v{dy}");
                continue;
            }
            let before = if !open {
                "l"
            } else if dx < 0 {
                ""
            } else {
                " "
            };
            let between = if dy < 0 { "" } else { " " };
            let _infallible = write!(path, "{before}{dx}{between}{dy}");
            open = true;
        }
        if part.len() == 1 {
            path.push_str("l0 0");
        }
    }
    path
}

/// The area between a line and this height.
pub(super) fn area(places: &[Place], base: i64) -> String {
    let mut path = String::new();
    for part in parts(places) {
        let own: Vec<Place> = part.iter().copied().map(Some).collect();
        path.push_str(&line(&own, Way::Straight));
        let _infallible = write!(path, "V{base}H{}z", part[0].0);
    }
    path
}

/// Dots where a point stands between two holes, or alone.
pub(super) fn dots(places: &[Place]) -> String {
    let lone = parts(places).into_iter().filter(|part| part.len() == 1);
    let dot = |part: Vec<(i64, i64)>| format!("M{} {}l0 0", part[0].0, part[0].1);
    lone.map(dot).collect()
}

/// The stretches without a hole.
fn parts(places: &[Place]) -> Vec<Vec<(i64, i64)>> {
    let parts = places.split(Option::is_none);
    let whole = parts.map(|part| part.iter().flatten().copied().collect::<Vec<_>>());
    whole.filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_bridge_over_a_hole() {
        let places = [
            Some((0, 500)),
            Some((10, 480)),
            Some((20, 485)),
            None,
            Some((40, 1)),
            None,
            None,
            Some((70, 3)),
            Some((71, 3)),
        ];
        assert_eq!(
            line(&places, Way::Straight),
            "M0 500l10-20 10 5M40 1l0 0M70 3l1 0"
        );
        assert_eq!(
            line(&places, Way::Steps),
            "M0 500h10v-20h10v5M40 1l0 0M70 3h1v0"
        );
        assert_eq!(dots(&places), "M40 1l0 0");
        assert_eq!(line(&[None, None], Way::Straight), "");
    }

    #[test]
    fn an_area_goes_down_to_its_base_under_each_part() {
        let places = [Some((0, 50)), Some((10, 40)), None, Some((30, 20))];
        assert_eq!(area(&places, 90), "M0 50l10-10V90H0zM30 20l0 0V90H30z");
    }
}
