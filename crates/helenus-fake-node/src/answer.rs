//! What a serving stand-in answers to each request, and what it remembers: keyspaces, tables, prepared statements.
//! Refuses to know when an answer is sent: it only says which ones take their time.

use crate::me::Me;
use crate::statement::{Statement, TableName, parse};
use crate::system::{self, Keyspace};
use crate::tables::Table;
use helenus_cql::codec::result::RowsPage;
use helenus_cql::codec::{
    Bound, Parameters, Prepared, QueryResult, Request, Response, SchemaChange, SchemaTarget,
    ServerError, ServerErrorKind, Values,
};
use helenus_model::seed::mix;
use std::collections::BTreeMap;

/// A prepared statement: tables and columns by their places.
#[derive(Debug, Clone)]
enum Plan {
    System {
        table: String,
        columns: Vec<String>,
    },
    Insert {
        table: usize,
        columns: Vec<usize>,
    },
    Select {
        table: usize,
        columns: Vec<usize>,
        by: Vec<usize>,
    },
}

/// Everything that is remembered.
#[derive(Debug)]
pub(crate) struct Database {
    me: Me,
    /// Of this life: a statement prepared in an earlier one is not known.
    life: u64,
    keyspaces: Vec<Keyspace>,
    tables: Vec<Table>,
    plans: Vec<Plan>,
}

/// What becomes of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keeping {
    /// The clock, in microseconds since 1970: the write's time where it brings none.
    pub(crate) now_us: i64,
    /// It is acknowledged and forgotten.
    pub(crate) loses: bool,
}

/// An answer, and whether it takes the time of an operation.
pub(crate) struct Answer {
    pub(crate) response: Response,
    pub(crate) timed: bool,
}

type Refusal = (ServerErrorKind, String);

fn invalid(why: String) -> Refusal {
    (ServerErrorKind::Invalid, why)
}

/// The page of a result that is asked for; a page begins with the row whose number its paging state is.
fn one_page(result: QueryResult, parameters: &Parameters) -> QueryResult {
    let QueryResult::Rows(whole) = &result else {
        return result;
    };
    let (Some(most), Some(columns)) = (parameters.page_size, &whole.columns) else {
        return result;
    };
    let state = parameters.paging_state.as_deref().unwrap_or_default();
    let from = state.try_into().map_or(0, u64::from_be_bytes) as usize;
    let Ok(rows) = whole.rows(columns) else {
        return result;
    };
    let to = rows
        .len()
        .min(from + usize::try_from(most).unwrap_or(1).max(1));
    match RowsPage::of(columns.clone(), &rows[from.min(to)..to]) {
        Ok(mut page) => {
            page.paging_state = (to < rows.len()).then(|| (to as u64).to_be_bytes().to_vec());
            QueryResult::Rows(page)
        }
        Err(_) => result,
    }
}

/// The ERROR for this.
pub(crate) fn refused(kind: ServerErrorKind, message: impl Into<String>) -> Response {
    Response::Error(ServerError {
        message: message.into(),
        kind,
    })
}

impl Database {
    pub(crate) fn new(me: Me, life: u64) -> Self {
        Self {
            me,
            life,
            keyspaces: Vec::new(),
            tables: Vec::new(),
            plans: Vec::new(),
        }
    }

    /// Answers one request of a connection; `used` is the keyspace that the connection USEs.
    pub(crate) fn answer(
        &mut self,
        used: &mut Option<String>,
        request: Request,
        keeping: Keeping,
    ) -> Answer {
        let mut timed = false;
        let result = match request {
            Request::Startup(_) | Request::Register(_) => Ok(Response::Ready),
            Request::Options => Ok(supported()),
            Request::Query { cql, parameters } => self
                .query(used, &cql)
                .map(|result| Response::Result(one_page(result, &parameters))),
            Request::Prepare { cql, .. } => self.prepare(used.as_deref(), &cql),
            Request::Execute { id, parameters, .. } => match self.plan(&id) {
                Some(plan) => {
                    timed = !matches!(plan, Plan::System { .. });
                    let keeping = Keeping {
                        now_us: parameters.timestamp.unwrap_or(keeping.now_us),
                        ..keeping
                    };
                    let page = self.execute(&plan, &parameters.values, keeping);
                    page.map(|page| Response::Result(without(page, parameters.skip_metadata)))
                }
                None => Err((ServerErrorKind::Unprepared { id }, "not prepared".into())),
            },
            Request::AuthResponse(_) => {
                let why = "nobody asked for a password".to_owned();
                Err((ServerErrorKind::Protocol, why))
            }
        };
        let response = result.unwrap_or_else(|(kind, message)| refused(kind, message));
        Answer { response, timed }
    }

