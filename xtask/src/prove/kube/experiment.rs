//! `prove kube experiment`: the experiment of experiments/pods.toml in pods, whole and stopped by Ctrl-C, and whether the
//! cluster is as it was after that. Refuses to take the word of helenus for it: the API server is asked.

use super::Tried;
use super::lab::{Lab, WITHIN, generators, kubectl_json};
use super::running::Ran;
use super::sheet::{Sheet, Verdict};
use serde_json::{Value, json};
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

/// What it shows.
pub(super) const ABOUT: &str = "an experiment in pods: whole on one node, a block on two, Ctrl-C; settings are the old ones after each";

/// Names of the clusters, by their nodes.
const NAMES: [&str; 2] = ["prove-experiment", "prove-experiment2"];

/// Longest wait until an experiment has loaded its nodes for the first time.
const LOAD_WITHIN: Duration = Duration::from_secs(180);

/// A whole experiment on one node, one stopped and resumed, and one block on two nodes.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Tried {
    for (name, nodes) in NAMES.into_iter().zip(["1", "2"]) {
        lab.clear(name)?;
        lab.run(&lab.up(name, &["-n", nodes]))?.well("kube up")?;
        let tried = match nodes {
            "1" => whole(lab, sheet, name).and_then(|()| stopped(lab, sheet, name)),
            _ => on_two(lab, sheet, name),
        };
        let left = lab.remove(name)?;
        let what = format!("nothing of {name} is left");
        sheet.record(&what, Verdict::of(left.is_empty()), &left.join(", "))?;
        tried?;
    }
    Ok(())
}

/// Six blocks, to a verdict about both factors.
fn whole(lab: &Lab, sheet: &mut Sheet, name: &str) -> Tried {
    let before = settings(name)?;
    let file = file(lab, name, "pods")?;
    let planned = lab.json(&["experiment", "plan", &file])?;
    let ran = experiment(lab, &["run", &file, "--anew"])?;
    let report = ran.json()?;
    let on = texts(&report["measured_on"]).join("; ");
    let place = format!("kube:{name}");
    sheet.record(
        "the report says where it ran",
        Verdict::of(on.contains(&place)),
        &without_context(&on),
    )?;
    let effects = report
        .pointer("/analysis/effects")
        .and_then(Value::as_array);
    let asked = |one: &&Value| one["measure"] == "throughput";
    let effects: Vec<&Value> = effects.into_iter().flatten().filter(asked).collect();
    let claimed = |one: &&Value| one["estimate"].is_object() && one["claim"] != "none";
    let decided = effects.len() == 2 && effects.iter().all(claimed);
    let said = texts(&report["answer"]).join("; ");
    let facts = json!({
        "code": ran.code,
        "answer": report["answer"],
        "effects": effects,
        "progress": report["progress"],
        "planned_s": planned["about_s"],
        "took_s": ran.took.as_secs(),
        "restarts": planned["restarts"],
    });
    let what = "a restart factor and a live factor to their verdicts";
    sheet.found(
        what,
        Verdict::of(decided && ran.code == 0),
        &said,
        &facts,
        None,
    )?;
    same(sheet, "after the experiment", name, &before)
}

/// Ctrl-C under load, and the rest of one block after that.
fn stopped(lab: &Lab, sheet: &mut Sheet, name: &str) -> Tried {
    let before = settings(name)?;
    let file = file(lab, name, "stopped")?;
    let running = lab.start(&["experiment", "run", &file, "--anew", "--repeats", "1"])?;
    generators(name, 1, LOAD_WITHIN)?;
    running.interrupt()?;
    let ran = running.end(WITHIN)?;
    let what = "Ctrl-C in mid-run ends with 130";
    sheet.record(what, Verdict::of(ran.code == 130), &ran.said())?;
    same(sheet, "after Ctrl-C", name, &before)?;
    let ran = experiment(lab, &["resume", "stopped"])?;
    let progress = ran.json()?["progress"].clone();
    let whole = progress["left"] == 0 && progress["done"] == progress["planned"];
    let what = "resume runs what is left";
    sheet.found(what, Verdict::of(whole), "", &progress, None)?;
    same(sheet, "after the resumed one", name, &before)
}

