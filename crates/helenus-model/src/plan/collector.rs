//! Garbage collectors: of several that are asked for, the JVM gets one.
//! Refuses to choose: what is said last holds.

/// Flags that choose a collector; the JVM refuses two of them.
pub(crate) const COLLECTORS: [&str; 6] = [
    "-XX:+UseSerialGC",
    "-XX:+UseParallelGC",
    "-XX:+UseG1GC",
    "-XX:+UseZGC",
    "-XX:+UseShenandoahGC",
    "-XX:+UseEpsilonGC",
];

/// Keeps the collector that was chosen last: a person's takes the place of the preset's.
pub(super) fn one(flags: &mut Vec<String>) {
    let chosen = |flag: &String| COLLECTORS.contains(&flag.as_str());
    if let Some(last) = flags.iter().rfind(|flag| chosen(flag)).cloned() {
        flags.retain(|flag| !chosen(flag) || *flag == last);
    }
}

/// Collectors that size the young generation themselves; Cassandra's own script refuses `-Xmn` beside G1.
const SIZE_YOUNG: [&str; 3] = ["-XX:+UseG1GC", "-XX:+UseZGC", "-XX:+UseShenandoahGC"];

/// Whether the collector that a person asks for sizes the young generation itself.
pub(super) fn sizes_young(asked: &[String]) -> bool {
    let chosen = |flag: &&String| COLLECTORS.contains(&flag.as_str());
    let last = asked.iter().rfind(chosen);
    last.is_some_and(|flag| SIZE_YOUNG.contains(&flag.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_size_the_young_generation_themselves() {
        let flags = |list: &[&str]| list.iter().map(|f| (*f).to_owned()).collect::<Vec<_>>();
        assert!(sizes_young(&flags(&["-XX:+UseSerialGC", "-XX:+UseG1GC"])));
        assert!(!sizes_young(&flags(&["-XX:+UseG1GC", "-XX:+UseSerialGC"])));
        assert!(!sizes_young(&[]));
    }

    #[test]
    fn the_last_one_holds() {
        let mut flags = ["-XX:+UseSerialGC", "-ea", "-XX:+UseG1GC"]
            .map(str::to_owned)
            .to_vec();
        one(&mut flags);
        assert_eq!(flags, ["-ea", "-XX:+UseG1GC"]);
    }
}
