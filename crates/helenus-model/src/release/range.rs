//! Bounds of values that their kinds do not say: with a value beyond them the release's node ends at its start.
//! Refuses bounds that `DatabaseDescriptor` of the release does not check.

use serde_json::Value;

use super::keys::plain;
use super::{Checked, KeyError, Keys, Kind, Release};

/// Least and most of a value, by modern name; sizes in bytes, durations in seconds.
struct Bound {
    key: &'static str,
    least: f64,
    most: f64,
    words: &'static str,
}

const fn from(key: &'static str, least: f64, words: &'static str) -> Bound {
    between(key, least, f64::INFINITY, words)
}

const fn between(key: &'static str, least: f64, most: f64, words: &'static str) -> Bound {
    Bound {
        key,
        least,
        most,
        words,
    }
}

const MIB: f64 = 1_048_576.0;
/// Below 2 GiB: Cassandra counts these in bytes of an `int`.
const INT_BYTES: f64 = 2_147_483_646.0;
const BELOW_2_GIB: &str = "less than 2GiB";

const BOUNDS: [Bound; 26] = [
    between("phi_convict_threshold", 5.0, 16.0, "5 to 16"),
    from("concurrent_reads", 2.0, "2 or more"),
    from("concurrent_writes", 2.0, "2 or more"),
    from("concurrent_counter_writes", 2.0, "2 or more"),
    from("concurrent_compactors", 1.0, "1 or more"),
    from("concurrent_materialized_view_builders", 1.0, "1 or more"),
    from("memtable_flush_writers", 0.0, "1 or more"),
    from("memtable_heap_space", MIB, "1MiB or more"),
    from("repair_session_space", MIB, "1MiB or more"),
    from("repair_session_max_tree_depth", 10.0, "10 or more"),
    from("prepared_statements_cache_size", MIB, "1MiB or more"),
    from("snapshot_links_per_second", 0.0, "0 or more"),
    from("default_keyspace_rf", 1.0, "1 or more"),
    from(
        "max_concurrent_automatic_sstable_upgrades",
        0.0,
        "0 or more",
    ),
    between("memtable_cleanup_threshold", 0.01, 0.99, "0.01 to 0.99"),
    between(
        "commitlog_segment_size",
        MIB,
        2047.0 * MIB,
        "1MiB to 2047MiB",
    ),
    between("max_value_size", MIB, 2047.0 * MIB, "1MiB to 2047MiB"),
    between(
        "native_transport_max_frame_size",
        0.0,
        INT_BYTES,
        BELOW_2_GIB,
    ),
    between("column_index_size", 0.0, INT_BYTES, BELOW_2_GIB),
    between("column_index_cache_size", 0.0, INT_BYTES, BELOW_2_GIB),
    between("batch_size_warn_threshold", 0.0, INT_BYTES, BELOW_2_GIB),
    between("disk_optimization_estimate_percentile", 0.0, 1.0, "0 to 1"),
    between("repair_disk_headroom_reject_ratio", 0.0, 1.0, "0 to 1"),
    between(
        "max_space_usable_for_compactions_in_percentage",
        0.0,
        1.0,
        "0 to 1",
    ),
    between(
        "otc_coalescing_enough_coalesced_messages",
        1.0,
        127.0,
        "1 to 127",
    ),
    from("gc_warn_threshold", 0.0, "0 or more"),
];

/// Values of texts and switches with which nodes from that release on do not start, and what to do.
const NEVER: [(&str, &str, &str, &str); 2] = [
    (
        "scripted_user_defined_functions_enabled",
        "true",
        "5.0",
        "false: functions in JavaScript were removed in 5.0",
    ),
    (
        "disk_access_mode",
        "direct",
        "5.0",
        "auto, mmap, mmap_index_only, standard or legacy",
    ),
];

/// A number, or a number with a unit, in seconds or bytes.
pub fn amount(value: &Value) -> Option<f64> {
    if let Some(number) = value.as_f64() {
        return Some(number);
    }
    let text = value.as_str()?.trim();
    let split = text.find(|c: char| !c.is_ascii_digit())?;
    let number: f64 = text[..split].parse().ok()?;
    let unit = text[split..].trim_end_matches("/s");
    let scale = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        // Exact where a division is, not where a product is.
        "ms" => return Some(number / 1000.0),
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => MIB,
        "GiB" => 1_073_741_824.0,
        _ => return None,
    };
    Some(number * scale)
}

