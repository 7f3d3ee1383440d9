//! Rows drawn as cqlsh draws them: header, rule, right-aligned values, a count; or one below the other.
//! Refuses colours and pages; values are cut only where a width is given.

use crate::rows::Rows;
use std::fmt::Write as _;

/// The narrowest column that a value is cut to.
const NARROWEST: usize = 8;

/// The length of a UUID: what is as short as a key stays whole if others can be cut.
const KEY: usize = 36;

/// How rows are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layout {
    /// Columns of the terminal; none where nothing may be cut.
    pub width: Option<usize>,
    /// A line for each value, one row below the other.
    pub expand: bool,
}

/// Rows as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Drawing {
    /// The lines, each ended.
    pub text: String,
    /// Whether values were cut to the width.
    pub cut: bool,
}

/// The rows as a table with their count, whole; for a result without columns nothing at all.
pub fn render_rows(rows: &Rows) -> String {
    let mut drawing = draw_rows(rows, Layout::default(), 0);
    if !rows.columns.is_empty() {
        drawing.text.push_str(&count_line(rows.len()));
    }
    drawing.text
}

/// The count below the rows.
pub fn count_line(rows: usize) -> String {
    // cqlsh leaves a second line blank where rows would be.
    let gap = if rows == 0 { "\n\n" } else { "\n" };
    format!("{gap}({rows} rows)\n")
}

/// The rows without their count; `before` were drawn already, which matters where rows are numbered.
///
/// A table that is too wide has its widest columns cut; where even that would leave too little of them, the rows are
/// drawn one below the other.
pub fn draw_rows(rows: &Rows, layout: Layout, before: usize) -> Drawing {
    if rows.columns.is_empty() {
        return Drawing::default();
    }
    let mut lines: Vec<Vec<String>> = vec![rows.columns.iter().map(|c| c.name.clone()).collect()];
    let show = |value: &Option<_>| {
        value
            .as_ref()
            .map_or("null".to_owned(), ToString::to_string)
    };
    lines.extend(rows.rows.iter().map(|row| row.iter().map(show).collect()));
    let mut widths = vec![0; rows.columns.len()];
    for line in &lines {
        for (column, value) in widths.iter_mut().zip(line) {
            *column = width(value).max(*column);
        }
    }
    let fitted = match layout.width {
        Some(limit) => fitted(&widths, limit),
        None => Some(widths.clone()),
    };
    match fitted {
        Some(fitted) if !layout.expand => {
            let cut = fitted != widths;
            let text = table(&lines, &fitted);
            Drawing { text, cut }
        }
        _ => Drawing {
            text: expanded(&lines, layout.width, before),
            cut: false,
        },
    }
}

/// The widths with the widest columns cut until a line fits into `limit`: only those longer than a key if that is
/// enough, all where it is not; none where they would become too narrow.
fn fitted(widths: &[usize], limit: usize) -> Option<Vec<usize>> {
    // Two blanks beside each value, a bar between columns.
    let room = (limit + 1).checked_sub(3 * widths.len())?;
    capped(widths, room, KEY).or_else(|| capped(widths, room, 0))
}

/// The widths with those above `whole` cut alike.
fn capped(widths: &[usize], room: usize, whole: usize) -> Option<Vec<usize>> {
    let cut = |width: usize, most: usize| match width <= whole {
        true => width,
        false => width.min(most),
    };
    let taken = |most: usize| widths.iter().map(|w| cut(*w, most)).sum::<usize>();
    let widest = widths.iter().copied().max().unwrap_or_default();
    if taken(widest) <= room {
        return Some(widths.to_vec());
    }
    let most = (NARROWEST..widest)
        .rev()
        .find(|most| taken(*most) <= room)?;
    let mut spare = room - taken(most);
    let shared = widths.iter().map(|w| {
        let now = cut(*w, most);
        let more = spare.min(1) * usize::from(now < *w);
        spare -= more;
        now + more
    });
    Some(shared.collect())
}

fn table(lines: &[Vec<String>], widths: &[usize]) -> String {
    let mut out = String::new();
    for (at, line) in lines.iter().enumerate() {
        let cells = line.iter().zip(widths).map(|(value, w)| {
            let value = shortened(value, *w);
            let blanks = blanks(&value, *w);
            match at {
                0 => format!("{value}{blanks}"),
                _ => format!("{blanks}{value}"),
            }
        });
        let cells = cells.collect::<Vec<_>>().join(" | ");
        if at == 0 {
            let rules: Vec<String> = widths.iter().map(|w| "-".repeat(w + 2)).collect();
            let _ = writeln!(out, " {}\n{}", cells.trim_end(), rules.join("+"));
        } else {
            let _ = writeln!(out, " {cells}");
        }
    }
    out
}

fn expanded(lines: &[Vec<String>], limit: Option<usize>, before: usize) -> String {
    let Some((names, rows)) = lines.split_first() else {
        return String::new();
    };
    let name_width = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let mut out = String::new();
    for (at, row) in rows.iter().enumerate() {
        let value_width = row.iter().map(|value| width(value)).max().unwrap_or(0);
        let room = limit.map_or(usize::MAX, |limit| limit.saturating_sub(name_width + 5));
        let rule = "-".repeat(value_width.min(room));
        let _ = writeln!(out, "@ Row {}", before + at + 1);
        let _ = writeln!(out, "-{}-+-{rule}-", "-".repeat(name_width));
        for (name, value) in names.iter().zip(row) {
            let _ = writeln!(out, " {name}{} | {value}", blanks(name, name_width));
        }
        if at + 1 < rows.len() {
            out.push('\n');
        }
    }
    out
}

