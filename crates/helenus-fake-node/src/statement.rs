//! The little CQL that a serving stand-in reads: keyspaces and tables of simple types, whole-row INSERT and SELECT.
//! Refuses the rest of the language with an error that says so.

use helenus_model::cql::CqlType;
use helenus_model::cql::tokens::{TokenKind, tokens};
use std::iter::Peekable;
use std::vec::IntoIter;

/// The types that a column may have.
const TYPES: [CqlType; 19] = [
    CqlType::Ascii,
    CqlType::Bigint,
    CqlType::Blob,
    CqlType::Boolean,
    CqlType::Date,
    CqlType::Decimal,
    CqlType::Double,
    CqlType::Duration,
    CqlType::Float,
    CqlType::Inet,
    CqlType::Int,
    CqlType::Smallint,
    CqlType::Text,
    CqlType::Time,
    CqlType::Timestamp,
    CqlType::Timeuuid,
    CqlType::Tinyint,
    CqlType::Uuid,
    CqlType::Varint,
];

/// A table's name, and its keyspace where the statement names it.
pub(crate) type TableName = (Option<String>, String);

/// A table as it is created.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) table: TableName,
    pub(crate) columns: Vec<(String, CqlType)>,
    pub(crate) partition: Vec<String>,
    pub(crate) clustering: Vec<String>,
}

/// A statement that a stand-in understands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Statement {
    /// USE.
    Use(String),
    /// CREATE KEYSPACE with its replication.
    CreateKeyspace {
        name: String,
        replication: Vec<(String, String)>,
        if_not_exists: bool,
    },
    /// DROP KEYSPACE.
    DropKeyspace(String),
    /// CREATE TABLE; its options have no effect.
    CreateTable { shape: Shape, if_not_exists: bool },
    /// INSERT of these columns, a marker for each.
    Insert {
        table: TableName,
        columns: Vec<String>,
    },
    /// SELECT of these columns (none means all) where these columns equal a marker each; `writetime(c)` is a column of
    /// that name.
    Select {
        table: TableName,
        columns: Vec<String>,
        by: Vec<String>,
    },
    /// SELECT from a keyspace of the system's; conditions have no effect.
    System { table: String, columns: Vec<String> },
}

/// A word of a statement.
#[derive(Debug, Clone, PartialEq)]
enum Word {
    /// Not quoted, a name in lower case; a number too.
    Plain(String),
    /// A name in double quotes, as it is.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    /// Any other character.
    Sign(char),
}

/// Reads one statement; the error says in words what is not understood.
pub(crate) fn parse(cql: &str) -> Result<Statement, String> {
    let mut words = Words {
        rest: split(cql).into_iter().peekable(),
    };
    let first = words.name()?;
    match first.as_str() {
        "use" => words.name().map(Statement::Use),
        "create" => match words.name()?.as_str() {
            "keyspace" => words.keyspace(),
            "table" => words.table(),
            other => Err(format!("the fake node creates no {other}")),
        },
        "drop" => {
            words.word("keyspace")?;
            words.name().map(Statement::DropKeyspace)
        }
        "insert" => words.insert(),
        "select" => words.select(),
        other => Err(format!("the fake node does not understand {other}")),
    }
}

fn split(cql: &str) -> Vec<Word> {
    let all = tokens(cql).into_iter().filter(|token| !token.is(";"));
    let words = all.flat_map(|token| match token.kind {
        TokenKind::Word | TokenKind::Number => vec![Word::Plain(token.text)],
        TokenKind::Quoted => vec![Word::Quoted(token.text)],
        TokenKind::Text => vec![Word::Text(token.text)],
        TokenKind::Marker => vec![Word::Sign('?')],
        TokenKind::Sign => token.text.chars().map(Word::Sign).collect(),
    });
    words.collect()
}

struct Words {
    rest: Peekable<IntoIter<Word>>,
}

impl Words {
    fn name(&mut self) -> Result<String, String> {
        match self.rest.next() {
            Some(Word::Plain(name) | Word::Quoted(name)) => Ok(name),
            other => Err(format!("a name was expected, not {other:?}")),
        }
    }

    fn text(&mut self) -> Result<String, String> {
        match self.rest.next() {
            Some(Word::Plain(text) | Word::Text(text)) => Ok(text),
            other => Err(format!("a value was expected, not {other:?}")),
        }
    }

