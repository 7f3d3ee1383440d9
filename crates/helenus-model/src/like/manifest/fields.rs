//! What of a manifest has no place in a local cluster: field by field, with the reason, in `data/like/fields.tsv`.
//! Refuses a field without a reason.

use crate::cells::rows;
use crate::like::Class;

/// Fields with one fate and one reason.
pub(super) struct Group {
    pub(super) fields: Vec<&'static str>,
    pub(super) class: Class,
    pub(super) why: &'static str,
}

/// The groups of a part of a manifest: the table's first cell names it.
pub(super) fn of(part: &str) -> Vec<Group> {
    let rows = rows::<4>(include_str!("../../../data/like/fields.tsv"));
    let own = rows.filter(|[of, ..]| *of == part);
    own.map(|[_, class, why, fields]| Group {
        fields: fields.split(' ').collect(),
        class: match class {
            "replaced" => Class::Replaced,
            _ => Class::NotHere,
        },
        why,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_a_known_fate_and_a_reason() {
        for [part, class, why, fields] in rows::<4>(include_str!("../../../data/like/fields.tsv")) {
            assert!(matches!(class, "replaced" | "not_here"), "{part}: {fields}");
            assert!(why.len() > 5 && !fields.is_empty(), "{part}: {fields}");
        }
    }
}
