//! The patches of a series: which are published, and how their keys differ from the table of the pinned one.
//! Refuses to know jars: those of a patch are recorded when it is first fetched.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use super::Release;

/// Each patch that was asked for, made once: a release lives as long as the program.
static PATCHES: LazyLock<Mutex<BTreeMap<String, &'static Release>>> = LazyLock::new(Mutex::default);

/// The release of that version, with the facts of its series.
pub(super) fn patch(series: &'static Release, version: &str) -> &'static Release {
    let mut made = PATCHES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(patch) = made.get(version) {
        return patch;
    }
    let name: &'static str = String::leak(version.to_owned());
    let differs = differences(series).find(|(of, _)| *of == version);
    let patch: &'static Release = Box::leak(Box::new(Release {
        version: name,
        facts: differs.as_ref().map_or(series.version, |_| name),
        series: series.series,
        supported_jdks: series.supported_jdks,
        works_jdks: series.works_jdks,
        oldest_jdk: series.oldest_jdk,
        broken_from_jdk: series.broken_from_jdk,
        broken_why: series.broken_why,
        agent_from_jdk: series.agent_from_jdk,
        heap_least_mib: series.heap_least_mib,
        lacks: series.lacks,
        also: series.also,
        lock_text: None,
        keys_text: match differs {
            Some((_, lines)) => String::leak(changed(series.keys_text, lines)),
            None => series.keys_text,
        },
        patches_text: series.patches_text,
        lock: OnceLock::new(),
        keys: OnceLock::new(),
    }));
    made.insert(version.to_owned(), patch);
    patch
}

/// Whether a version of that series has the form of one that is published: `5.0.2`, `5.0-rc1`.
pub(super) fn may_be_published(series: &str, version: &str) -> bool {
    let Some(rest) = version.strip_prefix(series) else {
        return false;
    };
    if rest.starts_with('.') {
        return number(series, version).is_some();
    }
    let name = rest.strip_prefix('-').unwrap_or_default();
    let word = name.trim_end_matches(|c: char| c.is_ascii_digit());
    ["alpha", "beta", "rc"].contains(&word)
}

/// The number of a patch; of a release candidate and its like none.
fn number(series: &str, version: &str) -> Option<u32> {
    let digits = version.strip_prefix(series)?.strip_prefix('.')?;
    let plain = digits.len() <= 3 && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// Published patches of the series, the pinned one among them, in the order of their distance from that version.
pub(super) fn nearest(series: &'static Release, version: &str) -> Vec<&'static str> {
    let own = number(series.series, version).unwrap_or(0);
    let distance = |of: &&str| number(series.series, of).map(|n| n.abs_diff(own));
    let mut all = published(series);
    all.sort_by_key(distance);
    all
}

/// Published patches of the series, the pinned one among them, oldest first.
fn published(series: &'static Release) -> Vec<&'static str> {
    let mut all: Vec<&str> = differences(series).map(|(version, _)| version).collect();
    all.push(series.version);
    all.sort_by_key(|version| number(series.series, version));
    all
}

/// The first later patch of the series that has the key, or the first newer series.
pub(super) fn brought(release: &Release, key: &str) -> Option<&'static str> {
    let series = release.of_its_series();
    let own = number(series.series, release.version);
    let has = |release: &&'static Release| release.keys().named(key).is_some();
    let later = published(series).into_iter();
    let later = later.filter(|version| own.is_some() && number(series.series, version) > own);
    let mut later = later.filter_map(|version| Release::find(version).ok());
    let mut newer = Release::all().iter().copied();
    let found = later.find(has).map(|release| release.version);
    newer.by_ref().find(|r| r.series == series.series);
    found.or_else(|| newer.find(has).map(|release| release.series))
}

/// Each other patch of the series that is published, with the lines that its keys differ by.
fn differences(series: &'static Release) -> impl Iterator<Item = (&'static str, &'static str)> {
    let parts = series.patches_text.split("\n= ").skip(1);
    parts.map(|part| part.split_once('\n').unwrap_or((part, "")))
}

/// The series' table with the lines of one patch: `-` takes a key away with all that is inside of it, `+` brings a line.
fn changed(table: &str, lines: &str) -> String {
    let sign = |sign: &'static str| {
        lines
            .lines()
            .filter_map(move |line| line.strip_prefix(sign))
    };
    let lacks: Vec<&str> = sign("-\t").collect();
    let other: Vec<&str> = sign("+\t").collect();
    let name = |line: &'_ str| line.split('\t').next().unwrap_or_default().to_owned();
    let gone = |line: &&str| {
        let own = name(line);
        let inside = |key: &&str| own == **key || own.starts_with(&format!("{key}."));
        lacks.iter().any(inside) || other.iter().any(|line| name(line) == own)
    };
    let kept = table.lines().filter(|line| !gone(line));
    let all: Vec<&str> = kept.chain(other.iter().copied()).collect();
    all.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_loses_and_gains_lines() {
        let table = "# t\na\t1\na.b\t1\nab\t1\nc\t1\n";
        assert_eq!(
            changed(table, "-\ta\n+\tc\t2\n+\td\t1"),
            "# t\nab\t1\nc\t2\nd\t1\n"
        );
        assert_eq!(changed(table, ""), table);
    }

    #[test]
    fn every_published_patch_has_a_table_that_holds_what_a_node_is_given() {
        for series in Release::all() {
            let all = published(series);
            assert!(all.len() > 5 && all.contains(&series.version), "{all:?}");
            for version in all {
                let patch = Release::find(version).unwrap();
                assert_eq!(patch.facts, version);
                assert!(patch.keys().all().len() > 180, "{version}");
                for also in patch.also {
                    assert!(patch.keys().check(also.key, also.value).is_ok());
                }
            }
        }
    }

    #[test]
    fn what_brought_a_key_is_a_later_patch_or_a_newer_series() {
        let of = |version: &str, key: &str| Release::find(version).unwrap().brought(key);
        assert_eq!(of("4.1.10", "memtable_array_x"), None);
        assert_eq!(of("4.0.19", "cdc_block_writes"), Some("4.1"));
        let patch = of("4.1.0", "native_transport_timeout").unwrap();
        assert!(patch.starts_with("4.1."), "{patch}");
    }
}
