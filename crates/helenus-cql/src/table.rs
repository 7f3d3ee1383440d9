//! Rows drawn as cqlsh draws them: header, rule, right-aligned values, a count.
//! Refuses colours, pages and wrapping.

use crate::rows::Rows;
use std::fmt::Write as _;

/// The rows as a table, every line ended; for a result without columns nothing at all.
pub fn render_rows(rows: &Rows) -> String {
    if rows.columns.is_empty() {
        return String::new();
    }
    let header: Vec<String> = rows
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    let show = |value: &Option<_>| {
        value
            .as_ref()
            .map_or("null".to_owned(), ToString::to_string)
    };
    let body: Vec<Vec<String>> = rows
        .rows
        .iter()
        .map(|row| row.iter().map(show).collect())
        .collect();
    let mut widths: Vec<usize> = header.iter().map(|name| width(name)).collect();
    for row in &body {
        for (column, value) in widths.iter_mut().zip(row) {
            *column = width(value).max(*column);
        }
    }
    let mut out = String::new();
    let names = header.iter().zip(&widths);
    let names: Vec<String> = names
        .map(|(name, w)| format!("{name}{}", blanks(name, *w)))
        .collect();
    let _ = writeln!(out, " {}", names.join(" | ").trim_end());
    let rules: Vec<String> = widths.iter().map(|w| "-".repeat(w + 2)).collect();
    let _ = writeln!(out, "{}", rules.join("+"));
    for row in &body {
        let values = row.iter().zip(&widths);
        let values: Vec<String> = values
            .map(|(value, w)| format!("{}{value}", blanks(value, *w)))
            .collect();
        let _ = writeln!(out, " {}", values.join(" | "));
    }
    // cqlsh leaves a second line blank where rows would be.
    let gap = if body.is_empty() { "\n\n" } else { "\n" };
    let _ = writeln!(out, "{gap}({} rows)", body.len());
    out
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
}
