//! Arbitrary types, values and messages for the codec's laws.
//! Refuses messages that a protocol version cannot say: `for_version` trims them.

use helenus_cql::codec::result::Row;
use helenus_cql::codec::{
    Bound, ColumnSpec, Consistency, Event, Extras, FailureReason, Parameters, Prepared,
    QueryResult, Request, Response, RowsPage, SchemaChange, SchemaTarget, ServerError,
    ServerErrorKind, TopologyChange, Values, Version,
};
use helenus_model::cql::{CqlType, CqlValue};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use std::net::{IpAddr, SocketAddr};

pub(crate) fn any_version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V4), Just(Version::V5)]
}

fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z_ü'\" ]{0,8}"
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..12)
}

/// A type that nests nothing, and a value of it.
pub(crate) fn any_scalar() -> impl Strategy<Value = (CqlType, CqlValue)> {
    let some = || vec(any::<u8>(), 1..20);
    let numbers = prop_oneof![
        any::<i64>().prop_map(|n| (CqlType::Bigint, CqlValue::Bigint(n))),
        any::<i64>().prop_map(|n| (CqlType::Counter, CqlValue::Counter(n))),
        any::<i32>().prop_map(|n| (CqlType::Int, CqlValue::Int(n))),
        any::<i16>().prop_map(|n| (CqlType::Smallint, CqlValue::Smallint(n))),
        any::<i8>().prop_map(|n| (CqlType::Tinyint, CqlValue::Tinyint(n))),
        any::<f64>().prop_map(|x| (CqlType::Double, CqlValue::Double(x))),
        any::<f32>().prop_map(|x| (CqlType::Float, CqlValue::Float(x))),
        some().prop_map(|b| (CqlType::Varint, CqlValue::Varint(b))),
        (bytes(), any::<i32>()).prop_map(|(unscaled, scale)| {
            (CqlType::Decimal, CqlValue::Decimal { unscaled, scale })
        }),
    ];
    let times = prop_oneof![
        any::<u32>().prop_map(|n| (CqlType::Date, CqlValue::Date(n))),
        any::<i64>().prop_map(|n| (CqlType::Time, CqlValue::Time(n))),
        any::<i64>().prop_map(|n| (CqlType::Timestamp, CqlValue::Timestamp(n))),
        any::<[u8; 16]>().prop_map(|u| (CqlType::Timeuuid, CqlValue::Timeuuid(u))),
        any::<(i32, i32, i64)>().prop_map(|(months, days, nanos)| {
            (
                CqlType::Duration,
                CqlValue::Duration {
                    months,
                    days,
                    nanos,
                },
            )
        }),
    ];
    let others = prop_oneof![
        "[ -~]{0,20}".prop_map(|t| (CqlType::Ascii, CqlValue::Ascii(t))),
        any::<String>().prop_map(|t| (CqlType::Text, CqlValue::Text(t))),
        bytes().prop_map(|b| (CqlType::Blob, CqlValue::Blob(b))),
        bytes().prop_map(|b| (CqlType::Custom("com.example.X".into()), CqlValue::Custom(b))),
        any::<bool>().prop_map(|b| (CqlType::Boolean, CqlValue::Boolean(b))),
        any::<IpAddr>().prop_map(|a| (CqlType::Inet, CqlValue::Inet(a))),
        any::<[u8; 16]>().prop_map(|u| (CqlType::Uuid, CqlValue::Uuid(u))),
    ];
    prop_oneof![numbers, times, others]
}