    fn query(&mut self, used: &mut Option<String>, cql: &str) -> Result<QueryResult, Refusal> {
        let changed = |change: &str, keyspace: &str, target| {
            QueryResult::SchemaChange(SchemaChange {
                change: change.to_owned(),
                keyspace: keyspace.to_owned(),
                target,
            })
        };
        let created = |keyspace: &str, target| changed("CREATED", keyspace, target);
        match parse(cql).map_err(invalid)? {
            Statement::Use(name) => {
                self.keyspace(&name)?;
                *used = Some(name.clone());
                Ok(QueryResult::SetKeyspace(name))
            }
            Statement::CreateKeyspace {
                name,
                replication,
                if_not_exists,
            } => {
                if self.keyspace(&name).is_ok() {
                    return exists(if_not_exists, name, String::new());
                }
                let change = created(&name, SchemaTarget::Keyspace);
                self.keyspaces.push(Keyspace { name, replication });
                Ok(change)
            }
            Statement::DropKeyspace(name) => {
                self.keyspace(&name)?;
                self.keyspaces.retain(|k| k.name != name);
                self.tables.retain(|t| t.keyspace != name);
                // Places of tables have moved: what is prepared is prepared anew.
                self.life = mix(self.life);
                self.plans.clear();
                Ok(changed("DROPPED", &name, SchemaTarget::Keyspace))
            }
            Statement::CreateTable {
                shape,
                if_not_exists,
            } => {
                let keyspace = self.keyspace_of(used.as_deref(), &shape.table)?;
                if self.table(used.as_deref(), &shape.table).is_ok() {
                    return exists(if_not_exists, keyspace, shape.table.1);
                }
                let change = created(&keyspace, SchemaTarget::Table(shape.table.1.clone()));
                self.tables
                    .push(Table::new(keyspace, shape).map_err(invalid)?);
                Ok(change)
            }
            Statement::System { table, columns } => self.system(&table, &columns),
            Statement::Insert { .. } | Statement::Select { .. } => Err(invalid(
                "the fake node executes prepared statements only".into(),
            )),
        }
    }

    fn system(&self, table: &str, columns: &[String]) -> Result<QueryResult, Refusal> {
        let read = system::read(&self.me, &self.keyspaces, &self.tables, (table, columns));
        let (columns, rows) = read.ok_or_else(|| invalid(format!("no table {table}")))?;
        let page = RowsPage::of(columns, &rows);
        let page = page.map_err(|e| (ServerErrorKind::Server, e.to_string()))?;
        Ok(QueryResult::Rows(page))
    }

    fn prepare(&mut self, used: Option<&str>, cql: &str) -> Result<Response, Refusal> {
        let mut markers = Vec::new();
        let mut partition_key = Vec::new();
        let mut columns = Vec::new();
        let plan = match parse(cql).map_err(invalid)? {
            Statement::System {
                table,
                columns: wanted,
            } => {
                if let QueryResult::Rows(page) = self.system(&table, &wanted)? {
                    columns = page.columns.unwrap_or_default();
                }
                Plan::System {
                    table,
                    columns: wanted,
                }
            }
            Statement::Insert {
                table,
                columns: into,
            } => {
                let at = self.table(used, &table)?;
                let table = &self.tables[at];
                let into = table.places(&into).map_err(invalid)?;
                partition_key = key_places(table, &into)?;
                markers = table.specs(&into);
                Plan::Insert {
                    table: at,
                    columns: into,
                }
            }
            Statement::Select {
                table,
                columns: wanted,
                by,
            } => {
                let at = self.table(used, &table)?;
                let table = &self.tables[at];
                let by = table.places(&by).map_err(invalid)?;
                let wanted = match wanted.as_slice() {
                    [] => (0..table.columns.len()).collect(),
                    named => table.selected(named).map_err(invalid)?,
                };
                partition_key = key_places(table, &by)?;
                markers = table.specs(&by);
                columns = table.specs(&wanted);
                Plan::Select {
                    table: at,
                    columns: wanted,
                    by,
                }
            }
            _ => {
                return Err(invalid(
                    "the fake node prepares INSERT and SELECT only".into(),
                ));
            }
        };
        let mut id = self.life.to_be_bytes().to_vec();
        id.extend((self.plans.len() as u64).to_be_bytes());
        self.plans.push(plan);
        Ok(Response::Result(QueryResult::Prepared(Prepared {
            id,
            result_metadata_id: None,
            markers,
            partition_key,
            columns,
        })))
    }

