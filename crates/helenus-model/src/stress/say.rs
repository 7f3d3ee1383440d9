//! The lines between settings and rows: what runs, what is waited for, what was gained.
//! Refuses to wait: who says so does.

use super::search::improvement;
use super::settings::double;
use super::value::Until;
use crate::units::fixed;

/// Before anything runs.
pub const SLEEPING: &str = "Sleeping 2s...";

/// After `n=0`.
pub const NOTHING_DONE: &str = "N=0: SCHEMA CREATED, NOTHING ELSE DONE.";

/// Before a search for the number of threads.
pub const SEARCH: &str = "Thread count was not specified";

/// Between runs of a search that write.
pub const PAUSE: &str = "Sleeping for 15s";

/// Before a search whose runs end by their error.
pub const UNEVEN: &str = "WARNING: uncertainty mode (err<) results in uneven workload between thread runs, so should be used for high level analysis only";

/// Keyspaces and tables are there.
pub fn created(seconds: u64) -> String {
    format!("Created keyspaces. Sleeping {seconds}s for propagation.")
}

/// Keyspaces and tables of profiles are there.
pub fn created_schema(seconds: u64) -> String {
    format!("Created schema. Sleeping {seconds}s for propagation.")
}

/// These tables (keyspace and name) are empty.
pub fn truncated(tables: &[(String, String)], seconds: u64) -> String {
    let keyspace = tables.first().map_or("", |(keyspace, _)| keyspace.as_str());
    let alike = tables.iter().all(|(other, _)| other == keyspace);
    let name = |(own, table): &(String, String)| {
        if alike {
            table.clone()
        } else {
            format!("{own}.{table}")
        }
    };
    let names: Vec<String> = tables.iter().map(name).collect();
    let prefix = if alike {
        format!("{keyspace}.")
    } else {
        String::new()
    };
    format!(
        "Truncated {prefix}[{}]. Sleeping {seconds}s for propagation.",
        names.join(", ")
    )
}

/// A warm-up begins.
pub fn warming(operation: &str, iterations: u64) -> String {
    format!("Warming up {operation} with {iterations} iterations...")
}

/// A run begins.
pub fn running(operations: &str, threads: u32, until: Until) -> String {
    let end = match until {
        Until::Count(count) => format!("for {count} iteration"),
        Until::Time { amount, unit } => format!("{amount} {}", unit.name().to_ascii_lowercase()),
        Until::Error { below, .. } => format!("until stderr of mean < {}", double(below)),
    };
    format!("Running {operations} with {threads} threads {end}")
}

/// A run of a search begins.
pub fn running_with(threads: u32) -> String {
    format!("Running with {threads} threadCount")
}

/// A run of a search by its name in the last table.
pub fn run_id(threads: u32) -> String {
    format!("{threads} threadCount")
}

/// What the last run gained over the one before, which had so many threads.
pub fn gained(threads: u32, rates: &[f64]) -> String {
    let percent = fixed(100.0 * improvement(rates, 1), 0);
    format!("Improvement over {threads} threadCount: {percent}%")
}

#[cfg(test)]
mod tests {
    use super::super::value::TimeUnit;
    use super::*;

    #[test]
    fn lines_stand_as_scrapers_know_them() {
        let minute = Until::Time {
            amount: 1,
            unit: TimeUnit::Minutes,
        };
        let error = Until::Error {
            below: 0.02,
            least: 30,
            most: 200,
        };
        let lines = [
            running("WRITE", 200, Until::Count(1_000_000)),
            running("[READ, WRITE]", 4, minute),
            running("READ", 4, error),
            warming("READ", 50_000),
            truncated(
                &["standard1", "counter1"].map(|t| ("keyspace1".to_owned(), t.to_owned())),
                1,
            ),
            gained(4, &[100.0, 131.4]),
        ];
        insta::assert_snapshot!(lines.join("\n"), @r"
        Running WRITE with 200 threads for 1000000 iteration
        Running [READ, WRITE] with 4 threads 1 minutes
        Running READ with 4 threads until stderr of mean < 0.02
        Warming up READ with 50000 iterations...
        Truncated keyspace1.[standard1, counter1]. Sleeping 1s for propagation.
        Improvement over 4 threadCount: 31%
        ");
    }
}
