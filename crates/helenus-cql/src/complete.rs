//! What may follow in a statement that is being typed: keywords, commands, keyspaces, tables, columns.
//! Refuses CQL's grammar: the words before the cursor decide, and too many candidates are better than none.

use crate::commands::first_words;
use helenus_model::cql::identifier;
use helenus_model::cql::tokens::{Token, TokenKind, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// Words with which CQL's statements start.
const STATEMENTS: [&str; 16] = [
    "ALTER", "APPLY", "BATCH", "BEGIN", "CREATE", "DELETE", "DESCRIBE", "DROP", "GRANT", "INSERT",
    "LIST", "REVOKE", "SELECT", "TRUNCATE", "UPDATE", "USE",
];

/// Words inside of statements.
const WORDS: [&str; 78] = [
    "ADD",
    "AGGREGATE",
    "ALLOW",
    "ALTER",
    "AND",
    "APPLY",
    "AS",
    "ASC",
    "ascii",
    "AUTHORIZE",
    "BATCH",
    "BEGIN",
    "bigint",
    "blob",
    "boolean",
    "BY",
    "CLUSTERING",
    "CONTAINS",
    "counter",
    "CUSTOM",
    "date",
    "decimal",
    "DELETE",
    "DESC",
    "DISTINCT",
    "double",
    "duration",
    "EXISTS",
    "FILTERING",
    "float",
    "FROM",
    "frozen",
    "FUNCTION",
    "GROUP",
    "IF",
    "IN",
    "INDEX",
    "inet",
    "INSERT",
    "int",
    "INTO",
    "JSON",
    "KEY",
    "KEYSPACE",
    "LIMIT",
    "list",
    "map",
    "MATERIALIZED",
    "NOT",
    "NULL",
    "ON",
    "ORDER",
    "PARTITION",
    "PER",
    "PRIMARY",
    "RENAME",
    "ROLE",
    "SET",
    "smallint",
    "STATIC",
    "TABLE",
    "text",
    "TIMESTAMP",
    "timeuuid",
    "tinyint",
    "TOKEN",
    "TTL",
    "TYPE",
    "UNLOGGED",
    "UPDATE",
    "USING",
    "uuid",
    "VALUES",
    "varint",
    "VIEW",
    "WHERE",
    "WITH",
    "WRITETIME",
];

/// What the cluster has, by bare names: columns of tables of keyspaces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    keyspaces: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Names {
    /// One more keyspace.
    pub fn keyspace(&mut self, keyspace: &str) {
        self.keyspaces.entry(keyspace.to_owned()).or_default();
    }

    /// One more column of a table.
    pub fn column(&mut self, keyspace: &str, table: &str, column: &str) {
        let tables = self.keyspaces.entry(keyspace.to_owned()).or_default();
        let columns = tables.entry(table.to_owned()).or_default();
        columns.insert(column.to_owned());
    }

    fn tables(&self, keyspace: &str) -> Vec<String> {
        let tables = self.keyspaces.get(keyspace);
        let names = tables.map(|tables| tables.keys().cloned().collect());
        names.unwrap_or_default()
    }

    /// Tables of the keyspace in use, and keyspaces with their dot.
    fn tables_or_keyspaces(&self, used: Option<&str>) -> Vec<Candidate> {
        let tables = used.map(|used| self.tables(used)).unwrap_or_default();
        let tables = tables.into_iter().map(Candidate::Name);
        let keyspaces = self.keyspaces.keys().cloned().map(Candidate::Keyspace);
        tables.chain(keyspaces).collect()
    }
}

/// A word that may stand at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Candidate {
    /// A keyword, in the case of what is typed.
    Keyword(&'static str),
    /// A name, quoted where it must be.
    Name(String),
    /// A keyspace before a table.
    Keyspace(String),
}

impl Candidate {
    fn begins_with(&self, typed: &str) -> bool {
        match self {
            Self::Keyword(word) => {
                let head = word.get(..typed.len());
                head.is_some_and(|head| head.eq_ignore_ascii_case(typed))
            }
            Self::Name(name) | Self::Keyspace(name) => name.starts_with(typed),
        }
    }

    fn text(&self, lower: bool) -> String {
        match self {
            Self::Keyword(word) if lower => word.to_lowercase(),
            Self::Keyword(word) => (*word).to_owned(),
            Self::Name(name) => identifier(name),
            Self::Keyspace(name) => format!("{}.", identifier(name)),
        }
    }
}