    fn plan(&self, id: &[u8]) -> Option<Plan> {
        let (life, number) = id.split_first_chunk()?;
        let number = u64::from_be_bytes(number.try_into().ok()?);
        let known = u64::from_be_bytes(*life) == self.life;
        let plan = self.plans.get(usize::try_from(number).ok()?);
        plan.filter(|_| known).cloned()
    }

    fn execute(
        &mut self,
        plan: &Plan,
        values: &Values,
        keeping: Keeping,
    ) -> Result<QueryResult, Refusal> {
        let none: &[Bound] = &[];
        let values = match values {
            Values::Positional(values) => values.as_slice(),
            Values::Named(values) if values.is_empty() => none,
            Values::Named(_) => return Err(invalid("values are bound by place only".into())),
        };
        match plan {
            Plan::System { table, columns } => self.system(table, columns),
            Plan::Insert { .. } if keeping.loses => Ok(QueryResult::Void),
            Plan::Insert { table, columns } => {
                let written = self.tables[*table].insert(columns, values, keeping.now_us);
                written.map(|()| QueryResult::Void).map_err(invalid)
            }
            Plan::Select { table, columns, by } => {
                let table = &self.tables[*table];
                let row = table.select(columns, by, values).map_err(invalid)?;
                Ok(QueryResult::Rows(RowsPage {
                    column_count: columns.len(),
                    columns: Some(table.specs(columns)),
                    paging_state: None,
                    new_metadata_id: None,
                    row_count: usize::from(row.is_some()),
                    bytes: row.unwrap_or_default(),
                }))
            }
        }
    }

    fn keyspace(&self, name: &str) -> Result<(), Refusal> {
        let known = self.keyspaces.iter().any(|k| k.name == name);
        known
            .then_some(())
            .ok_or_else(|| invalid(format!("no keyspace {name}")))
    }

    fn keyspace_of(&self, used: Option<&str>, table: &TableName) -> Result<String, Refusal> {
        let name = table.0.as_deref().or(used);
        let name = name.ok_or_else(|| invalid(format!("{} has no keyspace", table.1)))?;
        self.keyspace(name).map(|()| name.to_owned())
    }

    fn table(&self, used: Option<&str>, table: &TableName) -> Result<usize, Refusal> {
        let keyspace = self.keyspace_of(used, table)?;
        let mut tables = self.tables.iter();
        tables
            .position(|t| t.keyspace == keyspace && t.name == table.1)
            .ok_or_else(|| invalid(format!("no table {keyspace}.{}", table.1)))
    }
}

fn supported() -> Response {
    let one = |key: &str, value: &str| (key.to_owned(), vec![value.to_owned()]);
    let options = [
        one("CQL_VERSION", "3.4.7"),
        one("PROTOCOL_VERSIONS", "4/v4"),
    ];
    let mut options = BTreeMap::from(options);
    options.insert("COMPRESSION".into(), Vec::new());
    Response::Supported(options)
}

fn exists(if_not_exists: bool, keyspace: String, table: String) -> Result<QueryResult, Refusal> {
    if if_not_exists {
        return Ok(QueryResult::Void);
    }
    let why = format!("{keyspace} {table} exists");
    Err((ServerErrorKind::AlreadyExists { keyspace, table }, why))
}

/// Which marker is which column of the partition key; the whole key must be among them.
fn key_places(table: &Table, markers: &[usize]) -> Result<Vec<u16>, Refusal> {
    let place = |column: usize| markers.iter().position(|marker| *marker == column);
    if let Some(missing) = table.key().find(|column| place(*column).is_none()) {
        let name = &table.columns[missing].0;
        return Err(invalid(format!("the key's column {name} must be a marker")));
    }
    let places = table.partition.iter().filter_map(|column| place(*column));
    Ok(places.filter_map(|at| u16::try_from(at).ok()).collect())
}

/// The rows without the description of their columns, where the client has it.
fn without(result: QueryResult, skip: bool) -> QueryResult {
    match result {
        QueryResult::Rows(page) if skip => QueryResult::Rows(RowsPage {
            columns: None,
            ..page
        }),
        other => other,
    }
}