/// A type and a few values of it; the values of one type are made to vary by repetition only.
pub(crate) fn any_type_and_value() -> impl Strategy<Value = (CqlType, CqlValue)> {
    any_scalar().prop_recursive(3, 24, 4, |inner| {
        let fields = || vec((name(), inner.clone(), any::<bool>()), 1..4);
        prop_oneof![
            (inner.clone(), 0_usize..4).prop_map(|((ty, value), n)| {
                (CqlType::List(Box::new(ty)), CqlValue::List(vec![value; n]))
            }),
            (inner.clone(), 0_usize..4).prop_map(|((ty, value), n)| {
                (CqlType::Set(Box::new(ty)), CqlValue::Set(vec![value; n]))
            }),
            (inner.clone(), 1_usize..4).prop_map(|((ty, value), n)| {
                (
                    CqlType::Vector(Box::new(ty), n),
                    CqlValue::Vector(vec![value; n]),
                )
            }),
            (inner.clone(), inner.clone(), 0_usize..4).prop_map(|((kt, key), (vt, value), n)| {
                let map = CqlType::Map(Box::new(kt), Box::new(vt));
                (map, CqlValue::Map(vec![(key, value); n]))
            }),
            fields().prop_map(|fields| {
                let types = fields.iter().map(|(_, (ty, _), _)| ty.clone()).collect();
                let value = fields
                    .into_iter()
                    .map(|(_, (_, v), set)| set.then_some(v))
                    .collect();
                (CqlType::Tuple(types), CqlValue::Tuple(value))
            }),
            (name(), fields()).prop_map(|(name, fields)| {
                let types = fields
                    .iter()
                    .map(|(name, (ty, _), _)| (name.clone(), ty.clone()));
                let fields_of = types.collect();
                let keyspace = "ks".to_owned();
                let value = fields
                    .into_iter()
                    .map(|(n, (_, v), set)| (n, set.then_some(v)));
                (
                    CqlType::Udt {
                        keyspace,
                        name,
                        fields: fields_of,
                    },
                    CqlValue::Udt(value.collect()),
                )
            }),
        ]
    })
}

pub(crate) fn any_type() -> impl Strategy<Value = CqlType> {
    any_type_and_value().prop_map(|(ty, _)| ty)
}

fn level() -> impl Strategy<Value = Consistency> {
    prop::sample::select(Consistency::ALL_LEVELS.to_vec())
}

fn bound() -> impl Strategy<Value = Bound> {
    prop_oneof![
        bytes().prop_map(Bound::Value),
        Just(Bound::Null),
        Just(Bound::Unset)
    ]
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let values = prop_oneof![
        vec(bound(), 0..4).prop_map(Values::Positional),
        vec((name(), bound()), 1..4).prop_map(Values::Named),
    ];
    let first = (
        level(),
        values,
        any::<bool>(),
        option::of(any::<i32>()),
        option::of(bytes()),
    );
    let second = (
        option::of(level()),
        option::of(any::<i64>()),
        option::of(name()),
        option::of(any::<i32>()),
    );
    (first, second).prop_map(|(first, second)| Parameters {
        consistency: first.0,
        values: first.1,
        skip_metadata: first.2,
        page_size: first.3,
        paging_state: first.4,
        serial_consistency: second.0,
        timestamp: second.1,
        keyspace: second.2,
        now_in_seconds: second.3,
    })
}

pub(crate) fn any_request() -> impl Strategy<Value = Request> {
    prop_oneof![
        btree_map(name(), name(), 0..4).prop_map(Request::Startup),
        Just(Request::Options),
        option::of(bytes()).prop_map(Request::AuthResponse),
        (any::<String>(), parameters())
            .prop_map(|(cql, parameters)| Request::Query { cql, parameters }),
        (name(), option::of(name())).prop_map(|(cql, keyspace)| Request::Prepare { cql, keyspace }),
        (bytes(), bytes(), parameters()).prop_map(|(id, metadata, parameters)| Request::Execute {
            id,
            result_metadata_id: Some(metadata),
            parameters,
        }),
        vec(name(), 0..4).prop_map(Request::Register),
    ]
}

/// The request without what only v5 can say.
pub(crate) fn for_version(mut request: Request, version: Version) -> Request {
    if version == Version::V5 {
        return request;
    }
    match &mut request {
        Request::Query { parameters, .. } => trim(parameters),
        Request::Prepare { keyspace, .. } => *keyspace = None,
        Request::Execute {
            result_metadata_id,
            parameters,
            ..
        } => {
            *result_metadata_id = None;
            trim(parameters);
        }
        _ => {}
    }
    request
}

