//! RESET: what leads from the schema that is there to the one that was recorded, and which tables hold anything.
//! Refuses to guess at CQL: an element is the statement that the server itself gives for it.

use crate::format::Format;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

mod roles;

pub use roles::{RoleChanges, role_changes};

/// Version of [`Origin`] as JSON.
pub const ORIGIN_VERSION: u32 = 1;

/// The state that a reset leads back to; a cluster without one goes back to an empty schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// `helenus.origin/1`.
    pub format: Format,
    /// The schema's version at that time, or since the last reset: the same version is the same schema.
    pub schema_version: Option<String>,
    /// The schema, in an order in which it can be made.
    pub elements: Vec<Element>,
    /// Tag of the baseline whose data belong to it; none where the tables are empty.
    #[serde(default)]
    pub baseline: Option<String>,
    /// When that baseline was saved, in seconds since 1970: one of the same tag may take its place.
    #[serde(default)]
    pub baseline_made: Option<u64>,
    /// Roles and permissions; none where the cluster asks for no credentials, or nothing was recorded.
    #[serde(default)]
    pub roles: Option<Roles>,
}

/// Roles and permissions, as `system_auth` has them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    /// Roles.
    pub roles: Vec<Role>,
    /// What they may do.
    pub permissions: Vec<Permission>,
}

/// A role without its password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Name.
    pub name: String,
    /// Whether it may do everything.
    pub superuser: bool,
    /// Whether it may connect.
    pub login: bool,
    /// Roles that were granted to it.
    pub member_of: BTreeSet<String>,
}

/// One thing that a role may do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Permission {
    /// Role.
    pub role: String,
    /// On what, such as `data/keyspace/table`.
    pub resource: String,
    /// What, such as `SELECT`.
    pub permission: String,
}

impl Default for Origin {
    fn default() -> Self {
        Self {
            format: Format::new("origin", ORIGIN_VERSION),
            schema_version: None,
            elements: Vec::new(),
            baseline: None,
            baseline_made: None,
            roles: None,
        }
    }
}

/// One element of a schema, as `DESCRIBE SCHEMA` prints it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Element {
    /// Its keyspace, in quotes where CQL needs them.
    pub keyspace: String,
    /// What it is.
    pub kind: ElementKind,
    /// Its name within the keyspace, likewise; a function's has its argument types.
    pub name: String,
    /// The statement that makes it.
    pub create: String,
}

/// What an element is, in the order in which elements can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ElementKind {
    /// A keyspace.
    Keyspace,
    /// A type of one's own.
    Type,
    /// A function.
    Function,
    /// An aggregate.
    Aggregate,
    /// A table.
    Table,
    /// An index of a table.
    Index,
    /// A materialised view of a table.
    MaterializedView,
}

impl ElementKind {
    /// Reads the server's word for it.
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word.to_lowercase().replace(' ', "_").as_str() {
            "keyspace" => Self::Keyspace,
            "type" => Self::Type,
            "function" => Self::Function,
            "aggregate" => Self::Aggregate,
            "table" => Self::Table,
            "index" => Self::Index,
            "materialized_view" => Self::MaterializedView,
            _ => return None,
        })
    }

    /// CQL's words for it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Keyspace => "KEYSPACE",
            Self::Type => "TYPE",
            Self::Function => "FUNCTION",
            Self::Aggregate => "AGGREGATE",
            Self::Table => "TABLE",
            Self::Index => "INDEX",
            Self::MaterializedView => "MATERIALIZED VIEW",
        }
    }
}

impl Element {
    /// Its name as CQL takes it everywhere.
    pub fn path(&self) -> String {
        match self.kind {
            ElementKind::Keyspace => self.keyspace.clone(),
            _ => format!("{}.{}", self.keyspace, self.name),
        }
    }

    fn key(&self) -> (&str, ElementKind, &str) {
        (&self.keyspace, self.kind, &self.name)
    }
}

/// One change of the schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there, or not so.
    Drop(Element),
    /// It is missing, or was dropped because it was not as recorded.
    Create(Element),
    /// A keyspace's replication or durable writes are put back.
    Alter(Element),
}

