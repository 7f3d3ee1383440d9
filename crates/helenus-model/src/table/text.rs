//! CREATE TABLE and CREATE TYPE, read into a [`Table`].
//! Refuses what it cannot place, with line and column.

use super::{ColumnKind, Table, TableColumn};
use crate::cql::CqlType;
use crate::cql::tokens::{Token, TokenKind, line_and_column, tokens};
use std::collections::BTreeMap;

/// Why statements describe no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A statement that is not understood at one place.
    #[error("line {line}, column {column} of the definition: {why}")]
    Text {
        /// Which of the statements, from 0.
        statement: usize,
        /// From 1, within the statement.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong there.
        why: String,
    },
    /// There is no CREATE TABLE.
    #[error("there is no CREATE TABLE")]
    None,
}

/// How deep types may be nested.
const DEPTH: usize = 32;

/// One statement's words, and how far they are read.
struct Reader<'a> {
    number: usize,
    statement: &'a str,
    tokens: Vec<Token>,
    at: usize,
}

/// A user type as it was declared: fields with their types still unread.
type Declared<'a> = BTreeMap<String, Reader<'a>>;

impl Table {
    /// The table of the first CREATE TABLE, its user types from the CREATE TYPE statements among the others.
    ///
    /// `keyspace` is that of names without one.
    ///
    /// # Errors
    /// A statement that is not understood, with its line and column; no CREATE TABLE.
    pub fn read<'a>(
        keyspace: &str,
        statements: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, TableError> {
        let mut types = Declared::new();
        let mut table = None;
        for (number, statement) in statements.into_iter().enumerate() {
            let mut reader = Reader::new(number, statement);
            if !reader.take("create") {
                continue;
            }
            if reader.take("type") {
                let (_, name) = reader.created(keyspace)?;
                types.insert(name, reader);
            } else if (reader.take("table") || reader.take("columnfamily")) && table.is_none() {
                table = Some(reader);
            }
        }
        let mut reader = table.ok_or(TableError::None)?;
        reader.table(keyspace, &types)
    }
}

impl<'a> Reader<'a> {
    fn new(number: usize, statement: &'a str) -> Self {
        Self {
            number,
            statement,
            tokens: tokens(statement),
            at: 0,
        }
    }

    fn wrong(&self, why: impl Into<String>) -> TableError {
        let end = self.statement.trim_end().len();
        let at = self.tokens.get(self.at).map_or(end, |t| t.at.start);
        let (line, column) = line_and_column(self.statement, at);
        let why = why.into();
        TableError::Text {
            statement: self.number,
            line,
            column,
            why,
        }
    }

    fn peek(&self, word: &str) -> bool {
        self.tokens.get(self.at).is_some_and(|t| t.is(word))
    }

    fn take(&mut self, word: &str) -> bool {
        let there = self.peek(word);
        self.at += usize::from(there);
        there
    }

    fn want(&mut self, word: &str) -> Result<(), TableError> {
        if self.take(word) {
            return Ok(());
        }
        let found = match self.tokens.get(self.at) {
            Some(token) => &self.statement[token.at.clone()],
            None => "the end",
        };
        Err(self.wrong(format!("expected {word:?}, found {found:?}")))
    }

    fn name(&mut self, of: &str) -> Result<String, TableError> {
        let token = self.tokens.get(self.at).filter(|t| t.is_name());
        let Some(name) = token.map(|t| t.text.clone()) else {
            return Err(self.wrong(format!("expected the name of {of}")));
        };
        self.at += 1;
        Ok(name)
    }

    /// Keyspace and name of what is created.
    fn created(&mut self, keyspace: &str) -> Result<(String, String), TableError> {
        if self.take("if") {
            self.want("not")?;
            self.want("exists")?;
        }
        let name = self.name("what is created")?;
        if self.take(".") {
            return Ok((name, self.name("what is created")?));
        }
        Ok((keyspace.to_owned(), name))
    }