fn on_two(lab: &Lab, sheet: &mut Sheet, name: &str) -> Tried {
    let before = settings(name)?;
    let file = file(lab, name, "two")?;
    let ran = experiment(lab, &["run", &file, "--anew", "--repeats", "1"])?;
    let progress = ran.json()?["progress"].clone();
    let whole = progress["left"] == 0 && progress["done"] == progress["planned"];
    let facts = json!({"progress": progress, "took_s": ran.took.as_secs()});
    let what = "a block on two nodes";
    sheet.found(what, Verdict::of(whole), "", &facts, None)?;
    same(sheet, "after it on two nodes", name, &before)
}

/// Runs an experiment to its end; without enough blocks, or with a tie, it has an exit code of its own.
pub(super) fn experiment(lab: &Lab, words: &[&str]) -> Result<Ran, Box<dyn Error>> {
    let all = [&["experiment"], words, &["--format", "json"]].concat();
    let ran = lab.start(&all)?.end(2 * WITHIN)?;
    match ran.code {
        0 | 6 => Ok(ran),
        _ => ran.well(&words.join(" ")),
    }
}

/// The shipped experiment, about this cluster and under another name; short, and without a winner that is measured again:
/// it is not what the nodes reach that is to be shown.
pub(super) fn file(lab: &Lab, cluster: &str, name: &str) -> Result<String, Box<dyn Error>> {
    let text = fs_err::read_to_string(lab.root.join("experiments/pods.toml"))?;
    let text = text
        .replace("kube:demo", &format!("kube:{cluster}"))
        .replace(
            "name = \"pods\"",
            &format!("name = \"{name}\"\nannounce = false"),
        )
        .replace("\"20s\"", "\"3s\"")
        .replace("\"10s\"", "\"1s\"");
    let folder: PathBuf = lab.root.join("target/prove/kube-experiment");
    fs_err::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.toml"));
    fs_err::write(&path, text)?;
    Ok(path.display().to_string())
}

/// What the API server has of the nodes' settings: data of ConfigMaps, and StatefulSets as they are asked for.
pub(super) fn settings(name: &str) -> Result<Value, Box<dyn Error>> {
    let label = "app.kubernetes.io/managed-by=helenus";
    let found = kubectl_json(&["get", "configmap,statefulset", "-n", name, "-l", label])?;
    let found = found["items"].as_array().into_iter().flatten();
    Ok(found
        .map(|one| {
            json!([
                one["kind"],
                one["metadata"]["name"],
                one["data"],
                one["spec"]
            ])
        })
        .collect())
}

/// Whether the settings are what they were, and all pods serve.
pub(super) fn same(sheet: &mut Sheet, when: &str, name: &str, before: &Value) -> Tried {
    let after = settings(name)?;
    let pods = kubectl_json(&["get", "pods", "-n", name, "-l", "helenus.io/set"])?;
    let ready = |pod: &Value| {
        let conditions = pod.pointer("/status/conditions").and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
    };
    let pods: Vec<bool> = pods["items"]
        .as_array()
        .into_iter()
        .flatten()
        .map(ready)
        .collect();
    let serves = !pods.is_empty() && pods.iter().all(|ready| *ready);
    let said = match (after == *before, serves) {
        (true, true) => "ConfigMaps and StatefulSets are equal, all pods are ready",
        (true, false) => "equal, but a pod is not ready",
        (false, _) => "they differ",
    };
    let what = format!("the old settings {when}");
    sheet.record(&what, Verdict::of(after == *before && serves), said)
}

fn texts(value: &Value) -> Vec<String> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

/// A line without the name of somebody's context.
fn without_context(text: &str) -> String {
    let Some((before, after)) = text.split_once("context ") else {
        return text.to_owned();
    };
    let (_, rest) = after.split_once(',').unwrap_or(("", ""));
    format!("{before}context CONTEXT,{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_context_is_not_kept() {
        let text = "on kube:a, context kind-mine, 1 node on worker1; Helenus 1";
        assert_eq!(
            without_context(text),
            "on kube:a, context CONTEXT, 1 node on worker1; Helenus 1"
        );
        assert_eq!(without_context("measured on"), "measured on");
    }
}
