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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_holds() {
        let mut flags = ["-XX:+UseSerialGC", "-ea", "-XX:+UseG1GC"]
            .map(str::to_owned)
            .to_vec();
        one(&mut flags);
        assert_eq!(flags, ["-ea", "-XX:+UseG1GC"]);
    }
}
