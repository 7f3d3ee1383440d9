//! Which column of a table gets what of a record, and a record's values by the columns' types.
//! Refuses tables whose writes cannot be repeated, and names that nothing is known of.

use super::{Expand, Expr, RowInput, Words};
use crate::cql::read::Habits;
use crate::cql::{CqlType, CqlValue, identifier};
use crate::nearest::nearest;
use crate::table::Table;

/// What a person wishes.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Names of a record's fields, in their order.
    pub fields: Vec<String>,
    /// Whether fields that no column takes are passed over.
    pub lenient: bool,
    /// Columns with their expressions.
    pub maps: Vec<(String, String)>,
    /// The expansion.
    pub expand: Option<String>,
    /// When each row is dated, as an expression; none leaves it to the row's number.
    pub timestamp: Option<String>,
    /// Fields that are passed over.
    pub skipped: Vec<String>,
    /// How numbers are written.
    pub habits: Habits,
}

/// A column that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: CqlType,
    /// Whether it is part of the primary key.
    pub key: bool,
    /// Whether it is one of a partition.
    pub is_static: bool,
    /// What it gets.
    pub expr: Expr,
}

/// Which column gets what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// Keyspace and table, as CQL writes them.
    pub table: String,
    /// Columns of the partition key, in its order, by their places among the targets.
    pub partition: Vec<usize>,
    /// The columns, in the table's order.
    pub targets: Vec<Target>,
    /// How many fields a record has.
    pub fields: usize,
    /// What records are expanded to.
    pub expand: Option<Expand>,
    /// When each row is dated; none leaves it to the row's number.
    pub timestamp: Option<Expr>,
    habits: Habits,
}

/// Why there is no such mapping.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// Counters are added to, so that a repeated write counts twice.
    #[error("{0} has counters: a repeated write would count twice")]
    Counters(String),
    /// A name that the table does not have.
    #[error("{table} has no column {name:?}{near}")]
    Column {
        /// The table.
        table: String,
        /// The name.
        name: String,
        /// The nearest, as words.
        near: String,
    },
    /// A field that no column takes.
    #[error("field {name:?} matches no column of {table}{near}")]
    Field {
        /// The field.
        name: String,
        /// The table.
        table: String,
        /// The nearest, as words.
        near: String,
    },
    /// Two fields that one column would take.
    #[error("two fields are named like column {column}: {first:?} and {second:?}")]
    Twice {
        /// The column.
        column: String,
        /// The field that comes first.
        first: String,
        /// The other.
        second: String,
    },
    /// Columns of the key that nothing goes into.
    #[error("no field is mapped to {columns} of the primary key of {table}")]
    Key {
        /// The columns.
        columns: String,
        /// The table.
        table: String,
    },
    /// An expression.
    #[error("{what}: {why}")]
    Expression {
        /// Of which column or step.
        what: String,
        /// What is wrong.
        why: String,
    },
}

impl MappingError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Counters(_) => "write counters with a program that reads them back",
            Self::Column { .. } => "`helenus cqlsh -e 'DESCRIBE TABLE …'` shows its columns",
            Self::Field { .. } => {
                "name the file's fields with --columns if it has no header; --map 'COLUMN=FIELD' maps one, --skip FIELD ignores it"
            }
            Self::Twice { .. } => {
                "--map 'COLUMN=$N' takes the N-th field, and the other one is not read"
            }
            Self::Key { .. } => {
                "--map 'COLUMN=EXPRESSION' gives it a field, a 'constant' or uuid()"
            }
            Self::Expression { .. } => {
                "an expression is a field, $N, a 'constant', now(), uuid(), split(F, 'S', N), concat(F, …) or cast(F, TYPE)"
            }
        }
    }
}

/// Why a record is no row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The column.
    pub column: String,
    /// What is wrong.
    pub why: String,
}

