//! Rows as text that [`super::delimited`] and [`super::json_lines`] read back as the same values.
//! Refuses rounding: a value's text is its exact one.

use super::delimited::{Dialect, put_field};
use crate::cql::CqlValue;

/// How rows are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writing {
    /// Separated values; null is the word.
    Delimited(Dialect, String),
    /// One JSON object a line, with members of these names: numbers and truths as JSON has them, all else as texts.
    JsonLines(Vec<String>),
}

impl Writing {
    /// Appends the line of names that stands before the rows, where there is one.
    pub fn put_header(&self, names: &[String], out: &mut Vec<u8>) {
        if let Self::Delimited(dialect, _) = self {
            let texts = names.iter().map(|name| Some(name.as_str()));
            put_fields(dialect, &[], texts, out);
        }
    }

    /// Appends a row.
    pub fn put_row(&self, row: &[Option<CqlValue>], out: &mut Vec<u8>) {
        match self {
            Self::Delimited(dialect, null) => {
                let texts: Vec<Option<String>> = row
                    .iter()
                    .map(|value| value.as_ref().map(CqlValue::exact_text))
                    .collect();
                let texts = texts.iter().map(Option::as_deref);
                put_fields(dialect, std::slice::from_ref(null), texts, out);
            }
            Self::JsonLines(names) => {
                out.push(b'{');
                for (at, (name, value)) in names.iter().zip(row).enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(text(name).as_bytes());
                    out.push(b':');
                    out.extend_from_slice(json(value.as_ref()).as_bytes());
                }
                out.extend_from_slice(b"}\n");
            }
        }
    }
}

fn put_fields<'a>(
    dialect: &Dialect,
    nulls: &[String],
    texts: impl Iterator<Item = Option<&'a str>>,
    out: &mut Vec<u8>,
) {
    for (at, text) in texts.enumerate() {
        if at > 0 {
            out.push(dialect.delimiter);
        }
        put_field(text, dialect, nulls, out);
    }
    out.push(b'\n');
}

fn text(of: &str) -> String {
    serde_json::Value::from(of).to_string()
}

fn json(value: Option<&CqlValue>) -> String {
    let Some(value) = value else {
        return "null".to_owned();
    };
    match value {
        CqlValue::Boolean(_)
        | CqlValue::Tinyint(_)
        | CqlValue::Smallint(_)
        | CqlValue::Int(_)
        | CqlValue::Bigint(_) => value.exact_text(),
        other => text(&other.exact_text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(writing: &Writing, rows: &[Vec<Option<CqlValue>>]) -> String {
        let mut out = Vec::new();
        writing.put_header(&["k".into(), "a b".into()], &mut out);
        rows.iter().for_each(|row| writing.put_row(row, &mut out));
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn rows_are_lines_that_are_read_back() {
        let text = |text: &str| Some(CqlValue::Text(text.to_owned()));
        let rows = [
            vec![Some(CqlValue::Int(-1)), text("x, \"y\"\nz")],
            vec![None, text("")],
            vec![Some(CqlValue::Boolean(true)), None],
            vec![Some(CqlValue::Double(f64::NAN)), text("\\N")],
        ];
        let csv = Writing::Delimited(Dialect::CSV, String::new());
        insta::assert_snapshot!(written(&csv, &rows), @r#"
        k,a b
        -1,"x, ""y""
        z"
        ,""
        true,
        NaN,\N
        "#);
        let tsv = Writing::Delimited(Dialect::TSV, "\\N".to_owned());
        insta::assert_snapshot!(written(&tsv, &rows), @r#"
        k	a b
        -1	x, "y"\nz
        \N	
        true	\N
        NaN	\\N
        "#);
        let json = Writing::JsonLines(vec!["k".into(), "a b".into()]);
        insta::assert_snapshot!(written(&json, &rows), @r#"
        {"k":-1,"a b":"x, \"y\"\nz"}
        {"k":null,"a b":""}
        {"k":true,"a b":null}
        {"k":"NaN","a b":"\\N"}
        "#);
    }
}
