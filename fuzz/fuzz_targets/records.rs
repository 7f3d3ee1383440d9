//! Bytes of files to be loaded: separated values and JSON lines, whole and in pieces; what is cut is written and cut again as it was.
#![no_main]

use helenus_model::ingest::delimited::{Cut, Dialect, Fields, cut, line, put_field};
use helenus_model::ingest::json_lines;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|given: (u8, u8, &[u8])| {
    let (choice, piece, bytes) = given;
    let dialect = match choice % 4 {
        0 => Dialect::CSV,
        1 => Dialect::TSV,
        2 => Dialect {
            delimiter: b';',
            ..Dialect::CSV
        },
        _ => Dialect {
            delimiter: b'|',
            quote: None,
            backslash: false,
        },
    };
    let nulls = [if dialect.backslash { "\\N" } else { "" }.to_owned()];
    let (mut fields, mut at) = (Fields::default(), 0);
    loop {
        let rest = &bytes[at..];
        match cut(rest, true, &dialect, &mut fields) {
            Cut::End => {
                assert!(rest.is_empty());
                break;
            }
            Cut::More => panic!("nothing follows"),
            Cut::Wrong(length, why) => {
                assert!((1..=rest.len()).contains(&length) && !why.is_empty());
                at += length;
            }
            Cut::Record(length) => {
                assert!((1..=rest.len()).contains(&length));
                whole(&rest[..length], &dialect, &nulls, &fields);
                // With fewer bytes it is the same record, or more are asked for.
                let end = rest.len().min(length + usize::from(piece));
                let mut other = Fields::default();
                match cut(&rest[..end], false, &dialect, &mut other) {
                    Cut::More => {}
                    same => assert_eq!(same, Cut::Record(length)),
                }
                at += length;
            }
        }
    }
    let names = ["a".to_owned(), "b".to_owned()];
    if let Ok(text) = std::str::from_utf8(&bytes[..line(bytes)]) {
        if let Ok(record) = json_lines::record(text.trim_end(), &names) {
            assert_eq!(record.len(), names.len());
        }
    }
});

/// Fields of a record, written and cut again.
fn whole(_bytes: &[u8], dialect: &Dialect, nulls: &[String], fields: &Fields) {
    let Ok(record) = fields.record(nulls) else {
        return;
    };
    // Without quotes and backslashes some texts cannot be written; a NUL is refused outside of quotes.
    let plain = dialect.quote.is_none() && !dialect.backslash;
    if plain || record.len() < 2 {
        return;
    }
    let mut bytes = Vec::new();
    for (at, field) in record.iter().enumerate() {
        if at > 0 {
            bytes.push(dialect.delimiter);
        }
        put_field(field.as_deref(), dialect, nulls, &mut bytes);
    }
    bytes.push(b'\n');
    let mut again = Fields::default();
    assert_eq!(
        cut(&bytes, true, dialect, &mut again),
        Cut::Record(bytes.len())
    );
    assert_eq!(again.record(nulls).as_ref(), Ok(&record));
}
