//! What the server answers to DESCRIBE, as text: statements as they are run, names one a line.
//! Refuses to build statements: the server has done that, from 4.0 on.

use crate::rows::{Rows, plain};
use helenus_model::cql::CqlValue;
use std::fmt::Write as _;

/// Whether a statement asks for a description, whose answer is text and no table.
pub fn is_describe(statement: &str) -> bool {
    let first = statement.split_whitespace().next().unwrap_or_default();
    ["DESCRIBE", "DESC"]
        .iter()
        .any(|word| first.eq_ignore_ascii_case(word))
}

/// The answer as text; none where its columns are not those of a description.
pub fn describe_text(rows: &Rows) -> Option<String> {
    let has = |name: &str| rows.columns.iter().any(|column| column.name == name);
    let text = |row: usize, column: &str| rows.text(row, column).unwrap_or_default();
    let each = 0..rows.len();
    if has("create_statement") {
        let statements = each.map(|row| text(row, "create_statement").trim_end().to_owned());
        let statements: Vec<String> = statements.collect();
        return Some(match statements.is_empty() {
            true => String::new(),
            false => statements.join("\n\n") + "\n",
        });
    }
    if has("partitioner") && has("snitch") {
        return Some(each.map(|row| cluster(rows, row)).collect());
    }
    if !has("keyspace_name") || !has("type") || !has("name") {
        return None;
    }
    let line = |row: usize| match text(row, "type").as_str() {
        "keyspace" => text(row, "name") + "\n",
        _ => format!("{}.{}\n", text(row, "keyspace_name"), text(row, "name")),
    };
    Some(each.map(line).collect())
}

fn cluster(rows: &Rows, row: usize) -> String {
    let mut out = String::new();
    for (label, column) in [
        ("Cluster", "cluster"),
        ("Partitioner", "partitioner"),
        ("Snitch", "snitch"),
    ] {
        let value = rows.text(row, column).unwrap_or_default();
        let _ = writeln!(out, "{label}: {}", value.trim());
    }
    // Only where a keyspace is in use: where each range of tokens is.
    if let Some(CqlValue::Map(ranges)) = rows.value(row, "range_ownership") {
        out.push_str("Range ownership:\n");
        for (token, endpoints) in ranges {
            let endpoints = match endpoints {
                CqlValue::List(endpoints) | CqlValue::Set(endpoints) => {
                    endpoints.iter().map(plain).collect::<Vec<_>>().join(", ")
                }
                other => plain(other),
            };
            let _ = writeln!(out, " {:>39}  [{endpoints}]", plain(token));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ColumnSpec;
    use helenus_model::cql::CqlType;

    fn rows(columns: &[&str], cells: &[&[&str]]) -> Rows {
        let column = |name: &&str| ColumnSpec {
            keyspace: String::new(),
            table: String::new(),
            name: (*name).to_owned(),
            ty: CqlType::Text,
        };
        let row = |cells: &&[&str]| {
            let cell = |text: &&str| Some(CqlValue::Text((*text).to_owned()));
            cells.iter().map(cell).collect()
        };
        Rows {
            columns: columns.iter().map(column).collect(),
            rows: cells.iter().map(row).collect(),
        }
    }

    const NAMES: [&str; 3] = ["keyspace_name", "type", "name"];

    #[test]
    fn statements_are_printed_as_they_are_run() {
        let columns = ["keyspace_name", "type", "name", "create_statement"];
        let answer = rows(
            &columns,
            &[
                &["k", "keyspace", "k", "CREATE KEYSPACE k WITH a = 'b';"],
                &["k", "table", "t", "CREATE TABLE k.t (\n    id int\n);\n"],
            ],
        );
        insta::assert_snapshot!(describe_text(&answer).unwrap(), @r"
        CREATE KEYSPACE k WITH a = 'b';

        CREATE TABLE k.t (
            id int
        );
        ");
        assert_eq!(describe_text(&rows(&columns, &[])), Some(String::new()));
    }

    #[test]
    fn names_stand_one_a_line() {
        let tables = rows(&NAMES, &[&["k", "table", "t"], &["k", "table", "\"T\""]]);
        assert_eq!(describe_text(&tables).unwrap(), "k.t\nk.\"T\"\n");
        let keyspaces = rows(&NAMES, &[&["k", "keyspace", "k"]]);
        assert_eq!(describe_text(&keyspaces).unwrap(), "k\n");
    }

    #[test]
    fn a_cluster_is_three_lines_and_its_ranges() {
        let columns = ["cluster", "partitioner", "snitch"];
        let mut answer = rows(&columns, &[&["c", "Murmur3Partitioner", "Simple"]]);
        let three = "Cluster: c\nPartitioner: Murmur3Partitioner\nSnitch: Simple\n";
        assert_eq!(describe_text(&answer).unwrap(), three);
        answer.columns.push(ColumnSpec {
            name: "range_ownership".into(),
            ..answer.columns[0].clone()
        });
        let text = |text: &str| CqlValue::Text(text.into());
        let endpoints = CqlValue::List(vec![text("127.0.0.1"), text("127.0.0.2")]);
        answer.rows[0].push(Some(CqlValue::Map(vec![(text("-42"), endpoints)])));
        let ranges = format!(
            "{three}Range ownership:\n {:>39}  [127.0.0.1, 127.0.0.2]\n",
            "-42"
        );
        assert_eq!(describe_text(&answer).unwrap(), ranges);
    }

    #[test]
    fn other_answers_stay_tables() {
        assert_eq!(describe_text(&rows(&["key"], &[&["local"]])), None);
        assert!(is_describe("desc tables") && is_describe("  DESCRIBE\nKEYSPACES"));
        assert!(!is_describe("SELECT 1") && !is_describe(""));
    }
}
