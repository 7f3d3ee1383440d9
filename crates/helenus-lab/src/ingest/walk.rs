//! All rows of a load in their order, from any place of it: records cut, mapped and expanded.
//! Refuses to stop at what is wrong: that is a step, too.

use super::columnar::{Rows, Wanted};
use super::source::{RECORD_MOST, Source};
use super::{IngestError, LoadRequest, Shape};
use helenus_model::cql::CqlValue;
use helenus_model::ingest::delimited::{Cut, Fields, cut, line};
use helenus_model::ingest::mapping::Wrong;
use helenus_model::ingest::{Expr, Mapping, Place, Record, RowInput, json_lines};
use std::borrow::Cow;

/// Bytes of a rejected record that are kept.
const KEPT_MOST: usize = 4 << 10;

/// One row, or what is none.
pub(super) enum Step<'a> {
    /// A row.
    Row {
        /// Its values, by target.
        values: &'a [Option<CqlValue>],
        /// Whether it is the first of its record: else only targets that vary have changed.
        first: bool,
        /// When it is dated, in microseconds since 1970; none leaves it to its number.
        dated: Option<i64>,
        /// Where the load is behind it; the counts of rejected rows are not its business.
        after: Place,
    },
    /// A record or an element that is no row.
    Rejected {
        /// Its column, where one is to blame.
        column: &'a str,
        /// What is wrong.
        why: &'a str,
        /// The record.
        text: &'a str,
        /// Where the load is behind it.
        after: Place,
    },
}

/// Who takes the steps; whether it wants more.
pub(super) type Taker<'a> = dyn FnMut(Step<'_>) -> Result<bool, IngestError> + 'a;

/// Takes all steps from a place on.
pub(super) fn walk(
    request: &LoadRequest,
    from: Place,
    start_us: i64,
    taker: &mut Taker<'_>,
) -> Result<(), IngestError> {
    let mut walker = Walker {
        request,
        start_us,
        values: vec![None; request.mapping.targets.len()],
        dated: None,
        element: String::new(),
        place: from,
        header: from.offset == 0,
    };
    for (at, path) in request.files.iter().enumerate().skip(from.file) {
        if at > from.file {
            walker.place = Place {
                file: at,
                offset: 0,
                line: 0,
                element: 0,
                ..walker.place
            };
            walker.header = true;
        }
        let shorter = || IngestError::Changed(format!("{} is shorter", path.display()));
        let goes_on = if let Shape::Parquet(names) = &request.shape {
            let mut rows = Rows::open(path, &wanted(&request.mapping, names))?;
            if !rows.skip(walker.place.offset)? {
                return Err(shorter());
            }
            walker.rows(&mut rows, taker)?
        } else {
            let mut source = Source::open(path, request.encoding)?;
            if !source.skip(walker.place.offset)? {
                return Err(shorter());
            }
            walker.file(&mut source, taker)?
        };
        if !goes_on {
            return Ok(());
        }
    }
    Ok(())
}

/// What a record is made of.
#[derive(Clone, Copy)]
enum Raw<'a> {
    Bytes(&'a [u8]),
    Fields(&'a Record<'a>),
}

/// Which columns of a Parquet file are read, and what for.
fn wanted(mapping: &Mapping, names: &[String]) -> Vec<Wanted> {
    let used = mapping.used();
    let wanted = names.iter().enumerate().map(|(at, name)| {
        let target = mapping.targets.iter().find(|t| t.expr == Expr::Field(at));
        Wanted {
            name: name.clone(),
            used: used.contains(&at),
            ty: target.map(|target| target.ty.clone()),
        }
    });
    wanted.collect()
}

struct Walker<'a> {
    request: &'a LoadRequest,
    start_us: i64,
    values: Vec<Option<CqlValue>>,
    dated: Option<i64>,
    element: String,
    place: Place,
    /// Whether the next record of this file is its first.
    header: bool,
}