/// Where the word at the cursor starts, and what it may become. `line` is all that is typed, `at` the cursor in it,
/// `used` the keyspace in use.
pub fn complete(line: &str, at: usize, names: &Names, used: Option<&str>) -> (usize, Vec<String>) {
    let Some(typed) = line.get(..at) else {
        return (at, Vec::new());
    };
    let all = tokens(typed);
    let begin = all
        .iter()
        .rposition(|token| token.is(";"))
        .map_or(0, |n| n + 1);
    let mut before = &all[begin..];
    let mut prefix = String::new();
    let mut start = at;
    let mut quoted = false;
    if let Some((last, others)) = before.split_last()
        && last.at.end == at
    {
        match last.kind {
            TokenKind::Word | TokenKind::Quoted => {
                quoted = last.kind == TokenKind::Quoted;
                prefix.clone_from(&last.text);
                start = last.at.start;
                before = others;
            }
            TokenKind::Text | TokenKind::Number | TokenKind::Marker => return (at, Vec::new()),
            TokenKind::Sign => {}
        }
    }
    // What is in use after the cursor counts as well: SELECT | FROM t.
    let from = before.first().map_or(start, |token| token.at.start);
    let whole = tokens(&line[from..]);
    let lower = line[start..at].chars().any(|c| c.is_ascii_lowercase());
    let mut found: Vec<String> = candidates(before, &whole, names, used)
        .iter()
        .filter(|c| !quoted || !matches!(c, Candidate::Keyword(_)))
        .filter(|c| c.begins_with(&prefix))
        .map(|c| c.text(lower))
        .collect();
    let mut seen = BTreeSet::new();
    found.retain(|text| seen.insert(text.clone()));
    if let [only] = found.as_mut_slice()
        && !only.ends_with('.')
    {
        only.push(' ');
    }
    (start, found)
}

fn candidates(
    before: &[Token],
    whole: &[Token],
    names: &Names,
    used: Option<&str>,
) -> Vec<Candidate> {
    let keywords = |words: &[&'static str]| words.iter().copied().map(Candidate::Keyword).collect();
    let keyspaces = || names.keyspaces.keys().cloned().map(Candidate::Name);
    let Some(last) = before.last() else {
        let words = STATEMENTS.into_iter().chain(first_words());
        return words.map(Candidate::Keyword).collect();
    };
    if let Some(words) = of_command(before) {
        return keywords(words);
    }
    let word = if last.is_name() {
        last.text.as_str()
    } else {
        ""
    };
    match (word, before) {
        (_, [.., keyspace, dot]) if dot.is(".") && keyspace.is_name() => {
            let tables = names.tables(&keyspace.text).into_iter();
            tables.map(Candidate::Name).collect()
        }
        ("from" | "into" | "update" | "table" | "truncate" | "on", _) => {
            names.tables_or_keyspaces(used)
        }
        ("use" | "keyspace", _) => keyspaces().collect(),
        ("describe" | "desc", [_]) => {
            let words = keywords(&[
                "CLUSTER",
                "FUNCTIONS",
                "KEYSPACE",
                "KEYSPACES",
                "SCHEMA",
                "TABLE",
                "TABLES",
                "TYPES",
            ]);
            words
                .into_iter()
                .chain(names.tables_or_keyspaces(used))
                .collect()
        }
        _ => {
            let columns = columns(whole, names, used).into_iter().map(Candidate::Name);
            columns.chain(keywords(&WORDS)).collect()
        }
    }
}

/// Arguments of the shell's own commands.
fn of_command(before: &[Token]) -> Option<&'static [&'static str]> {
    const LEVELS: [&str; 11] = [
        "ALL",
        "ANY",
        "EACH_QUORUM",
        "LOCAL_ONE",
        "LOCAL_QUORUM",
        "LOCAL_SERIAL",
        "ONE",
        "QUORUM",
        "SERIAL",
        "THREE",
        "TWO",
    ];
    let words: Vec<&str> = before.iter().map(|token| token.text.as_str()).collect();
    Some(match words.as_slice() {
        ["consistency"] => &LEVELS,
        ["serial"] => &["CONSISTENCY"],
        ["serial", "consistency"] => &["SERIAL", "LOCAL_SERIAL"],
        ["tracing" | "expand" | "paging"] => &["ON", "OFF"],
        ["show"] => &["VERSION", "HOST", "SESSION"],
        ["help"] => &[
            "CLEAR",
            "CONSISTENCY",
            "DESCRIBE",
            "EXIT",
            "EXPAND",
            "PAGING",
            "SERIAL",
            "SHOW",
            "SOURCE",
            "TRACING",
            "USE",
        ],
        [
            "consistency" | "tracing" | "expand" | "paging" | "show" | "help" | "exit" | "quit",
            ..,
        ] => &[],
        _ => return None,
    })
}