    fn takes(&mut self, sign: char) -> bool {
        self.rest.next_if_eq(&Word::Sign(sign)).is_some()
    }

    fn takes_word(&mut self, word: &str) -> bool {
        self.rest.next_if_eq(&Word::Plain(word.into())).is_some()
    }

    fn sign(&mut self, sign: char) -> Result<(), String> {
        if self.takes(sign) {
            return Ok(());
        }
        Err(format!("{sign} was expected, not {:?}", self.rest.peek()))
    }

    fn word(&mut self, word: &str) -> Result<(), String> {
        if self.takes_word(word) {
            return Ok(());
        }
        Err(format!("{word} was expected, not {:?}", self.rest.peek()))
    }

    fn end(&mut self) -> Result<(), String> {
        match self.rest.next() {
            None => Ok(()),
            Some(more) => Err(format!("the fake node does not understand {more:?}")),
        }
    }

    fn if_not_exists(&mut self) -> Result<bool, String> {
        if !self.takes_word("if") {
            return Ok(false);
        }
        self.word("not")?;
        self.word("exists")?;
        Ok(true)
    }

    fn table_name(&mut self) -> Result<TableName, String> {
        let first = self.name()?;
        if self.takes('.') {
            return Ok((Some(first), self.name()?));
        }
        Ok((None, first))
    }

    /// `a, b, c` up to the sign.
    fn names_until(&mut self, end: char) -> Result<Vec<String>, String> {
        let mut names = vec![self.name()?];
        while !self.takes(end) {
            self.sign(',')?;
            names.push(self.name()?);
        }
        Ok(names)
    }