fn trim(parameters: &mut Parameters) {
    parameters.keyspace = None;
    parameters.now_in_seconds = None;
}

pub(crate) fn column(name: &str, ty: CqlType) -> ColumnSpec {
    ColumnSpec {
        keyspace: "ks".into(),
        table: "t".into(),
        name: name.into(),
        ty,
    }
}

fn any_columns() -> impl Strategy<Value = Vec<ColumnSpec>> {
    let one = (name(), any_type()).prop_map(|(name, ty)| column(&name, ty));
    (vec(one, 0..4), any::<bool>()).prop_map(|(mut columns, two_tables)| {
        if let (true, Some(first)) = (two_tables, columns.first_mut()) {
            first.table = "other".to_owned();
        }
        columns
    })
}

fn any_page() -> impl Strategy<Value = RowsPage> {
    let cell = (any_type_and_value(), any::<bool>());
    let parts = (
        vec(cell, 1..4),
        0_usize..4,
        option::of(bytes()),
        option::of(bytes()),
        any::<bool>(),
    );
    parts.prop_map(
        |(cells, count, paging_state, new_metadata_id, with_columns)| {
            let columns: Vec<_> = cells
                .iter()
                .map(|((ty, _), _)| column("c", ty.clone()))
                .collect();
            let row: Row = cells
                .into_iter()
                .map(|((_, value), set)| set.then_some(value))
                .collect();
            let rows = vec![row; count];
            let page = RowsPage::of(columns.clone(), &rows).expect("the values fit");
            assert_eq!(page.rows(&columns).expect("reads back"), rows);
            let columns = page.columns.filter(|_| with_columns);
            RowsPage {
                columns,
                paging_state,
                new_metadata_id,
                ..page
            }
        },
    )
}

fn any_change() -> impl Strategy<Value = SchemaChange> {
    let target = prop_oneof![
        Just(SchemaTarget::Keyspace),
        name().prop_map(SchemaTarget::Table),
        name().prop_map(SchemaTarget::Type),
        (name(), vec(name(), 0..3))
            .prop_map(|(name, arguments)| SchemaTarget::Function { name, arguments }),
        (name(), vec(name(), 0..3))
            .prop_map(|(name, arguments)| SchemaTarget::Aggregate { name, arguments }),
    ];
    (name(), name(), target).prop_map(|(change, keyspace, target)| SchemaChange {
        change,
        keyspace,
        target,
    })
}

fn any_event() -> impl Strategy<Value = Event> {
    use TopologyChange::{Moved, New, Removed};
    let change = prop_oneof![Just(New), Just(Removed), Just(Moved)];
    let node = || any::<(IpAddr, u16)>().prop_map(|(ip, port)| SocketAddr::new(ip, port));
    prop_oneof![
        (change, node()).prop_map(|(change, node)| Event::Topology { change, node }),
        (any::<bool>(), node()).prop_map(|(up, node)| Event::Status { up, node }),
        any_change().prop_map(Event::Schema),
    ]
}

fn replica_error() -> impl Strategy<Value = ServerErrorKind> {
    use ServerErrorKind as Kind;
    let facts = || (level(), any::<i32>(), any::<i32>());
    let failures = || vec(any::<(IpAddr, u16)>(), 0..3).prop_map(FailureReason::Replicas);
    prop_oneof![
        facts().prop_map(|(consistency, required, alive)| Kind::Unavailable {
            consistency,
            required,
            alive
        }),
        (facts(), name(), option::of(any::<u16>())).prop_map(
            |((consistency, received, wanted), write_type, contentions)| Kind::WriteTimeout {
                consistency,
                received,
                wanted,
                write_type,
                contentions
            }
        ),
        (facts(), any::<bool>()).prop_map(|((consistency, received, wanted), data_present)| {
            Kind::ReadTimeout {
                consistency,
                received,
                wanted,
                data_present,
            }
        }),
        (facts(), failures(), any::<bool>()).prop_map(
            |((consistency, received, wanted), failures, data_present)| Kind::ReadFailure {
                consistency,
                received,
                wanted,
                failures,
                data_present
            }
        ),
        (facts(), failures(), name()).prop_map(
            |((consistency, received, wanted), failures, write_type)| Kind::WriteFailure {
                consistency,
                received,
                wanted,
                failures,
                write_type
            }
        ),
        facts().prop_map(|(consistency, received, wanted)| Kind::CasWriteUnknown {
            consistency,
            received,
            wanted
        }),
    ]
}