/// Columns of the table that a statement names.
fn columns(statement: &[Token], names: &Names, used: Option<&str>) -> Vec<String> {
    let at = statement.iter().position(|token| {
        ["from", "into", "update", "table"]
            .iter()
            .any(|word| token.is(word))
    });
    let named = at.map_or(&[][..], |at| &statement[at + 1..]);
    let (keyspace, table) = match named {
        [keyspace, dot, table, ..] if dot.is(".") => (Some(keyspace.text.as_str()), table),
        [table, ..] => (used, table),
        [] => return Vec::new(),
    };
    let tables = keyspace.and_then(|keyspace| names.keyspaces.get(keyspace));
    let columns = tables.and_then(|tables| tables.get(&table.text));
    columns
        .map(|columns| columns.iter().cloned().collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Consistency;

    fn names() -> Names {
        let mut names = Names::default();
        names.keyspace("empty");
        for (table, column) in [("users", "id"), ("users", "name"), ("Orders", "id")] {
            names.column("shop", table, column);
        }
        names.column("system", "local", "key");
        names
    }

    /// What completes `line` at its `|`.
    fn at(line: &str, used: Option<&str>) -> String {
        let cursor = line.find('|').expect("a cursor");
        let line = line.replace('|', "");
        let (start, found) = complete(&line, cursor, &names(), used);
        format!("{}: {}", &line[start..cursor], found.join(","))
    }

    #[test]
    fn the_first_word_is_a_statement_or_a_command() {
        assert_eq!(at("SEL|", None), "SEL: SELECT ");
        assert_eq!(at("se|", None), "se: select,serial");
        assert_eq!(at("USE shop; cons|", None), "cons: consistency ");
        assert_eq!(at("desc|", None), "desc: describe ");
    }

    #[test]
    fn names_stand_where_they_belong() {
        assert_eq!(at("SELECT * FROM sh|", None), "sh: shop.");
        assert_eq!(
            at("SELECT * FROM |", Some("shop")),
            ": \"Orders\",users,empty.,shop.,system."
        );
        assert_eq!(at("select * from shop.|", None), ": \"Orders\",users");
        assert_eq!(at("select * from shop.us|", None), "us: users ");
        assert_eq!(at("select * from shop.\"O|", None), "\"O: \"Orders\" ");
        assert_eq!(at("USE e|", None), "e: empty ");
        assert_eq!(at("DROP KEYSPACE sh|", None), "sh: shop ");
        assert_eq!(at("DESCRIBE TABLE us|", Some("shop")), "us: users ");
        assert_eq!(at("DESCRIBE KEYS|", None), "KEYS: KEYSPACE,KEYSPACES");
    }

    #[test]
    fn columns_come_from_the_statement_s_table_before_and_after_the_cursor() {
        assert_eq!(at("SELECT na| FROM shop.users", None), "na: name ");
        assert_eq!(
            at("SELECT * FROM users WHERE i|", Some("shop")),
            "i: id,if,in,index,inet,insert,int,into"
        );
        assert_eq!(at("UPDATE shop.users SET na|", None), "na: name ");
        assert_eq!(
            at("INSERT INTO shop.users (i|", None),
            "i: id,if,in,index,inet,insert,int,into"
        );
    }

    #[test]
    fn commands_complete_their_arguments_and_texts_nothing() {
        assert_eq!(at("CONSISTENCY LOCAL_Q|", None), "LOCAL_Q: LOCAL_QUORUM ");
        assert_eq!(at("serial consistency l|", None), "l: local_serial ");
        assert_eq!(at("TRACING |", None), ": ON,OFF");
        assert_eq!(at("SELECT 'fro|", None), ": ");
        assert_eq!(at("ä|", None), "ä: ");
    }

    #[test]
    fn every_level_completes() {
        let (_, found) = complete("CONSISTENCY ", 12, &Names::default(), None);
        let mut known: Vec<&str> = Consistency::ALL_LEVELS.map(Consistency::name).to_vec();
        known.retain(|level| *level != "NODE_LOCAL");
        known.sort_unstable();
        assert_eq!(found, known);
    }
}
