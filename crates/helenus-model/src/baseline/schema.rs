//! Names of table folders, and statements of a schema without the ids of the cluster that they come from.
//! Refuses to read CQL: what a node wrote is changed in one known place only.

/// A path below the data folder, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableFolder<'a> {
    /// Keyspace.
    pub keyspace: &'a str,
    /// Table or view.
    pub table: &'a str,
    /// Id: 32 hexadecimal digits.
    pub id: &'a str,
    /// What is below the table's folder; a secondary index has a folder of its own there.
    pub rest: &'a str,
}

/// Takes `keyspace/table-id/rest` apart; none for anything else.
pub fn table_folder(path: &str) -> Option<TableFolder<'_>> {
    let (keyspace, below) = path.split_once('/')?;
    let (folder, rest) = below.split_once('/')?;
    let (table, id) = folder.rsplit_once('-')?;
    let is_id = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
    (is_id && !keyspace.is_empty() && !table.is_empty() && !rest.is_empty()).then_some(
        TableFolder {
            keyspace,
            table,
            id,
            rest,
        },
    )
}

impl TableFolder<'_> {
    /// The same place in a cluster where the table has another id.
    pub fn with_id(&self, id: &str) -> String {
        format!("{}/{}-{id}/{}", self.keyspace, self.table, self.rest)
    }
}

/// A statement of `DESCRIBE … WITH INTERNALS` without the table's id, which each cluster gives anew. The rest of
/// the internals stays: a column that was dropped is still in SSTables and must be known as dropped.
pub fn without_id(statement: &str) -> String {
    const MARK: &str = "WITH ID = ";
    const UUID: usize = 36;
    let Some(at) = statement.find(MARK) else {
        return statement.to_owned();
    };
    let behind = &statement[at + MARK.len()..];
    let Some(id) = behind.get(..UUID) else {
        return statement.to_owned();
    };
    if !id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') {
        return statement.to_owned();
    }
    let rest = behind[UUID..].trim_start();
    match rest.strip_prefix("AND ") {
        Some(more) => format!("{}WITH {more}", &statement[..at]),
        None => format!("{}{rest}", statement[..at].trim_end()),
    }
}
