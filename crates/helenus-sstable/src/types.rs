//! CQL types as the names of Cassandra's classes.
//! Refuses to parse them: `helenus-cql` does.

use helenus_cql::codec::marshal::{PACKAGE, class_of, hex};
use helenus_model::cql::CqlType;
use std::fmt::Write as _;

/// The class of a type with its parameters. `multi_cell`: not frozen; what lies within always is.
pub(crate) fn class(ty: &CqlType, multi_cell: bool) -> String {
    let mut out = String::new();
    write_class(ty, multi_cell, false, &mut out);
    out
}

/// The class of a clustering column.
pub(crate) fn clustering_class(ty: &CqlType, descending: bool) -> String {
    match descending {
        true => format!("{PACKAGE}ReversedType({})", class(ty, false)),
        false => class(ty, false),
    }
}

/// The class of a partition key.
pub(crate) fn key_class(types: &[CqlType]) -> String {
    match types {
        [one] => class(one, false),
        several => {
            let classes: Vec<String> = several.iter().map(|ty| class(ty, false)).collect();
            format!("{PACKAGE}CompositeType({})", classes.join(","))
        }
    }
}

/// Within a frozen type, frozenness is not written again.
fn write_class(ty: &CqlType, multi_cell: bool, in_frozen: bool, out: &mut String) {
    match ty {
        CqlType::Tuple(types) => {
            out.push_str(PACKAGE);
            out.push_str("TupleType(");
            list(types.iter(), out);
            out.push(')');
        }
        CqlType::Vector(element, count) => {
            out.push_str(PACKAGE);
            out.push_str("VectorType(");
            write_class(element, false, false, out);
            let _infallible = write!(out, " , {count})");
        }
        CqlType::List(_) | CqlType::Set(_) | CqlType::Map(..) | CqlType::Udt { .. } => {
            write_nested(ty, multi_cell, in_frozen, out);
        }
        plain => out.push_str(&class_of(plain)),
    }
}

fn write_nested(ty: &CqlType, multi_cell: bool, in_frozen: bool, out: &mut String) {
    let wrapped = !multi_cell && !in_frozen;
    if wrapped {
        out.push_str(PACKAGE);
        out.push_str("FrozenType(");
    }
    let inner = in_frozen || !multi_cell;
    out.push_str(PACKAGE);
    match ty {
        CqlType::List(element) => {
            out.push_str("ListType(");
            write_class(element, false, inner, out);
        }
        CqlType::Set(element) => {
            out.push_str("SetType(");
            write_class(element, false, inner, out);
        }
        CqlType::Map(key, value) => {
            out.push_str("MapType(");
            write_class(key, false, inner, out);
            out.push(',');
            write_class(value, false, inner, out);
        }
        CqlType::Udt {
            keyspace,
            name,
            fields,
        } => {
            let _infallible = write!(out, "UserType({keyspace},{}", hex(name));
            for (field, ty) in fields {
                let _infallible = write!(out, ",{}:", hex(field));
                write_class(ty, false, inner, out);
            }
        }
        _ => {}
    }
    out.push(')');
    if wrapped {
        out.push(')');
    }
}

/// The types of a tuple are written as if they were within a frozen type.
fn list<'a>(types: impl Iterator<Item = &'a CqlType>, out: &mut String) {
    for (at, ty) in types.enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_class(ty, false, true, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Cassandra 5.0.9 wrote them into the statistics of an SSTable.
    #[test]
    fn classes_are_written_as_cassandra_writes_them() {
        let short = |ty: &CqlType, multi| class(ty, multi).replace(PACKAGE, "");
        let ints = || Box::new(CqlType::Int);
        let set = CqlType::Set(ints());
        let list = CqlType::List(Box::new(set));
        assert_eq!(
            short(&list, false),
            "FrozenType(ListType(SetType(Int32Type)))"
        );
        assert_eq!(
            short(&list, true),
            "ListType(FrozenType(SetType(Int32Type)))"
        );
        let udt = CqlType::Udt {
            keyspace: "k".to_owned(),
            name: "u".to_owned(),
            fields: vec![
                ("a".to_owned(), CqlType::Int),
                ("b".to_owned(), CqlType::Text),
            ],
        };
        let fields = "UserType(k,75,61:Int32Type,62:UTF8Type)";
        assert_eq!(short(&udt, true), fields);
        assert_eq!(short(&udt, false), format!("FrozenType({fields})"));
        let tuple = CqlType::Tuple(vec![CqlType::Int, CqlType::Text]);
        assert_eq!(short(&tuple, false), "TupleType(Int32Type,UTF8Type)");
        let vector = CqlType::Vector(Box::new(CqlType::Float), 3);
        assert_eq!(short(&vector, false), "VectorType(FloatType , 3)");
        let reversed = clustering_class(&CqlType::Text, true).replace(PACKAGE, "");
        assert_eq!(reversed, "ReversedType(UTF8Type)");
        let key = key_class(&[CqlType::Text, CqlType::Int]).replace(PACKAGE, "");
        assert_eq!(key, "CompositeType(UTF8Type,Int32Type)");
    }
}