impl Change {
    /// The statement that does it.
    pub fn statement(&self) -> String {
        match self {
            Self::Drop(e) => format!("DROP {} {}", e.kind.words(), e.path()),
            Self::Create(e) => e.create.trim_end().trim_end_matches(';').to_owned(),
            Self::Alter(e) => e
                .create
                .trim_end()
                .trim_end_matches(';')
                .replacen("CREATE", "ALTER", 1),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, e) = match self {
            Self::Drop(e) => ("drop", e),
            Self::Create(e) => ("create", e),
            Self::Alter(e) => ("alter", e),
        };
        write!(f, "{word} {} {}", e.kind.words().to_lowercase(), e.path())
    }
}

/// The changes that lead from `now` to `origin`, in an order in which the server takes them.
///
/// What is as it was is not touched. A table that is not as it was is made again, with its indexes and views; a
/// keyspace with another type is made again as a whole, since tables may use the type.
pub fn changes(origin: &[Element], now: &[Element]) -> Vec<Change> {
    let there: BTreeMap<_, _> = now.iter().map(|e| (e.key(), e)).collect();
    let recorded: BTreeMap<_, _> = origin.iter().map(|e| (e.key(), e)).collect();
    let differs = |e: &Element| there.get(&e.key()).is_none_or(|now| now.create != e.create);
    let anew: BTreeSet<&str> = origin
        .iter()
        .filter(|e| e.kind == ElementKind::Type && differs(e))
        .map(|e| e.keyspace.as_str())
        .collect();
    let foreign_keyspace = |e: &Element| {
        let key = (e.keyspace.as_str(), ElementKind::Keyspace, e.name.as_str());
        e.kind == ElementKind::Keyspace && !recorded.contains_key(&key)
    };
    // Whole keyspaces first: nothing in them is worth a change of its own.
    let gone: BTreeSet<&str> = now
        .iter()
        .filter(|e| {
            foreign_keyspace(e)
                || (e.kind == ElementKind::Keyspace && anew.contains(e.keyspace.as_str()))
        })
        .map(|e| e.keyspace.as_str())
        .collect();
    let remade = remade(origin, now, &differs);
    let stays = |e: &Element| {
        recorded.get(&e.key()).is_some_and(|r| r.create == e.create)
            && !remade.contains(&owner(e, origin))
            && !(e.kind == ElementKind::Aggregate && function_differs(origin, now, &e.keyspace))
    };
    let mut drops: Vec<&Element> = now
        .iter()
        .rev()
        .filter(|e| e.kind != ElementKind::Keyspace && !gone.contains(e.keyspace.as_str()))
        .filter(|e| !stays(e) && !goes_with_its_table(e, now, &recorded, &remade))
        .collect();
    // Later kinds stand on earlier ones; within a kind the server's order, backwards.
    drops.sort_by_key(|e| std::cmp::Reverse(e.kind));
    let dropped: BTreeSet<_> = drops.iter().map(|e| e.key()).collect();
    let mut changes: Vec<Change> = now
        .iter()
        .filter(|e| e.kind == ElementKind::Keyspace && gone.contains(e.keyspace.as_str()))
        .map(|e| Change::Drop(e.clone()))
        .collect();
    changes.extend(drops.iter().map(|e| Change::Drop((*e).clone())));
    for e in origin {
        let missing = gone.contains(e.keyspace.as_str())
            || !there.contains_key(&e.key())
            || dropped.contains(&e.key())
            || (e.kind >= ElementKind::Table && remade.contains(&owner(e, origin)));
        if missing {
            changes.push(Change::Create(e.clone()));
        } else if e.kind == ElementKind::Keyspace && differs(e) {
            changes.push(Change::Alter(e.clone()));
        }
    }
    changes
}

/// A table, by keyspace and name.
type TableKey = (String, String);

/// Recorded tables that are there but not as recorded.
fn remade(
    origin: &[Element],
    now: &[Element],
    differs: &dyn Fn(&Element) -> bool,
) -> BTreeSet<TableKey> {
    let there: BTreeSet<_> = now.iter().map(Element::key).collect();
    origin
        .iter()
        .filter(|e| e.kind == ElementKind::Table && there.contains(&e.key()) && differs(e))
        .map(|e| (e.keyspace.clone(), e.name.clone()))
        .collect()
}

