//! What runs were measured on, in words: machine, software, the limits that really held, and what the generator does alone.
//! Refuses to merge what differs: two machines in one experiment are two lines, each with its number of runs.

use crate::report::words;
use crate::run::{ON_KEY, StoredRun};
use helenus_model::result::tables::calibration;
use serde_json::Value;

/// Machine, software and limits of runs, each different one a line, with how many runs where there are several; last what
/// the generator does alone at their highest rate, where its machine was calibrated.
pub fn measured_on<'a>(runs: impl Iterator<Item = &'a StoredRun> + Clone) -> Vec<String> {
    let machines = counted(runs.clone().map(machine));
    machines
        .into_iter()
        .chain(counted(runs.clone().filter_map(limits)))
        .chain(calibration(
            runs.filter_map(|run| run.result.as_ref())
                .flat_map(|result| &result.phases),
        ))
        .collect()
}

fn counted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for line in lines {
        match found.iter_mut().find(|(own, _)| *own == line) {
            Some((_, times)) => *times += 1,
            None => found.push((line, 1)),
        }
    }
    let several = found.len() > 1;
    let texts = found.into_iter().map(|(line, times)| match several {
        true => format!("{line} ({times} runs)"),
        false => line,
    });
    texts.collect()
}

fn machine(run: &StoredRun) -> String {
    let host = &run.host;
    let word = |field: &str| match &host[field] {
        Value::String(text) => text.clone(),
        Value::Null => "?".to_owned(),
        other => other.to_string(),
    };
    let memory = host["memory"].as_u64().map_or("?".to_owned(), words::bytes);
    let mut line = format!(
        "{}, {} processors, {memory}, Linux {}",
        word("processor"),
        word("cores"),
        word("kernel")
    );
    if let Some(release) = &run.summary.release {
        line.push_str(&format!("; Apache Cassandra {release}"));
    }
    if let Some(jvm) = &run.summary.jvm {
        line.push_str(&format!(", {jvm}"));
    }
    if let Some(on) = host[ON_KEY].as_str() {
        line.push_str(&format!("; on {on}"));
    }
    format!("measured on {line}; Helenus {}", run.helenus_version)
}

/// What the nodes were limited to; none where they were not.
fn limits(run: &StoredRun) -> Option<String> {
    let limits = run.host.get("limits").filter(|limits| limits.is_object())?;
    if let Some(why) = run.limits_failed() {
        return Some(format!("limits that could not be enforced: {why}"));
    }
    let mut held = Vec::new();
    if let Some(cpus) = limits["cpus"].as_f64() {
        held.push(format!("{} processors per node", words::digits(cpus)));
    }
    if let Some(memory) = limits["memory_bytes"].as_u64() {
        held.push(format!("{} of memory", words::bytes(memory)));
    }
    let disk = &limits["disk"];
    let speeds = [
        ("read_bytes_per_s", "read"),
        ("write_bytes_per_s", "written"),
    ];
    for (field, what) in speeds {
        if let Some(bytes) = disk[field].as_u64() {
            held.push(format!("{}/s {what} per node", words::bytes(bytes)));
        }
    }
    for (field, what) in [("reads_per_s", "reads"), ("writes_per_s", "writes")] {
        if let Some(number) = disk[field].as_u64() {
            held.push(format!("{number} disk {what}/s per node"));
        }
    }
    if held.is_empty() {
        return None;
    }
    let by = limits["by"].as_str().unwrap_or("control groups");
    let but = disk["but"]
        .as_str()
        .map_or(String::new(), |but| format!("; {but}"));
    Some(format!("limits enforced by {by}: {}{but}", held.join(", ")))
}