/// Name and value as the newest release has them; as given where it has no such key.
pub fn modern_form(name: &str, value: &Value) -> (String, Value) {
    let newest = Release::newest().keys();
    // A name that is not there would be looked for among all others.
    let checked = newest.named(name).map(|_| newest.check_value(name, value));
    match checked {
        Some(Ok(checked)) => (checked.name, checked.value),
        _ => (name.to_owned(), value.clone()),
    }
}

/// Refuses a value beyond the release's bounds; maps are looked into by nobody, for their parts have none.
pub(super) fn check(release: &Release, checked: &Checked) -> Result<(), KeyError> {
    let (modern, value) = modern_form(&checked.name, &checked.value);
    let beyond = |takes: String| KeyError::Range {
        release: release.version,
        name: checked.name.clone(),
        value: plain(&checked.value),
        takes,
    };
    let number = amount(&value);
    if let (Some(bound), Some(number)) = (BOUNDS.iter().find(|b| b.key == modern), number)
        && !(bound.least..=bound.most).contains(&number)
    {
        return Err(beyond(bound.words.to_owned()));
    }
    if number == Some(0.0) && is_guardrail(release.keys(), &checked.name) {
        return Err(beyond("1 or more, or -1 for no limit".to_owned()));
    }
    let text = plain(&value);
    let never = NEVER.iter().find(|(key, value, since, _)| {
        *key == modern && *value == text && at_least(release, since)
    });
    match never {
        Some((.., takes)) => Err(beyond((*takes).to_owned())),
        None => Ok(()),
    }
}

/// Whether the release is of that series or of a newer one.
fn at_least(release: &Release, series: &str) -> bool {
    let place = |wanted: &dyn Fn(&Release) -> bool| Release::all().iter().position(|r| wanted(r));
    place(&|r| r.series == release.series) >= place(&|r| r.series == series)
}

/// A limit of what users may make, which is switched off by -1 alone.
fn is_guardrail(keys: &Keys, name: &str) -> bool {
    let limit = name.ends_with("_warn_threshold") || name.ends_with("_fail_threshold");
    limit
        && keys.get(name).is_some_and(|key| {
            matches!(key.kind, Kind::Int | Kind::Long) && key.default.as_deref() == Some("-1")
        })
}

/// Settings that a node does not start with together: the key to leave out, and why.
///
/// `settings` are checked names and values; what they do not say has its default.
pub fn clash(settings: &[(String, Value)]) -> Option<(String, String)> {
    let all = All { settings };
    all.warnings_above_failures()
        .or_else(|| all.mutations())
        .or_else(|| all.messages())
        .or_else(|| all.functions())
        .or_else(|| all.copies())
        .or_else(|| all.commit_log())
}

struct All<'a> {
    settings: &'a [(String, Value)],
}