/// The text, or as much of it as fits with a sign that there is more.
fn shortened(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut short = String::new();
    for c in text.chars() {
        if width(&short) + width(c.encode_utf8(&mut [0; 4])) >= most {
            break;
        }
        short.push(c);
    }
    short.push('…');
    short
}

fn blanks(text: &str, wanted: usize) -> String {
    " ".repeat(wanted.saturating_sub(width(text)))
}

/// Columns of a terminal that `text` takes: combining marks none, East Asian wide characters two.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match c as u32 {
            0x0300..=0x036f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
            0x1100..=0x115f
            | 0x2e80..=0xa4cf
            | 0xac00..=0xd7a3
            | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f
            | 0xff00..=0xff60
            | 0xffe0..=0xffe6
            | 0x1f300..=0x1faff
            | 0x20000..=0x3fffd => 2,
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ColumnSpec;
    use helenus_model::cql::{CqlType, CqlValue};
    use proptest::prelude::*;

    fn column(name: &str, ty: CqlType) -> ColumnSpec {
        ColumnSpec {
            keyspace: "k".into(),
            table: "t".into(),
            name: name.into(),
            ty,
        }
    }

    #[test]
    fn draws_what_cqlsh_draws() {
        let list = CqlType::List(Box::new(CqlType::Text));
        let rows = Rows {
            columns: vec![
                column("id", CqlType::Int),
                column("name", CqlType::Text),
                column("seen", CqlType::Timestamp),
                column("tags", list),
            ],
            rows: vec![
                vec![
                    Some(CqlValue::Int(1)),
                    Some(CqlValue::Text("Straße 東京".into())),
                    Some(CqlValue::Timestamp(1_767_323_045_678)),
                    Some(CqlValue::List(vec![CqlValue::Text("a'b".into())])),
                ],
                vec![Some(CqlValue::Int(-20)), None, None, None],
            ],
        };
        insta::assert_snapshot!(render_rows(&rows), @r"
         id  | name        | seen                            | tags
        -----+-------------+---------------------------------+----------
           1 | Straße 東京 | 2026-01-02 03:04:05.678000+0000 | ['a''b']
         -20 |        null |                            null |     null

        (2 rows)
        ");
        let empty = Rows {
            rows: vec![],
            ..rows
        };
        insta::assert_snapshot!(render_rows(&empty), @r"
         id | name | seen | tags
        ----+------+------+------


        (0 rows)
        ");
        assert_eq!(render_rows(&Rows::default()), "");
    }

    fn two_columns() -> Rows {
        let id = "6f1e0a52-0c6b-4f8e-9a3d-1b2c3d4e5f60";
        Rows {
            columns: vec![column("id", CqlType::Text), column("value", CqlType::Text)],
            rows: (1..=2)
                .map(|n| {
                    let value = "long ".repeat(10 * n);
                    vec![
                        Some(CqlValue::Text(id.into())),
                        Some(CqlValue::Text(value.trim().into())),
                    ]
                })
                .collect(),
        }
    }

    fn drawn(width: usize, expand: bool) -> Drawing {
        let layout = Layout {
            width: Some(width),
            expand,
        };
        draw_rows(&two_columns(), layout, 0)
    }

    #[test]
    fn the_widest_columns_are_cut_to_the_terminal_and_the_others_stay_whole() {
        let drawing = drawn(60, false);
        insta::assert_snapshot!(drawing.text, @r"
         id                                   | value
        --------------------------------------+---------------------
         6f1e0a52-0c6b-4f8e-9a3d-1b2c3d4e5f60 | long long long lon…
         6f1e0a52-0c6b-4f8e-9a3d-1b2c3d4e5f60 | long long long lon…
        ");
        assert!(drawing.cut);
        assert!(drawing.text.lines().all(|line| width(line) <= 60));
        let whole = drawn(300, false);
        assert!(!whole.cut && !whole.text.contains('…'));
        let all = draw_rows(&two_columns(), Layout::default(), 0);
        assert_eq!(all.text, whole.text);
    }

    #[test]
    fn rows_stand_one_below_the_other_on_request_and_where_columns_would_be_too_narrow() {
        let drawing = drawn(20, false);
        insta::assert_snapshot!(drawing.text, @r"
        @ Row 1
        -------+------------
         id    | 6f1e0a52-0c6b-4f8e-9a3d-1b2c3d4e5f60
         value | long long long long long long long long long long

        @ Row 2
        -------+------------
         id    | 6f1e0a52-0c6b-4f8e-9a3d-1b2c3d4e5f60
         value | long long long long long long long long long long long long long long long long long long long long
        ");
        assert!(!drawing.cut);
        assert_eq!(drawn(20, true), drawing);
        assert!(drawn(300, true).text.starts_with("@ Row 1\n"));
    }

    proptest! {
        #[test]
        fn no_line_of_a_table_is_wider_than_the_terminal(
            cells in proptest::collection::vec("[aé東]{0,40}", 1..8),
            limit in 10_usize..120,
        ) {
            let rows = Rows {
                columns: (0..cells.len()).map(|n| column(&format!("c{n}"), CqlType::Text)).collect(),
                rows: vec![cells.into_iter().map(|text| Some(CqlValue::Text(text))).collect()],
            };
            let layout = Layout { width: Some(limit), expand: false };
            let drawing = draw_rows(&rows, layout, 0);
            if !drawing.text.starts_with("@ Row") {
                for line in drawing.text.lines() {
                    prop_assert!(width(line) <= limit, "{line}");
                }
            }
            let whole = draw_rows(&rows, Layout::default(), 0).text;
            prop_assert_eq!(drawing.cut, drawing.text.contains('…'), "{}", whole);
        }
    }
}