impl Mapping {
    /// Decides what goes where: what `maps` say, then fields and the expansion by name.
    ///
    /// # Errors
    /// An unknown name, an expression that is none, a key column without a value, or a table of counters.
    pub fn new(table: &Table, wishes: &Wishes) -> Result<Self, MappingError> {
        let qualified = table.qualified();
        if table.counts() {
            return Err(MappingError::Counters(qualified));
        }
        let wrong = |what: &str, why: String| MappingError::Expression {
            what: what.to_owned(),
            why,
        };
        let near = |name: &str| {
            let near = nearest(name, table.columns.iter().map(|c| c.name.as_str()));
            near.map_or(String::new(), |near| format!("; did you mean {near}?"))
        };
        let expand = wishes.expand.as_deref();
        let expand = expand.map(|text| Expand::parse(text, &wishes.fields));
        let expand = expand.transpose().map_err(|why| wrong("--expand", why))?;
        let words = Words {
            fields: &wishes.fields,
            element: expand.as_ref().map(|expand| expand.name.as_str()),
        };
        let mut exprs: Vec<Option<Expr>> = vec![None; table.columns.len()];
        let mut used = Vec::new();
        for (column, text) in &wishes.maps {
            let Some(place) = table.place(column) else {
                return Err(MappingError::Column {
                    near: near(column),
                    table: qualified,
                    name: column.clone(),
                });
            };
            let expr = Expr::parse(text, words, &table.columns[place].cql_type);
            let expr = expr.map_err(|why| wrong(&format!("--map {column}"), why))?;
            uses(&expr, &mut used);
            exprs[place] = Some(expr);
        }
        let timestamp = wishes.timestamp.as_deref();
        let timestamp = timestamp.map(|text| Expr::parse(text, words, &CqlType::Bigint));
        let timestamp = timestamp.transpose();
        let timestamp = timestamp.map_err(|why| wrong(TIMESTAMP, why))?;
        if let Some(Expr::Constant(text)) = &timestamp {
            micros(text).map_err(|why| wrong(TIMESTAMP, why))?;
        }
        if let Some(expr) = &timestamp {
            uses(expr, &mut used);
        }
        if let Some(expand) = &expand {
            if let Some(place) = table.place(&expand.name) {
                exprs[place].get_or_insert(Expr::Element);
            }
            let inner = wishes.expand.as_deref().unwrap_or_default();
            let mentioned = |name: &str| inner.contains(name);
            let fields = wishes.fields.iter().enumerate();
            used.extend(fields.filter(|(_, f)| mentioned(f)).map(|(at, _)| at));
        }
        for name in &wishes.skipped {
            match wishes.fields.iter().position(|field| field == name) {
                Some(at) => used.push(at),
                None => return Err(wrong("--skip", format!("there is no field {name:?}"))),
            }
        }
        let mut by_name: Vec<Option<usize>> = vec![None; table.columns.len()];
        for (at, field) in wishes.fields.iter().enumerate() {
            if wishes.skipped.contains(field) {
                continue;
            }
            let place = table
                .place(field)
                .or_else(|| table.place(&field.to_lowercase()));
            match place {
                Some(place) => match (&exprs[place], by_name[place]) {
                    (None, _) => {
                        exprs[place] = Some(Expr::Field(at));
                        by_name[place] = Some(at);
                    }
                    (_, Some(first)) if !used.contains(&at) => {
                        return Err(MappingError::Twice {
                            column: table.columns[place].name.clone(),
                            first: wishes.fields[first].clone(),
                            second: field.clone(),
                        });
                    }
                    _ => {}
                },
                None if wishes.lenient || used.contains(&at) => {}
                None => {
                    return Err(MappingError::Field {
                        near: near(field),
                        name: field.clone(),
                        table: qualified,
                    });
                }
            }
        }
        let columns = table.columns.iter().zip(&exprs);
        let lacking = columns.filter(|(column, expr)| column.kind.is_key() && expr.is_none());
        let lacking: Vec<&str> = lacking.map(|(column, _)| column.name.as_str()).collect();
        if !lacking.is_empty() {
            return Err(MappingError::Key {
                columns: lacking.join(", "),
                table: qualified,
            });
        }
        let columns = table.columns.iter().zip(exprs);
        let targets: Vec<Target> = columns
            .filter_map(|(column, expr)| {
                Some(Target {
                    name: column.name.clone(),
                    ty: column.cql_type.clone(),
                    key: column.kind.is_key(),
                    is_static: column.kind == crate::table::ColumnKind::Static,
                    expr: expr?,
                })
            })
            .collect();
        let kinds = table.columns.iter();
        let partition = kinds
            .filter(|column| column.kind == crate::table::ColumnKind::Partition)
            .filter_map(|column| targets.iter().position(|t| t.name == column.name));
        Ok(Self {
            table: qualified,
            partition: partition.collect(),
            targets,
            fields: wishes.fields.len(),
            expand,
            timestamp,
            habits: wishes.habits,
        })
    }

    /// The places of the fields that anything is made of.
    pub fn used(&self) -> Vec<usize> {
        let mut used = Vec::new();
        self.targets.iter().for_each(|t| uses(&t.expr, &mut used));
        if let Some(expand) = &self.expand {
            let arguments = expand.arguments().iter();
            arguments.for_each(|argument| uses(argument, &mut used));
        }
        if let Some(expr) = &self.timestamp {
            uses(expr, &mut used);
        }
        used
    }

