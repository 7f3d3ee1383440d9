//! All rows of a load in their order, from any place of it: records cut, mapped and expanded.
//! Refuses to stop at what is wrong: that is a step, too.

use super::source::{RECORD_MOST, Source};
use super::{IngestError, LoadRequest, Shape};
use helenus_model::cql::CqlValue;
use helenus_model::ingest::delimited::{Cut, Fields, cut, line};
use helenus_model::ingest::mapping::Wrong;
use helenus_model::ingest::{Given, Place, Record, json_lines};

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
        element: String::new(),
        place: from,
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
        }
        let mut source = Source::open(path)?;
        if !source.skip(walker.place.offset)? {
            return Err(IngestError::Changed(format!(
                "{} is shorter",
                path.display()
            )));
        }
        if !walker.file(&mut source, taker)? {
            return Ok(());
        }
    }
    Ok(())
}

struct Walker<'a> {
    request: &'a LoadRequest,
    start_us: i64,
    values: Vec<Option<CqlValue>>,
    element: String,
    place: Place,
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
            let bytes = source.bytes();
            let found = match &request.shape {
                Shape::Delimited { dialect, .. } => {
                    cut(bytes, source.is_last(), dialect, &mut fields)
                }
                Shape::JsonLines(_) => match (line(bytes), source.is_last()) {
                    (0, true) => Cut::End,
                    (length, last) if last || bytes[..length].ends_with(b"\n") => {
                        Cut::Record(length)
                    }
                    _ => Cut::More,
                },
            };
            let (length, wrong) = match found {
                Cut::End => return Ok(true),
                Cut::More if bytes.len() < RECORD_MOST => {
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
                Some(why) => self.reject((end, "", why), bytes, taker)?,
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
        self.reject((end, "", "a record of more than 16 MiB"), &shown, taker)
    }

    fn reject(
        &mut self,
        (after, column, why): (Place, &str, &str),
        bytes: &[u8],
        taker: &mut Taker<'_>,
    ) -> Result<bool, IngestError> {
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
        let mapping = &self.request.mapping;
        let record: Record<'_> = match &self.request.shape {
            Shape::Delimited { header, nulls, .. } => {
                if fields.is_empty() {
                    return Ok(true);
                }
                if let (Some(names), 0) = (header, self.place.line) {
                    return self.header(fields, names).map(|()| true);
                }
                match fields.record(nulls) {
                    Err((at, why)) => {
                        let column = format!("${}", at + 1);
                        return self.reject((end, &column, why), bytes, taker);
                    }
                    Ok(record) if record.len() != mapping.fields => {
                        let why = format!(
                            "{} fields, where {} are expected",
                            record.len(),
                            mapping.fields
                        );
                        return self.reject((end, "", &why), bytes, taker);
                    }
                    Ok(record) => record,
                }
            }
            Shape::JsonLines(names) => {
                let Ok(text) = std::str::from_utf8(bytes) else {
                    return self.reject((end, "", "not UTF-8"), bytes, taker);
                };
                if text.trim().is_empty() {
                    return Ok(true);
                }
                match json_lines::record(text.trim_end(), names) {
                    Err(why) => return self.reject((end, "", &why), bytes, taker),
                    Ok(record) => record,
                }
            }
        };
        let given = Given {
            fields: &record,
            element: None,
            row: self.place.rows,
            start_us: self.start_us,
        };
        let expansion = match mapping.expand.as_ref().map(|expand| expand.open(&given)) {
            None => None,
            Some(Ok(expansion)) => Some(expansion),
            Some(Err(why)) => return self.reject((end, "", &why), bytes, taker),
        };
        let count = expansion.as_ref().map_or(1, |expansion| expansion.count);
        let begin = self.place;
        for place in begin.element..count {
            let first = place == begin.element;
            if let Some(expansion) = &expansion {
                expansion.element(place, &mut self.element);
            }
            let made = self.values(&record, expansion.is_some(), first);
            let after = match place + 1 == count {
                true => end,
                false => Place {
                    element: place + 1,
                    ..begin
                },
            };
            let goes_on = match made {
                Err(wrong) => {
                    let goes_on = self.reject((after, &wrong.column, &wrong.why), bytes, taker)?;
                    // What does not vary is wrong in all of its rows: once is enough.
                    let varies = |t: &helenus_model::ingest::Target| {
                        t.name == wrong.column && t.expr.varies()
                    };
                    if !mapping.targets.iter().any(varies) {
                        return Ok(goes_on);
                    }
                    goes_on
                }
                Ok(()) => {
                    self.place.rows += 1;
                    taker(Step::Row {
                        values: &self.values,
                        first,
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
        let given = Given {
            fields: record,
            element: expanded.then_some(self.element.as_str()),
            row: self.place.rows,
            start_us: self.start_us,
        };
        for (at, target) in mapping.targets.iter().enumerate() {
            if first || target.expr.varies() {
                self.values[at] = mapping.value(at, &given)?;
            }
        }
        Ok(())
    }
}