    fn table(&mut self, keyspace: &str, types: &Declared<'_>) -> Result<Table, TableError> {
        let (keyspace, name) = self.created(keyspace)?;
        self.want("(")?;
        let mut columns: Vec<TableColumn> = Vec::new();
        let mut key: Option<(Vec<String>, Vec<String>)> = None;
        loop {
            if self.peek("primary") {
                let again = self.wrong("there are two primary keys");
                self.at += 1;
                if key.replace(self.primary_key()?).is_some() {
                    return Err(again);
                }
            } else if !self.peek(")") {
                let before = self.at;
                let (column, is_key) = self.column(&keyspace, types)?;
                if columns.iter().any(|c| c.name == column.name) {
                    self.at = before;
                    return Err(self.wrong(format!("column {:?} is listed twice", column.name)));
                }
                if is_key
                    && key
                        .replace((vec![column.name.clone()], Vec::new()))
                        .is_some()
                {
                    self.at = before;
                    return Err(self.wrong("there are two primary keys"));
                }
                columns.push(column);
            }
            if !self.take(",") {
                break;
            }
        }
        self.want(")")?;
        let Some((partition, clustering)) = key else {
            return Err(self.wrong("there is no PRIMARY KEY"));
        };
        let descending = self.descending()?;
        for name in partition.iter().chain(&clustering).chain(&descending) {
            if !columns.iter().any(|c| c.name == *name) {
                return Err(self.wrong(format!("the key names {name:?}, which is not a column")));
            }
        }
        for column in &mut columns {
            let is_descending = descending.contains(&column.name);
            if partition.contains(&column.name) {
                column.kind = ColumnKind::Partition;
            } else if clustering.contains(&column.name) {
                column.kind = match is_descending {
                    true => ColumnKind::ClusteringDescending,
                    false => ColumnKind::Clustering,
                };
            }
        }
        let place = |column: &TableColumn| {
            let in_key = |names: &[String]| names.iter().position(|n| *n == column.name);
            match column.kind {
                ColumnKind::Partition => (0, in_key(&partition)),
                ColumnKind::Clustering | ColumnKind::ClusteringDescending => {
                    (1, in_key(&clustering))
                }
                ColumnKind::Static => (2, None),
                ColumnKind::Regular => (3, None),
            }
        };
        columns.sort_by_key(place);
        Ok(Table {
            keyspace,
            name,
            columns,
        })
    }

    /// A column, and whether it is the primary key.
    fn column(
        &mut self,
        keyspace: &str,
        types: &Declared<'_>,
    ) -> Result<(TableColumn, bool), TableError> {
        let name = self.name("a column")?;
        let cql_type = self.cql_type(keyspace, types, DEPTH)?;
        let (mut kind, mut key, mut depth) = (ColumnKind::Regular, false, 0_usize);
        // What else may stand behind a type (masks, checks) is the server's.
        while let Some(token) = self.tokens.get(self.at) {
            match token.text.as_str() {
                _ if token.kind == TokenKind::Text || token.kind == TokenKind::Quoted => {}
                "static" if depth == 0 => kind = ColumnKind::Static,
                "primary" if depth == 0 => key = true,
                "(" => depth += 1,
                ")" if depth > 0 => depth -= 1,
                ")" | "," if depth == 0 => break,
                _ => {}
            }
            self.at += 1;
        }
        let column = TableColumn {
            name,
            cql_type,
            kind,
        };
        Ok((column, key))
    }

    /// `KEY (a, b)` or `KEY ((a, b), c)`: partition key and clustering columns.
    fn primary_key(&mut self) -> Result<(Vec<String>, Vec<String>), TableError> {
        self.want("key")?;
        self.want("(")?;
        let mut partition = Vec::new();
        if self.take("(") {
            loop {
                partition.push(self.name("a key column")?);
                if !self.take(",") {
                    break;
                }
            }
            self.want(")")?;
        } else {
            partition.push(self.name("a key column")?);
        }
        let mut clustering = Vec::new();
        while self.take(",") {
            clustering.push(self.name("a key column")?);
        }
        self.want(")")?;
        Ok((partition, clustering))
    }

    /// The columns that `CLUSTERING ORDER BY` turns round; other options are passed over.
    fn descending(&mut self) -> Result<Vec<String>, TableError> {
        let mut found = Vec::new();
        while self.at < self.tokens.len() {
            if !(self.take("clustering") && self.take("order") && self.take("by")) {
                self.at += 1;
                continue;
            }
            self.want("(")?;
            loop {
                let name = self.name("a clustering column")?;
                if self.take("desc") {
                    found.push(name);
                } else {
                    self.take("asc");
                }
                if !self.take(",") {
                    break;
                }
            }
            self.want(")")?;
        }
        Ok(found)
    }

    fn cql_type(
        &mut self,
        keyspace: &str,
        types: &Declared<'_>,
        depth: usize,
    ) -> Result<CqlType, TableError> {
        if depth == 0 {
            return Err(self.wrong("types are nested too deeply"));
        }
        let start = self.at;
        let Some(token) = self.tokens.get(start) else {
            return Err(self.wrong("expected a type"));
        };
        if token.kind == TokenKind::Text {
            self.at += 1;
            return Ok(CqlType::Custom(self.tokens[start].text.clone()));
        }
        let plain = token.kind == TokenKind::Word;
        let name = self.name("a type")?;
        if plain {
            if let Some(simple) = simple(&name) {
                return Ok(simple);
            }
            if self.peek("<") {
                return self.generic(&name, keyspace, types, depth);
            }
        }
        let name = if self.take(".") {
            self.name("a type")?
        } else {
            name
        };
        let Some(declared) = types.get(&name) else {
            self.at = start;
            let known = SIMPLE.iter().map(|(name, _)| *name);
            let known = known.chain(GENERIC).chain(types.keys().map(String::as_str));
            let near = crate::nearest::nearest(&name, known);
            let near = near
                .map(|near| format!("; the nearest is {near}"))
                .unwrap_or_default();
            return Err(self.wrong(format!("{name:?} is not a type{near}")));
        };
        let fields = declared.again().fields(keyspace, types, depth - 1)?;
        Ok(CqlType::Udt {
            keyspace: keyspace.to_owned(),
            name,
            fields,
        })
    }

