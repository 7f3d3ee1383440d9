//! Words of a load: fields, expressions, ranges and records; what is taken makes rows or says why not, and never panics.
#![no_main]

use helenus_model::cql::CqlType;
use helenus_model::cql::read::Habits;
use helenus_model::ingest::unloading::{UnloadHead, UnloadMark, number_of, numbered};
use helenus_model::ingest::{Given, LoadJournal, LoadParts, Mapping, Part, Place, Split, Wishes};
use helenus_model::table::{ColumnKind, Table, TableColumn};
use libfuzzer_sys::fuzz_target;
use std::borrow::Cow;

fn table() -> Table {
    let column = |name: &str, cql_type, kind| TableColumn {
        name: name.into(),
        cql_type,
        kind,
    };
    let list = CqlType::List(Box::new(CqlType::Tuple(vec![CqlType::Int, CqlType::Text])));
    let map = CqlType::Map(
        Box::new(CqlType::Text),
        Box::new(CqlType::Vector(Box::new(CqlType::Float), 2)),
    );
    Table {
        keyspace: "k".into(),
        name: "t".into(),
        columns: vec![
            column("a", CqlType::Text, ColumnKind::Partition),
            column("b", CqlType::Inet, ColumnKind::Clustering),
            column("c", CqlType::Decimal, ColumnKind::Regular),
            column("d", CqlType::Timestamp, ColumnKind::Regular),
            column("e", CqlType::Timeuuid, ColumnKind::Regular),
            column("f", list, ColumnKind::Regular),
            column("g", map, ColumnKind::Regular),
            column("h", CqlType::Duration, ColumnKind::Regular),
        ],
    }
}

fuzz_target!(|text: &str| {
    let _refused = serde_json::from_str::<LoadJournal>(text);
    let _refused = serde_json::from_str::<LoadParts>(text);
    let _refused = serde_json::from_str::<UnloadHead>(text);
    let _refused = serde_json::from_str::<UnloadMark>(text);
    let _refused = serde_json::from_str::<Place>(text);
    let _refused = text.parse::<Part>();
    let _refused = text.parse::<Split>();
    assert_eq!(number_of(text, &numbered(text, 42)), Some(42));
    let mut lines = text.split('\n');
    let mut next = || lines.next().unwrap_or_default().to_owned();
    let (expand, timestamp, choice) = (next(), next(), next());
    let maps = [("a", next()), ("b", next()), ("e", next())];
    let record: Vec<Option<Cow<'_, str>>> = (0..8)
        .map(|_| Some(next()).filter(|f| f != "\\N").map(Cow::Owned))
        .collect();
    let given = |name: &str| !choice.contains(name);
    let wishes = Wishes {
        fields: ["a", "b", "c", "d", "e", "f", "g", "h"]
            .map(str::to_owned)
            .to_vec(),
        lenient: given("l"),
        maps: maps
            .into_iter()
            .filter(|(name, _)| given(name))
            .map(|(name, expr)| (name.to_owned(), expr))
            .collect(),
        expand: given("x").then_some(expand),
        timestamp: given("t").then_some(timestamp),
        skipped: Vec::new(),
        habits: Habits {
            decimal_comma: given("h"),
        },
    };
    let mapping = match Mapping::new(&table(), &wishes) {
        Ok(mapping) => mapping,
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.hint().is_empty());
            return;
        }
    };
    assert!(mapping.insert(None).ends_with("USING TIMESTAMP ?"));
    let given = Given {
        fields: &record,
        element: None,
        row: 7,
        start_us: 1_700_000_000_000_000,
    };
    let rows = |given: &Given<'_>| {
        for at in 0..mapping.targets.len() {
            let value = mapping.value(at, given);
            // Two runs make the same row.
            assert_eq!(
                format!("{value:?}"),
                format!("{:?}", mapping.value(at, given))
            );
            if let Err(wrong) = value {
                assert!(!wrong.why.is_empty());
                let _either = mapping.varies(&wrong);
            }
        }
        let _either = mapping.dated(given);
    };
    let Some(expand) = &mapping.expand else {
        return rows(&given);
    };
    let Ok(open) = expand.open(&given) else {
        return;
    };
    assert!(open.count > 0);
    let mut seen = String::new();
    for place in [0, 1, open.count / 2, open.count - 1] {
        if place < open.count {
            let mut element = String::new();
            open.element(place, &mut element);
            assert!(place == 0 || element != seen, "{element} comes twice");
            if place == 0 {
                seen.clone_from(&element);
            }
            rows(&Given {
                element: Some(&element),
                ..given
            });
        }
    }
});