impl Walker<'_> {
    fn file(&mut self, source: &mut Source, taker: &mut Taker<'_>) -> Result<bool, IngestError> {
        let request = self.request;
        let mut fields = Fields::default();
        if self.place.offset == 0 && source.bytes().starts_with(b"\xef\xbb\xbf") {
            source.pass(3);
            self.place.offset = 3;
        }
        loop {
            // What a record is follows from its bytes alone, wherever reading began.
            let all = source.bytes();
            let bytes = &all[..all.len().min(RECORD_MOST + 1)];
            let last = source.is_last() && bytes.len() == all.len();
            let found = match &request.shape {
                Shape::Delimited { dialect, .. } => cut(bytes, last, dialect, &mut fields),
                // Parquet is not read as bytes.
                Shape::JsonLines(_) | Shape::Parquet(_) => match (line(bytes), last) {
                    (0, true) => Cut::End,
                    (length, last) if last || bytes[..length].ends_with(b"\n") => {
                        Cut::Record(length)
                    }
                    _ => Cut::More,
                },
            };
            let (length, wrong) = match found {
                Cut::End => return Ok(true),
                Cut::More if bytes.len() <= RECORD_MOST => {
                    source.more()?;
                    continue;
                }
                // A line without an end in sight: what follows up to the next one is passed over, too.
                Cut::More => {
                    if !self.too_long(source, taker)? {
                        return Ok(false);
                    }
                    continue;
                }
                Cut::Record(length) => (length, None),
                Cut::Wrong(length, why) => (length, Some(why)),
            };
            let bytes = &bytes[..length];
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count().max(1) as u64;
            let begin = self.place;
            let end = Place {
                offset: begin.offset + length as u64,
                line: begin.line + lines,
                element: 0,
                ..begin
            };
            let goes_on = match wrong {
                Some(why) => self.reject((end, "", why), Raw::Bytes(bytes), taker)?,
                None => self.record(bytes, &fields, end, taker)?,
            };
            source.pass(length);
            self.place = Place {
                rows: self.place.rows,
                ..end
            };
            if !goes_on {
                return Ok(false);
            }
        }
    }

    /// The rows of a Parquet file: their number in it is the offset.
    fn rows(&mut self, rows: &mut Rows, taker: &mut Taker<'_>) -> Result<bool, IngestError> {
        let Shape::Parquet(names) = &self.request.shape else {
            return Ok(true);
        };
        while let Some(cells) = rows.next()? {
            let begin = self.place;
            let end = Place {
                offset: begin.offset + 1,
                line: begin.line + 1,
                element: 0,
                ..begin
            };
            let wrong = cells.iter().position(Result::is_err);
            let texts = cells.iter().map(|cell| match cell {
                Ok(value) => value.as_ref().map(CqlValue::exact_text),
                Err(_) => None,
            });
            let record: Record<'_> = texts.map(|text| text.map(Cow::Owned)).collect();
            let goes_on = match wrong.map(|at| (&names[at], &cells[at])) {
                Some((name, Err(why))) => {
                    self.reject((end, name, why), Raw::Fields(&record), taker)?
                }
                _ => self.made(&record, Raw::Fields(&record), end, taker)?,
            };
            self.place = Place {
                rows: self.place.rows,
                ..end
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn too_long(
        &mut self,
        source: &mut Source,
        taker: &mut Taker<'_>,
    ) -> Result<bool, IngestError> {
        let shown = source.bytes()[..KEPT_MOST].to_vec();
        loop {
            let length = line(source.bytes());
            let ended = source.bytes()[..length].ends_with(b"\n");
            source.pass(length);
            self.place.offset += length as u64;
            if ended || source.is_last() {
                break;
            }
            source.more()?;
        }
        self.place.line += 1;
        let end = Place {
            element: 0,
            ..self.place
        };
        self.reject(
            (end, "", "a record of more than 16 MiB"),
            Raw::Bytes(&shown),
            taker,
        )
    }

    /// Whether the next row is of the part that is walked.
    fn takes(&self) -> bool {
        let part = self.request.part;
        part.is_none_or(|part| part.takes(self.place.rows))
    }

    fn reject(
        &mut self,
        (after, column, why): (Place, &str, &str),
        raw: Raw<'_>,
        taker: &mut Taker<'_>,
    ) -> Result<bool, IngestError> {
        self.header = false;
        if !self.takes() {
            self.place.rows += 1;
            return Ok(true);
        }
        let bytes = match raw {
            Raw::Bytes(bytes) => Cow::Borrowed(bytes),
            Raw::Fields(record) => {
                let fields: Vec<&str> = record.iter().map(|f| f.as_deref().unwrap_or("")).collect();
                Cow::Owned(fields.join(",").into_bytes())
            }
        };
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(KEPT_MOST)]);
        self.place.rows += 1;
        taker(Step::Rejected {
            column,
            why,
            text: text.trim_end_matches(['\n', '\r']),
            after: Place {
                rows: self.place.rows,
                ..after
            },
        })
    }

    /// One record, whose fields are cut; whether more are wanted.
    fn record(
        &mut self,
        bytes: &[u8],
        fields: &Fields,
        end: Place,
        taker: &mut Taker<'_>,
    ) -> Result<bool, IngestError> {
        let raw = Raw::Bytes(bytes);
        let record: Record<'_> = match &self.request.shape {
            Shape::Delimited { header, nulls, .. } => {
                if fields.is_empty() {
                    return Ok(true);
                }
                if let (true, Some(names)) = (std::mem::take(&mut self.header), header) {
                    return self.header(fields, names).map(|()| true);
                }
                match fields.record(nulls) {
                    Err((at, why)) => {
                        let column = format!("${}", at + 1);
                        return self.reject((end, &column, why), raw, taker);
                    }
                    Ok(record) if record.len() != self.request.mapping.fields => {
                        let why = format!(
                            "{} fields, where {} are expected",
                            record.len(),
                            self.request.mapping.fields
                        );
                        return self.reject((end, "", &why), raw, taker);
                    }
                    Ok(record) => record,
                }
            }
            Shape::JsonLines(names) | Shape::Parquet(names) => {
                let Ok(text) = std::str::from_utf8(bytes) else {
                    return self.reject((end, "", "not UTF-8"), raw, taker);
                };
                if text.trim().is_empty() {
                    return Ok(true);
                }
                match json_lines::record(text.trim_end(), names) {
                    Err(why) => return self.reject((end, "", &why), raw, taker),
                    Ok(record) => record,
                }
            }
        };
        self.made(&record, raw, end, taker)
    }

    /// The rows of a record; whether more are wanted.
    fn made(
        &mut self,
        record: &Record<'_>,
        raw: Raw<'_>,
        end: Place,
        taker: &mut Taker<'_>,
    ) -> Result<bool, IngestError> {
        let mapping = &self.request.mapping;
        let given = RowInput {
            fields: record,
            element: None,
            row: self.place.rows,
            start_us: self.start_us,
        };
        let expansion = match mapping.expand.as_ref().map(|expand| expand.open(&given)) {
            None => None,
            Some(Ok(expansion)) => Some(expansion),
            Some(Err(why)) => return self.reject((end, "", &why), raw, taker),
        };
        let count = expansion.as_ref().map_or(1, |expansion| expansion.count);
        let begin = self.place;
        let mut first = true;
        // Until a row was made, what does not vary is not known.
        let mut known = false;
        for place in begin.element..count {
            let takes = self.takes();
            let begins = place == begin.element;
            // What is wrong with the first element may be wrong with all, whoever takes it.
            let asked = takes || begins && expansion.is_some();
            if !asked {
                self.place.rows += 1;
                continue;
            }
            if let Some(expansion) = &expansion {
                expansion.element(place, &mut self.element);
            }
            let made = self.values(record, expansion.is_some(), !known);
            known |= made.is_ok();
            let after = match place + 1 == count {
                true => end,
                false => Place {
                    element: place + 1,
                    ..begin
                },
            };
            let goes_on = match made {
                Err(wrong) => {
                    let goes_on = self.reject((after, &wrong.column, &wrong.why), raw, taker)?;
                    // What does not vary is wrong in all of its rows: once is enough.
                    if !mapping.varies(&wrong) {
                        return Ok(goes_on);
                    }
                    goes_on
                }
                Ok(()) => {
                    self.place.rows += 1;
                    !takes
                        || taker(Step::Row {
                            values: &self.values,
                            first: std::mem::take(&mut first),
                            dated: self.dated,
                            after: Place {
                                rows: self.place.rows,
                                ..after
                            },
                        })?
                }
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The first record of a file holds the names that are expected.
    fn header(&self, fields: &Fields, names: &[String]) -> Result<(), IngestError> {
        let found = fields.record(&[]).unwrap_or_default();
        let found = found.iter().flatten().map(|name| name.trim());
        match names.is_empty() || found.eq(names.iter().map(String::as_str)) {
            true => Ok(()),
            false => Err(IngestError::Content {
                path: self.request.files[self.place.file].display().to_string(),
                why: format!(
                    "its header is not {}, as in the first file",
                    names.join(", ")
                ),
            }),
        }
    }

    fn values(&mut self, record: &Record<'_>, expanded: bool, first: bool) -> Result<(), Wrong> {
        let mapping = &self.request.mapping;
        let given = RowInput {
            fields: record,
            element: expanded.then_some(self.element.as_str()),
            row: self.place.rows,
            start_us: self.start_us,
        };
        // What is wrong in all rows of a record comes first, so that each part of a load meets it at the same row.
        for varying in [false, true] {
            if !varying && !first {
                continue;
            }
            for (at, target) in mapping.targets.iter().enumerate() {
                if target.expr.varies() == varying {
                    self.values[at] = mapping.value(at, &given)?;
                }
            }
            let is_dated_so = |expr: &Expr| expr.varies() == varying;
            if mapping.timestamp.as_ref().is_some_and(is_dated_so) {
                self.dated = mapping.dated(&given)?;
            }
        }
        Ok(())
    }
}
