//! Options of a workload's tables that are asked for beside its own definition: `compaction={'class': …}`.
//! Refuses names that no table has, and tables that are not from a profile.

use super::Workload;
use crate::cql::identifier;
use crate::nearest::nearest;

/// Options of a table in Cassandra 3.11 to 5.0; which of them a release has is its own answer.
const KNOWN: [&str; 22] = [
    "additional_write_policy",
    "allow_auto_snapshot",
    "bloom_filter_fp_chance",
    "caching",
    "cdc",
    "comment",
    "compaction",
    "compression",
    "crc_check_chance",
    "dclocal_read_repair_chance",
    "default_time_to_live",
    "extensions",
    "gc_grace_seconds",
    "incremental_backups",
    "max_index_interval",
    "memtable",
    "memtable_flush_period_in_ms",
    "min_index_interval",
    "read_repair",
    "read_repair_chance",
    "speculative_retry",
    "speculative_write_threshold",
];

/// Why options cannot be given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableOptionError {
    /// Not of the form `NAME=VALUE`.
    #[error("{0:?} is not a table option")]
    Form(String),
    /// A name that no table has.
    #[error("no such table option: {0:?}")]
    Unknown(String),
    /// The same option twice.
    #[error("the table option {0} is given twice")]
    Twice(String),
    /// Its tables are not this workload's to change.
    #[error("{0} has its own table, which takes no options")]
    Fixed(String),
}

impl TableOptionError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Form(_) => "write it as in CQL: gc_grace_seconds=0, or compaction={'class': 'UnifiedCompactionStrategy'}".to_owned(),
            Self::Unknown(found) => match nearest(found, KNOWN) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known: {}", KNOWN.join(", ")),
            },
            Self::Twice(_) => "give it once".to_owned(),
            Self::Fixed(_) => "use another built-in workload, or a profile in YAML".to_owned(),
        }
    }
}

impl Workload {
    /// Adds options to its tables, each as CQL writes it; they are altered right after the tables are made.
    ///
    /// # Errors
    /// An option that no table has or that is given twice, or a workload whose table is fixed.
    pub fn with_table_options(&mut self, options: &[String]) -> Result<(), TableOptionError> {
        if options.is_empty() {
            return Ok(());
        }
        let mut names: Vec<&str> = Vec::new();
        for option in options {
            let form = || TableOptionError::Form(option.clone());
            let (name, value) = option.split_once('=').ok_or_else(form)?;
            let name = name.trim();
            if value.trim().is_empty() || option.contains(';') {
                return Err(form());
            }
            if !KNOWN.contains(&name) {
                return Err(TableOptionError::Unknown(name.to_owned()));
            }
            if names.contains(&name) {
                return Err(TableOptionError::Twice(name.to_owned()));
            }
            names.push(name);
        }
        let Self::Profiles(profiles) = self else {
            return Err(TableOptionError::Fixed(self.name().to_owned()));
        };
        for spec in &mut profiles.specs {
            let profile = &mut spec.profile;
            let (keyspace, table) = (identifier(&profile.keyspace), identifier(&profile.table));
            profile.extra_definitions.push(format!(
                "ALTER TABLE {keyspace}.{table} WITH {}",
                options.join(" AND ")
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Replication;
    use crate::workload::profile::{Profile, ProfileWorkload, Spec};

    const YAML: &str = "
keyspace: ks
table: t
table_definition: CREATE TABLE t (k int PRIMARY KEY, v text)
";

    fn profile() -> Workload {
        let profile = Profile::read(YAML).unwrap();
        let table = profile.defined_table().unwrap().unwrap();
        Workload::Profiles(ProfileWorkload {
            name: "t".into(),
            specs: vec![Spec { profile, table }],
            walk: None,
        })
    }

    fn of(mut workload: Workload, options: &[&str]) -> Result<Vec<String>, TableOptionError> {
        let options: Vec<String> = options.iter().map(|o| (*o).to_owned()).collect();
        workload.with_table_options(&options)?;
        Ok(workload.schema(&Replication::Simple(1), false))
    }

    #[test]
    fn options_are_altered_behind_the_table() {
        let plain = of(profile(), &[]).unwrap();
        let options = [
            "compaction={'class': 'UnifiedCompactionStrategy'}",
            "gc_grace_seconds=0",
        ];
        let altered = of(profile(), &options).unwrap();
        assert_eq!(altered[..plain.len()], plain);
        let last = &altered[plain.len()..];
        assert_eq!(last.len(), 1);
        assert!(
            last[0].starts_with("ALTER TABLE ks.t ")
                && last[0].ends_with(
                    " WITH compaction={'class': 'UnifiedCompactionStrategy'} AND gc_grace_seconds=0"
                ),
            "{last:?}"
        );
    }

    #[test]
    fn what_no_table_has_is_refused_with_the_nearest() {
        let refused = |workload: Workload, options: &[&str]| {
            let error = of(workload, options).unwrap_err();
            format!("{error} ({})", error.hint())
        };
        insta::assert_snapshot!(refused(profile(), &["compactoin={}"]), @r#"no such table option: "compactoin" (did you mean compaction?)"#);
        insta::assert_snapshot!(refused(profile(), &["compaction"]), @r#""compaction" is not a table option (write it as in CQL: gc_grace_seconds=0, or compaction={'class': 'UnifiedCompactionStrategy'})"#);
        insta::assert_snapshot!(refused(profile(), &["cdc=true; DROP TABLE x"]), @r#""cdc=true; DROP TABLE x" is not a table option (write it as in CQL: gc_grace_seconds=0, or compaction={'class': 'UnifiedCompactionStrategy'})"#);
        insta::assert_snapshot!(refused(profile(), &["cdc=true", "cdc = false"]), @"the table option cdc is given twice (give it once)");
        insta::assert_snapshot!(refused(Workload::Standard1, &["cdc=true"]), @"standard1 has its own table, which takes no options (use another built-in workload, or a profile in YAML)");
    }
}