impl All<'_> {
    /// Name in the settings and modern value; of what they do not say, the default.
    fn get(&self, modern: &str) -> Option<(String, Value)> {
        let said = self.settings.iter().rev().find_map(|(name, value)| {
            let (as_modern, value) = modern_form(name, value);
            (as_modern == modern).then(|| (name.clone(), value))
        });
        said.or_else(|| {
            let key = Release::newest().keys().get(modern)?;
            let default = key.default.as_deref()?;
            let value = default.parse::<f64>().map(Value::from);
            Some((modern.to_owned(), value.unwrap_or_else(|_| default.into())))
        })
    }

    fn amount(&self, modern: &str) -> Option<f64> {
        amount(&self.get(modern)?.1)
    }

    fn is(&self, modern: &str, wanted: &str) -> bool {
        self.get(modern)
            .is_some_and(|(_, value)| plain(&value) == wanted)
    }

    fn said(&self, modern: &str) -> Option<String> {
        let name = self.get(modern)?.0;
        self.settings
            .iter()
            .any(|(key, _)| *key == name)
            .then_some(name)
    }

    fn warnings_above_failures(&self) -> Option<(String, String)> {
        // These Cassandra does not compare.
        let free = [
            "batch_size_warn_threshold",
            "replica_filtering_protection.cached_rows_warn_threshold",
        ];
        let pairs = self.settings.iter().filter_map(|(name, _)| {
            let warn = match name.strip_suffix("_fail_threshold") {
                Some(stem) => format!("{stem}_warn_threshold"),
                None => name.clone(),
            };
            let stem = warn.strip_suffix("_warn_threshold")?.to_owned();
            (!free.contains(&warn.as_str())).then(|| (name.clone(), warn, stem))
        });
        for (name, warn, stem) in pairs {
            let fail = format!("{stem}_fail_threshold");
            let (Some(warns), Some(fails)) = (self.amount(&warn), self.amount(&fail)) else {
                continue;
            };
            let reversed = stem.starts_with("minimum_");
            let wrong = if reversed {
                warns < fails
            } else {
                warns > fails
            };
            if wrong && warns > 0.0 && fails > 0.0 {
                let side = if reversed { "below" } else { "above" };
                return Some((name, format!("{warn} must not be {side} {fail}")));
            }
        }
        None
    }

    fn mutations(&self) -> Option<(String, String)> {
        let mutation = self.said("max_mutation_size")?;
        let (size, segment) = (
            self.amount("max_mutation_size")?,
            self.amount("commitlog_segment_size")?,
        );
        (size * 2.0 > segment).then(|| {
            let why = "it must not be above half of commitlog_segment_size";
            (mutation, why.to_owned())
        })
    }

    fn messages(&self) -> Option<(String, String)> {
        let name = self.said("internode_max_message_size")?;
        let size = self.amount("internode_max_message_size")?;
        let queues = ["send", "receive"].into_iter().flat_map(|way| {
            let of =
                move |whole| format!("internode_application_{way}_queue_reserve_{whole}_capacity");
            ["endpoint", "global"].map(of)
        });
        let mut small = queues.filter(|queue| self.amount(queue).is_some_and(|most| size > most));
        small
            .next()
            .map(|queue| (name, format!("it must not be above {queue}")))
    }

    fn functions(&self) -> Option<(String, String)> {
        let (warn, fail) = (
            "user_defined_functions_warn_timeout",
            "user_defined_functions_fail_timeout",
        );
        if let (Some(warns), Some(fails)) = (self.amount(warn), self.amount(fail))
            && warns > fails
            && let Some(name) = self.said(warn).or_else(|| self.said(fail))
        {
            return Some((name, format!("{warn} must not be above {fail}")));
        }
        let threads = "user_defined_functions_threads_enabled";
        if self.is(threads, "false") && !self.is("allow_insecure_udfs", "true") {
            let why = "Cassandra needs allow_insecure_udfs: true with it";
            return Some((self.said(threads)?, why.to_owned()));
        }
        None
    }

    fn copies(&self) -> Option<(String, String)> {
        let copies = self.amount("default_keyspace_rf")?;
        let (least, most) = (
            "minimum_replication_factor_fail_threshold",
            "maximum_replication_factor_fail_threshold",
        );
        if let Some(name) = self.said(least)
            && self.amount(least)? > copies
        {
            return Some((name, "it must not be above default_keyspace_rf".to_owned()));
        }
        let name = self.said(most)?;
        let bound = self.amount(most)?;
        (bound > 0.0 && bound < copies)
            .then(|| (name, "it must not be below default_keyspace_rf".to_owned()))
    }

    fn commit_log(&self) -> Option<(String, String)> {
        let name = self.said("commitlog_disk_access_mode")?;
        let (_, mode) = self.get("commitlog_disk_access_mode")?;
        let packed = self
            .settings
            .iter()
            .any(|(key, value)| key.starts_with("commitlog_compression") && !value.is_null());
        let wrong = match plain(&mode).as_str() {
            "standard" => !packed,
            "mmap" | "direct" => packed,
            "mmap_index_only" => true,
            _ => false,
        };
        let why = "with commitlog_compression it takes standard, without it mmap or direct; auto fits both";
        wrong.then(|| (name, why.to_owned()))
    }
}