    fn keyspace(&mut self) -> Result<Statement, String> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        self.word("with")?;
        self.word("replication")?;
        self.sign('=')?;
        self.sign('{')?;
        let mut replication = Vec::new();
        while !self.takes('}') {
            let key = self.text()?;
            self.sign(':')?;
            replication.push((key, self.text()?));
            self.takes(',');
        }
        Ok(Statement::CreateKeyspace {
            name,
            replication,
            if_not_exists,
        })
    }

    fn table(&mut self) -> Result<Statement, String> {
        let if_not_exists = self.if_not_exists()?;
        let mut shape = Shape {
            table: self.table_name()?,
            columns: Vec::new(),
            partition: Vec::new(),
            clustering: Vec::new(),
        };
        self.sign('(')?;
        while !self.takes(')') {
            let name = self.name()?;
            if name == "primary" && self.takes_word("key") {
                self.sign('(')?;
                self.primary_key(&mut shape)?;
            } else {
                shape.columns.push((name.clone(), self.column_type()?));
                if self.takes_word("primary") {
                    self.word("key")?;
                    shape.partition = vec![name];
                }
            }
            self.takes(',');
        }
        // What follows are options of storage.
        if shape.partition.is_empty() {
            return Err("a table needs a PRIMARY KEY".into());
        }
        Ok(Statement::CreateTable {
            shape,
            if_not_exists,
        })
    }

    fn primary_key(&mut self, shape: &mut Shape) -> Result<(), String> {
        shape.partition = if self.takes('(') {
            self.names_until(')')?
        } else {
            vec![self.name()?]
        };
        while !self.takes(')') {
            self.sign(',')?;
            shape.clustering.push(self.name()?);
        }
        Ok(())
    }

    fn column_type(&mut self) -> Result<CqlType, String> {
        let name = self.name()?;
        let name = if name == "varchar" { "text" } else { &name };
        let mut types = TYPES.into_iter();
        types
            .find(|ty| ty.to_string() == name)
            .ok_or_else(|| format!("the fake node has no column of type {name}"))
    }

    fn insert(&mut self) -> Result<Statement, String> {
        self.word("into")?;
        let table = self.table_name()?;
        self.sign('(')?;
        let columns = self.names_until(')')?;
        self.word("values")?;
        self.sign('(')?;
        for (place, _) in columns.iter().enumerate() {
            if place > 0 {
                self.sign(',')?;
            }
            self.sign('?')?;
        }
        self.sign(')')?;
        self.end()?;
        Ok(Statement::Insert { table, columns })
    }

    /// A column, or the write time of one.
    fn selected(&mut self) -> Result<String, String> {
        let name = self.name()?;
        if name != "writetime" || !self.takes('(') {
            return Ok(name);
        }
        let of = self.name()?;
        self.sign(')')?;
        Ok(format!("writetime({of})"))
    }

    fn select(&mut self) -> Result<Statement, String> {
        let mut columns = Vec::new();
        if !self.takes('*') {
            columns.push(self.selected()?);
            while self.takes(',') {
                columns.push(self.selected()?);
            }
        }
        self.word("from")?;
        let (keyspace, name) = self.table_name()?;
        if keyspace.as_ref().is_some_and(|k| k.starts_with("system")) {
            let table = format!("{}.{name}", keyspace.unwrap_or_default());
            return Ok(Statement::System { table, columns });
        }
        self.word("where")?;
        let mut by = Vec::new();
        loop {
            by.push(self.name()?);
            self.sign('=')?;
            self.sign('?')?;
            if !self.takes_word("and") {
                break;
            }
        }
        self.end()?;
        let table = (keyspace, name);
        Ok(Statement::Select { table, columns, by })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::workload::{Replication, standard1};

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_built_in_workload_is_understood() {
        let schema = standard1::schema(&Replication::Simple(1));
        let Ok(Statement::CreateKeyspace {
            name, replication, ..
        }) = parse(&schema[0])
        else {
            panic!("{:?}", parse(&schema[0]));
        };
        assert_eq!(name, "keyspace1");
        assert_eq!(replication[1], ("replication_factor".into(), "1".into()));
        let Ok(Statement::CreateTable { shape, .. }) = parse(&schema[1]) else {
            panic!("{:?}", parse(&schema[1]));
        };
        assert_eq!(shape.columns.len(), 6);
        assert_eq!(shape.columns[1], ("C0".into(), CqlType::Blob));
        assert_eq!(shape.partition, ["key"]);
        let table = (Some("keyspace1".into()), "standard1".into());
        let all = names(&["C0", "C1", "C2", "C3", "C4"]);
        assert_eq!(
            parse(standard1::STATEMENTS[1].1),
            Ok(Statement::Select {
                table: table.clone(),
                columns: all.clone(),
                by: names(&["key"]),
            })
        );
        assert_eq!(
            parse(standard1::STATEMENTS[0].1),
            Ok(Statement::Insert {
                table,
                columns: [names(&["key"]), all].concat(),
            })
        );
    }

    #[test]
    fn composite_keys_and_system_tables_are_understood() {
        let cql = "create table T (a int, b VARCHAR, c uuid, primary key ((a, b), c)) WITH x = 1";
        let Ok(Statement::CreateTable { shape, .. }) = parse(cql) else {
            panic!("{:?}", parse(cql));
        };
        assert_eq!(shape.table, (None, "t".into()));
        assert_eq!(
            (shape.partition, shape.clustering),
            (names(&["a", "b"]), names(&["c"]))
        );
        assert_eq!(
            parse("SELECT host_id, tokens FROM system.local WHERE key='local'"),
            Ok(Statement::System {
                table: "system.local".into(),
                columns: names(&["host_id", "tokens"]),
            })
        );
    }

    #[test]
    fn the_time_of_a_write_is_a_column() {
        let parsed = parse("SELECT id, WRITETIME(\"C0\") FROM ks.t WHERE id = ?");
        assert_eq!(
            parsed,
            Ok(Statement::Select {
                table: (Some("ks".into()), "t".into()),
                columns: names(&["id", "writetime(C0)"]),
                by: names(&["id"]),
            })
        );
        assert!(parse("SELECT ttl(v) FROM ks.t WHERE id = ?").is_err());
    }

    #[test]
    fn the_rest_of_the_language_is_refused() {
        for cql in [
            "",
            "DROP TABLE ks.t",
            "TRUNCATE ks.t",
            "CREATE INDEX ON ks.t (v)",
            "CREATE TABLE ks.t (id int PRIMARY KEY, v map<text, int>)",
            "CREATE TABLE ks.t (id int)",
            "INSERT INTO ks.t (id, v) VALUES (?, 1)",
            "INSERT INTO ks.t (id) VALUES (?) USING TTL 5",
            "SELECT * FROM ks.t",
            "SELECT * FROM ks.t WHERE id > ?",
            "SELECT count(*) FROM ks.t WHERE id = ?",
        ] {
            assert!(parse(cql).is_err(), "{cql}");
        }
    }
}