    /// `list<…>` and its like.
    fn generic(
        &mut self,
        name: &str,
        keyspace: &str,
        types: &Declared<'_>,
        depth: usize,
    ) -> Result<CqlType, TableError> {
        self.want("<")?;
        let first = self.cql_type(keyspace, types, depth - 1)?;
        let of = match name {
            "frozen" => first,
            "list" => CqlType::List(Box::new(first)),
            "set" => CqlType::Set(Box::new(first)),
            "map" => {
                self.want(",")?;
                let value = self.cql_type(keyspace, types, depth - 1)?;
                CqlType::Map(Box::new(first), Box::new(value))
            }
            "tuple" => {
                let mut all = vec![first];
                while self.take(",") {
                    all.push(self.cql_type(keyspace, types, depth - 1)?);
                }
                CqlType::Tuple(all)
            }
            "vector" => {
                self.want(",")?;
                let number = self.tokens.get(self.at).map(|t| t.text.as_str());
                let number = number
                    .and_then(|n| n.parse().ok())
                    .filter(|n| (1..=8192).contains(n));
                let Some(length) = number else {
                    return Err(self.wrong("expected the length of a vector, 1 to 8192"));
                };
                self.at += 1;
                CqlType::Vector(Box::new(first), length)
            }
            _ => {
                let near = crate::nearest::nearest(name, GENERIC);
                let near = near
                    .map(|near| format!("; the nearest is {near}"))
                    .unwrap_or_default();
                return Err(self.wrong(format!("{name:?} holds no types{near}")));
            }
        };
        self.want(">")?;
        Ok(of)
    }

    /// The same words, to be read again from the same place.
    fn again(&self) -> Self {
        Self {
            number: self.number,
            statement: self.statement,
            tokens: self.tokens.clone(),
            at: self.at,
        }
    }

    fn fields(
        &mut self,
        keyspace: &str,
        types: &Declared<'_>,
        depth: usize,
    ) -> Result<Vec<(String, CqlType)>, TableError> {
        if depth == 0 {
            return Err(self.wrong("types are nested too deeply"));
        }
        self.want("(")?;
        let mut fields = Vec::new();
        loop {
            let name = self.name("a field")?;
            fields.push((name, self.cql_type(keyspace, types, depth)?));
            if !self.take(",") {
                break;
            }
        }
        self.want(")")?;
        Ok(fields)
    }
}

/// Types that hold no others, by name.
const SIMPLE: [(&str, CqlType); 21] = [
    ("ascii", CqlType::Ascii),
    ("bigint", CqlType::Bigint),
    ("blob", CqlType::Blob),
    ("boolean", CqlType::Boolean),
    ("counter", CqlType::Counter),
    ("date", CqlType::Date),
    ("decimal", CqlType::Decimal),
    ("double", CqlType::Double),
    ("duration", CqlType::Duration),
    ("float", CqlType::Float),
    ("inet", CqlType::Inet),
    ("int", CqlType::Int),
    ("smallint", CqlType::Smallint),
    ("text", CqlType::Text),
    ("time", CqlType::Time),
    ("timestamp", CqlType::Timestamp),
    ("timeuuid", CqlType::Timeuuid),
    ("tinyint", CqlType::Tinyint),
    ("uuid", CqlType::Uuid),
    ("varchar", CqlType::Text),
    ("varint", CqlType::Varint),
];

const GENERIC: [&str; 6] = ["frozen", "list", "map", "set", "tuple", "vector"];

fn simple(name: &str) -> Option<CqlType> {
    let found = SIMPLE.iter().find(|(simple, _)| *simple == name);
    found.map(|(_, cql_type)| cql_type.clone())
}

/// A type as `system_schema` writes it, user types among those that are handed over by name.
///
/// # Errors
/// A text that is not a type.
pub fn read_type(
    text: &str,
    keyspace: &str,
    user_types: &BTreeMap<String, Vec<(String, String)>>,
) -> Result<CqlType, TableError> {
    let statements: Vec<(String, String)> = user_types
        .iter()
        .map(|(name, fields)| {
            let fields: Vec<String> = fields
                .iter()
                .map(|(field, cql_type)| format!("{} {cql_type}", crate::cql::identifier(field)))
                .collect();
            (name.clone(), format!("({})", fields.join(", ")))
        })
        .collect();
    let types: Declared<'_> = statements
        .iter()
        .map(|(name, text)| (name.clone(), Reader::new(0, text)))
        .collect();
    Reader::new(0, text).cql_type(keyspace, &types, DEPTH)
}