/// Whether any recorded function of the keyspace is not as it was: its aggregates cannot stay then.
fn function_differs(origin: &[Element], now: &[Element], keyspace: &str) -> bool {
    let functions = |of: &[Element]| -> Vec<Element> {
        of.iter()
            .filter(|e| e.kind == ElementKind::Function && e.keyspace == keyspace)
            .cloned()
            .collect()
    };
    let now = functions(now);
    functions(origin).iter().any(|e| !now.contains(e))
}

/// The views of a table, as `keyspace.view`: a truncation of the table empties them too.
pub fn views_of(table: &Element, of: &[Element]) -> Vec<String> {
    let key = (table.keyspace.clone(), table.name.clone());
    of.iter()
        .filter(|e| e.kind == ElementKind::MaterializedView && owner(e, of) == key)
        .map(Element::path)
        .collect()
}

/// The table that an element belongs to: the server lists indexes and views behind their table.
fn owner(e: &Element, of: &[Element]) -> TableKey {
    let mut table = None;
    for other in of.iter().filter(|o| o.keyspace == e.keyspace) {
        if other.kind == ElementKind::Table {
            table = Some(other.name.clone());
        }
        if other.key() == e.key() {
            break;
        }
    }
    match e.kind {
        ElementKind::Table => (e.keyspace.clone(), e.name.clone()),
        ElementKind::Index | ElementKind::MaterializedView => {
            (e.keyspace.clone(), table.unwrap_or_default())
        }
        _ => (e.keyspace.clone(), String::new()),
    }
}

/// Whether an index disappears with a table that is dropped anyway; views do not.
fn goes_with_its_table(
    e: &Element,
    now: &[Element],
    recorded: &BTreeMap<(&str, ElementKind, &str), &Element>,
    remade: &BTreeSet<TableKey>,
) -> bool {
    if e.kind != ElementKind::Index {
        return false;
    }
    let (keyspace, table) = owner(e, now);
    let key = (keyspace.as_str(), ElementKind::Table, table.as_str());
    !recorded.contains_key(&key) || remade.contains(&(keyspace.clone(), table.clone()))
}

/// A name as the server keeps it, without CQL's quotes.
pub fn bare(name: &str) -> String {
    match name.strip_prefix('"').and_then(|n| n.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => name.to_owned(),
    }
}

/// What is known of the writes to one process of a node: how many each table took since it started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writes {
    /// The process, with its start.
    pub process: String,
    /// Writes by `keyspace.table`, names as the server keeps them.
    pub counts: BTreeMap<String, i64>,
}

/// Tables of Cassandra's own whose writes may still become writes to any other: batches that are replayed,
/// and proposals of conditional statements that are finished by the next one.
const REPLAYED: [&str; 3] = ["system.batches", "system.paxos", "system.batchlog"];

/// What a node reports about its tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// Writes up to now; none where the release does not report them.
    pub writes: Option<Writes>,
    /// Tables, as `keyspace.table`, of which there are files other than those that belong there.
    pub on_disk: BTreeSet<String>,
    /// Whether hints for other nodes lie there.
    pub hints: bool,
}

/// Which of the recorded tables may hold anything that does not belong there, as CQL names them.
///
/// Surely as it was is only a table without a file on any node, and without a write since `before` was read, in the
/// very processes that `before` speaks of. Where batches, proposals or hints may still become writes, no table is.
pub fn dirty(
    origin: &[Element],
    before: &BTreeMap<String, Writes>,
    seen: &BTreeMap<String, Seen>,
) -> Vec<String> {
    let tables = origin.iter().filter(|e| e.kind == ElementKind::Table);
    tables
        .filter(|table| {
            let name = format!("{}.{}", bare(&table.keyspace), bare(&table.name));
            seen.iter()
                .any(|(node, seen)| may_hold(&name, before.get(node), seen))
        })
        .map(Element::path)
        .collect()
}

fn may_hold(table: &str, before: Option<&Writes>, seen: &Seen) -> bool {
    let (Some(before), Some(now)) = (before, &seen.writes) else {
        return true;
    };
    let wrote = |table: &str| {
        now.counts.get(table).copied().unwrap_or(0)
            != before.counts.get(table).copied().unwrap_or(0)
    };
    before.process != now.process
        || seen.hints
        || seen.on_disk.contains(table)
        || wrote(table)
        || REPLAYED.iter().any(|table| wrote(table))
}

#[cfg(test)]
mod tests;