    /// Whether what is wrong differs between the rows that one record is expanded to.
    pub fn varies(&self, wrong: &Wrong) -> bool {
        let targets = self.targets.iter().filter(|t| t.name == wrong.column);
        let timestamp = self.timestamp.iter().filter(|_| wrong.column == TIMESTAMP);
        targets.map(|t| &t.expr).chain(timestamp).any(Expr::varies)
    }

    /// When a row is dated, in microseconds since 1970; none leaves it to the row's number.
    ///
    /// # Errors
    /// What is no point in time, and null.
    pub fn dated(&self, given: &RowInput<'_>) -> Result<Option<i64>, Wrong> {
        let Some(expr) = &self.timestamp else {
            return Ok(None);
        };
        let wrong = |why: String| Wrong {
            column: TIMESTAMP.to_owned(),
            why,
        };
        let text = expr.text(given).map_err(wrong)?;
        let text = text.filter(|text| !text.trim().is_empty());
        match text {
            Some(text) => micros(&text).map(Some).map_err(wrong),
            None => Err(wrong("a row without a timestamp".to_owned())),
        }
    }

    /// The `INSERT` of a row: a marker for each target, then one for the timestamp.
    pub fn insert(&self, ttl_s: Option<u32>) -> String {
        let names: Vec<String> = self.targets.iter().map(|t| identifier(&t.name)).collect();
        let markers = vec!["?"; names.len()].join(", ");
        let ttl = ttl_s.map_or(String::new(), |ttl| format!("TTL {ttl} AND "));
        format!(
            "INSERT INTO {} ({}) VALUES ({markers}) USING {ttl}TIMESTAMP ?",
            self.table,
            names.join(", ")
        )
    }

    /// The value of one target for a row.
    ///
    /// # Errors
    /// What is no value of the column's type, and null for a key.
    pub fn value(&self, target: usize, given: &RowInput<'_>) -> Result<Option<CqlValue>, Wrong> {
        let target = &self.targets[target];
        let wrong = |why: String| Wrong {
            column: target.name.clone(),
            why,
        };
        let text = target.expr.text(given).map_err(wrong)?;
        let is_text = matches!(target.ty, CqlType::Text | CqlType::Ascii);
        // An empty field is no number: nothing was meant.
        let text = text.filter(|text| is_text || !text.trim().is_empty());
        let value = match text {
            None => None,
            Some(text) => {
                // What is not the file's own is written as programs write it.
                let habits = match target.expr.is_of_fields() {
                    true => self.habits,
                    false => Habits::default(),
                };
                let value = CqlValue::read(&target.ty, &text, habits);
                Some(value.map_err(|error| wrong(error.to_string()))?)
            }
        };
        let is_empty = match &value {
            Some(CqlValue::Text(text) | CqlValue::Ascii(text)) => text.is_empty(),
            Some(CqlValue::Blob(bytes) | CqlValue::Custom(bytes)) => bytes.is_empty(),
            _ => false,
        };
        match value {
            None if target.key => Err(wrong("a key cannot be null".to_owned())),
            Some(_)
                if is_empty
                    && self.partition.len() == 1
                    && self.targets[self.partition[0]].name == target.name =>
            {
                Err(wrong(
                    "a partition key of one column cannot be empty".to_owned(),
                ))
            }
            value => Ok(value),
        }
    }
}

/// What stands for the column of a date.
const TIMESTAMP: &str = "--timestamp";

/// Microseconds since 1970, of a whole number of them or of a point in time as columns of type timestamp have it.
fn micros(text: &str) -> Result<i64, String> {
    if let Ok(micros) = text.trim().parse() {
        return Ok(micros);
    }
    match CqlValue::read(&CqlType::Timestamp, text, Habits::default()) {
        Ok(CqlValue::Timestamp(millis)) => {
            let micros = millis.checked_mul(1_000);
            micros.ok_or_else(|| format!("{text:?} is too far away"))
        }
        Ok(_) => Err(format!("{text:?} is not a timestamp")),
        Err(error) => Err(error.to_string()),
    }
}

fn uses(expr: &Expr, used: &mut Vec<usize>) {
    match expr {
        Expr::Field(at) => used.push(*at),
        Expr::Split(of, ..) | Expr::Cast(of, _) => uses(of, used),
        Expr::Concat(all) => all.iter().for_each(|one| uses(one, used)),
        Expr::Constant(_) | Expr::Element | Expr::Now | Expr::Uuid { .. } => {}
    }
}