fn any_error() -> impl Strategy<Value = ServerError> {
    use ServerErrorKind as Kind;
    let plain = prop::sample::select(vec![
        Kind::Server,
        Kind::Protocol,
        Kind::BadCredentials,
        Kind::Overloaded,
        Kind::IsBootstrapping,
        Kind::Truncate,
        Kind::CdcWriteFailure,
        Kind::Syntax,
        Kind::Unauthorized,
        Kind::Invalid,
        Kind::Config,
        Kind::Other { code: 0x7777 },
        Kind::Other { code: 0x1777 },
    ]);
    let named = prop_oneof![
        (name(), name()).prop_map(|(keyspace, table)| Kind::AlreadyExists { keyspace, table }),
        (name(), name(), vec(name(), 0..3)).prop_map(|(keyspace, function, arguments)| {
            Kind::FunctionFailure {
                keyspace,
                function,
                arguments,
            }
        }),
        bytes().prop_map(|id| Kind::Unprepared { id }),
    ];
    (name(), prop_oneof![plain, replica_error(), named])
        .prop_map(|(message, kind)| ServerError { message, kind })
}

pub(crate) fn any_response() -> impl Strategy<Value = Response> {
    let prepared = (
        bytes(),
        bytes(),
        any_columns(),
        vec(any::<u16>(), 0..3),
        any_columns(),
    )
        .prop_map(|(id, metadata, markers, partition_key, columns)| Prepared {
            id,
            result_metadata_id: Some(metadata),
            markers,
            partition_key,
            columns,
        });
    let result = prop_oneof![
        Just(QueryResult::Void),
        any_page().prop_map(QueryResult::Rows),
        name().prop_map(QueryResult::SetKeyspace),
        prepared.prop_map(QueryResult::Prepared),
        any_change().prop_map(QueryResult::SchemaChange),
    ];
    prop_oneof![
        3 => any_error().prop_map(Response::Error),
        1 => Just(Response::Ready),
        1 => name().prop_map(Response::Authenticate),
        1 => btree_map(name(), vec(name(), 0..3), 0..3).prop_map(Response::Supported),
        3 => result.prop_map(Response::Result),
        1 => any_event().prop_map(Response::Event),
        1 => option::of(bytes()).prop_map(Response::AuthChallenge),
        1 => option::of(bytes()).prop_map(Response::AuthSuccess),
    ]
}

/// The response without what only v5 can say.
pub(crate) fn response_for_version(mut response: Response, version: Version) -> Response {
    if version == Version::V5 {
        return response;
    }
    match &mut response {
        Response::Result(QueryResult::Rows(page)) => page.new_metadata_id = None,
        Response::Result(QueryResult::Prepared(prepared)) => prepared.result_metadata_id = None,
        Response::Error(error) => match &mut error.kind {
            ServerErrorKind::WriteTimeout { contentions, .. } => *contentions = None,
            ServerErrorKind::ReadFailure { failures, .. }
            | ServerErrorKind::WriteFailure { failures, .. } => {
                *failures = FailureReason::Count(failures.replicas() as i32);
            }
            _ => {}
        },
        _ => {}
    }
    response
}

pub(crate) fn any_extras() -> impl Strategy<Value = Extras> {
    let payload = btree_map(name(), option::of(bytes()), 0..2);
    (option::of(any::<[u8; 16]>()), vec(name(), 0..2), payload).prop_map(
        |(tracing_id, warnings, custom_payload)| Extras {
            tracing_id,
            warnings,
            custom_payload,
        },
    )
}
