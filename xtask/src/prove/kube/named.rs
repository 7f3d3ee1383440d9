//! `prove kube named`: faults, and how soon helenus names each with its remedy after the API server shows it.
//! Refuses to break what is not of its own clusters; only a kubelet is stopped for a minute, and goes on whatever happens.

mod faults;
mod kubelet;

use super::super::campaign::rounded;
use super::super::host::Watch;
use super::Tried;
use super::lab::{Lab, WITHIN, kubectl, kubectl_json};
use super::running::{Ran, Running, Sight};
use super::sheet::{Sheet, Verdict};
use faults::{FAULTS, Fault};
use serde::Serialize;
use serde_json::Value;
use std::error::Error;
use std::time::{Duration, Instant};

/// What it shows.
pub(super) const ABOUT: &str = "faults named with cause and remedy within 10 s after the API server shows them; nothing is left of them";

/// Longest time from what the API server shows to the line of helenus.
const NAMED_WITHIN: f64 = 10.0;

/// Longest wait until the API server shows a fault.
const SHOWN_WITHIN: Duration = Duration::from_secs(240);

/// Exit codes: of a cluster that does not come up, and of what a person has to say in another way.
const CLUSTER: i32 = 4;
const USAGE: i32 = 2;

/// Name of the clusters: their namespaces begin with it.
const NAME: &str = "prove-named";

/// The namespace of somebody else.
const FOREIGN: &str = "prove-foreign";

/// What came of a fault.
#[derive(Debug, Serialize)]
struct Named {
    /// The words of helenus.
    command: String,
    /// From what the API server shows to the line; negative where helenus was quicker than the watch beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    named_after_s: Option<f64>,
    /// From the start of the command to the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_after_s: Option<f64>,
    /// From the start of the command to its end.
    ended_after_s: f64,
    /// Exit code.
    code: i32,
    /// The line with cause and remedy.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    /// All lines, where none has both.
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
}

impl Named {
    fn of(command: &[&str], ran: &Ran, shown: Option<Instant>, words: &[&str]) -> Self {
        let line = ran.line_with(words);
        Self {
            command: command.join(" "),
            named_after_s: shown.zip(line).map(|(shown, line)| between(shown, line.at)),
            line_after_s: line.map(|line| between(ran.began, line.at)),
            ended_after_s: between(ran.began, ran.began + ran.took),
            code: ran.code,
            line: line.map(|line| line.line.clone()),
            said: line.is_none().then(|| ran.said()),
        }
    }

    /// Whether the line came in time, and the exit code is right.
    fn verdict(&self, code: i32) -> Verdict {
        let soon = self.named_after_s.is_some_and(|s| s <= NAMED_WITHIN);
        Verdict::of(soon && self.code == code)
    }

    fn summary(&self) -> String {
        let after = match (self.named_after_s, &self.said) {
            (Some(seconds), _) => format!("named after {seconds:.1} s"),
            (None, Some(said)) => format!("not named: {said}"),
            (None, None) => "named, and the API server did not show it".to_owned(),
        };
        format!("{after}, exit code {}", self.code)
    }
}

/// Seconds from one moment to another, which may be before it; in milliseconds.
fn between(from: Instant, to: Instant) -> f64 {
    let seconds = match to.checked_duration_since(from) {
        Some(after) => after.as_secs_f64(),
        None => -from.duration_since(to).as_secs_f64(),
    };
    rounded(seconds)
}

/// All faults, one after the other; one that cannot be made does not keep the others.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Result<(), Box<dyn Error>> {
    let mut remains = Vec::new();
    let mut attempt = |sheet: &mut Sheet, what: &str, fault: &dyn Fn(&mut Sheet) -> Tried| {
        let tried = lab.clear(NAME).and_then(|()| fault(sheet));
        if let Err(error) = tried {
            sheet.record(what, Verdict::Fails, &error.to_string())?;
        }
        if applied(lab)? {
            remains.extend(lab.remove(NAME)?);
        }
        Tried::Ok(())
    };
    for fault in &FAULTS {
        attempt(sheet, fault.what, &|sheet| at_start(lab, sheet, fault))?;
    }
    attempt(sheet, OUT_OF_MEMORY, &|sheet| out_of_memory(lab, sheet))?;
    attempt(sheet, KILLED, &|sheet| killed(lab, sheet))?;
    attempt(sheet, STOPPED, &|sheet| stopped(lab, sheet))?;
    if let Err(error) = foreign(lab, sheet) {
        sheet.record(SOMEBODY_ELSE, Verdict::Fails, &error.to_string())?;
    }
    kubectl(
        &["delete", "namespace", FOREIGN, "--ignore-not-found"],
        None,
    )??;
    lab.clear(FOREIGN)?;
    let said = match remains.is_empty() {
        true => "nothing with the id of a cluster is left".to_owned(),
        false => format!("left: {}", remains.join(", ")),
    };
    sheet.record("all is removed", Verdict::of(remains.is_empty()), &said)
}

fn applied(lab: &Lab) -> Result<bool, Box<dyn Error>> {
    let clusters = lab.json(&["kube", "status"])?;
    let clusters = clusters["clusters"].as_array().into_iter().flatten();
    Ok(clusters.into_iter().any(|one| one["name"] == NAME))
}

/// A fault that `kube up` runs into.
fn at_start(lab: &Lab, sheet: &mut Sheet, fault: &Fault) -> Tried {
    let watch = Watch::begin()?;
    let sight = Sight::of(&[fault.kind, "-n", NAME], fault.shown)?;
    let command = lab.up(NAME, fault.flags);
    let ran = lab.start(&command)?.end(WITHIN)?;
    let shown = sight.wait(Duration::from_secs(1)).map(|(at, _)| at);
    let named = Named::of(&command, &ran, shown, fault.words);
    let facts = serde_json::to_value(&named)?;
    let verdict = named.verdict(CLUSTER);
    sheet.found(
        fault.what,
        verdict,
        &named.summary(),
        &facts,
        Some((watch, 0.0)),
    )
}

const OUT_OF_MEMORY: &str = "memory limit below the heap";

/// Flags cannot ask for a limit that is too low: it follows from the heap. Somebody lowers it behind our back.
fn out_of_memory(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let watch = Watch::begin()?;
    let more = [&faults::WHOLE_HEAP[..], &["--no-wait"]].concat();
    lab.run(&lab.up(NAME, &more))?.well("kube up")?;
    let sets = kubectl(&["get", "statefulset", "-n", NAME, "-o", "name"], None)??;
    let set = sets.lines().next().ok_or("no StatefulSet")?;
    kubectl(
        &[
            "patch",
            set,
            "-n",
            NAME,
            "--type=json",
            "-p",
            faults::LESS_MEMORY,
        ],
        None,
    )??;
    // A pod that is not ready is not replaced by itself.
    let words = [
        "delete",
        "pod",
        "-n",
        NAME,
        "--all",
        "--grace-period=0",
        "--force",
    ];
    kubectl(&words, None)??;
    let sight = Sight::of(&["pods", "-n", NAME], faults::killed_for_memory)?;
    let command = ["kube", "wait", NAME, "--format", "json"];
    let ran = lab.run(&command)?;
    let shown = sight.wait(Duration::from_secs(1)).map(|(at, _)| at);
    let named = Named::of(&command, &ran, shown, &["OOMKilled", "--heap"]);
    let facts = serde_json::to_value(&named)?;
    let verdict = named.verdict(CLUSTER);
    sheet.found(
        OUT_OF_MEMORY,
        verdict,
        &named.summary(),
        &facts,
        Some((watch, 0.0)),
    )
}

/// A node that lost its data joins anew, through others: one alone has nobody.
const THREE: [&str; 2] = ["-n", "3"];

const KILLED: &str = "a pod killed";

/// A pod that is killed comes back, and `kube wait` ends well.
fn killed(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let watch = Watch::begin()?;
    let before = last_pod(&lab.run(&lab.up(NAME, &THREE))?.well("kube up")?.json()?)?;
    let began = Instant::now();
    lab.run(&["kube", "fault", NAME, "kill", &before.0])?
        .well("kube fault")?;
    let status = lab.run(&["kube", "wait", NAME, "--format", "json"])?;
    let seconds = between(began, Instant::now());
    let status = status.well("kube wait")?.json()?;
    let after = last_pod(&status)?;
    let good = before.0 == after.0 && before.1 != after.1;
    let said = match good {
        true => format!("another pod in its place is ready, {seconds:.1} s after the kill began"),
        false => format!("{before:?} became {after:?}"),
    };
    let facts = serde_json::json!({"ready_after_s": seconds, "before": before, "after": after, "status": status});
    sheet.found(KILLED, Verdict::of(good), &said, &facts, Some((watch, 0.0)))
}

/// Name and identity of the last pod of a status.
fn last_pod(status: &Value) -> Result<(String, String), Box<dyn Error>> {
    let pod = status["pods"].as_array().and_then(|pods| pods.last());
    let pod = pod.ok_or("a status without pods")?;
    let text = |key: &str| pod[key].as_str().map(str::to_owned);
    Ok(text("name")
        .zip(text("uid"))
        .ok_or("a pod without name or uid")?)
}

const STOPPED: &str = "a kubelet stopped";

/// A worker that does not report any more is named by a `kube wait` that begins then, and all is well once it reports again.
fn stopped(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let watch = Watch::begin()?;
    let up = lab.run(&lab.up(NAME, &[]))?.well("kube up")?.json()?;
    let worker = up["pods"][0]["worker"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let pid = match kubelet::of(&worker, lab.workers.len()) {
        Ok(pid) => pid,
        Err(why) => return sheet.record(STOPPED, Verdict::NotRun, &why),
    };
    let is = worker.clone();
    let sight = Sight::of(&["nodes"], move |node| faults::reports_no_more(node, &is))?;
    let asleep = kubelet::Asleep::send(pid)?;
    let shown = sight.wait(SHOWN_WITHIN).map(|(at, _)| at);
    let command = ["kube", "wait", NAME, "--format", "json"];
    let waits: Running = lab.start(&command)?;
    let ran = waits.end(WITHIN);
    drop(asleep);
    let ran = ran?;
    let named = Named::of(
        &command,
        &ran,
        shown,
        &[&worker, "is not ready", "start the kubelet"],
    );
    let mut facts = serde_json::to_value(&named)?;
    let ready = format!("node/{worker}");
    kubectl(
        &["wait", "--for=condition=Ready", &ready, "--timeout=180s"],
        None,
    )??;
    let again = lab.run(&command)?;
    facts["ready_again_after_s"] = between(again.began, again.began + again.took).into();
    facts["ready_again_code"] = again.code.into();
    let verdict = match again.code {
        0 => named.verdict(CLUSTER),
        _ => Verdict::Fails,
    };
    let said = format!(
        "{}; once it reports again: exit code {} after {:.1} s",
        named.summary(),
        again.code,
        again.took.as_secs_f64()
    );
    sheet.found(STOPPED, verdict, &said, &facts, Some((watch, 0.0)))
}

const SOMEBODY_ELSE: &str = "a namespace of somebody else";

/// A namespace of the same name, with something in it, stays as it is.
fn foreign(lab: &Lab, sheet: &mut Sheet) -> Tried {
    let watch = Watch::begin()?;
    kubectl(&["create", "-f", "-"], Some(faults::FOREIGN_OBJECTS))??;
    // Kubernetes puts something into it by itself.
    let wait = [
        "wait",
        "--for=create",
        "configmap/kube-root-ca.crt",
        "-n",
        FOREIGN,
    ];
    kubectl(&wait, None)??;
    let before = contents()?;
    let began = Instant::now();
    let command = lab.up(FOREIGN, &[]);
    let ran = lab.run(&command)?;
    let named = Named::of(
        &command,
        &ran,
        Some(began),
        &[FOREIGN, "exists already", "--name"],
    );
    let same = before == contents()?;
    let mut facts = serde_json::to_value(&named)?;
    facts["unchanged"] = same.into();
    let kept = if same {
        "nothing in it changed"
    } else {
        "IT CHANGED"
    };
    let said = format!("{}; {kept}", named.summary());
    let verdict = match same {
        true => named.verdict(USAGE),
        false => Verdict::Fails,
    };
    sheet.found(SOMEBODY_ELSE, verdict, &said, &facts, Some((watch, 0.0)))
}

/// The namespace and all that people put into one, as the API server has it, with its revisions.
fn contents() -> Result<(Value, Value), Box<dyn Error>> {
    let kinds = "pods,services,configmaps,secrets,statefulsets,persistentvolumeclaims,poddisruptionbudgets,networkpolicies,jobs";
    let all = kubectl_json(&["get", kinds, "-n", FOREIGN])?;
    Ok((
        kubectl_json(&["get", "namespace", FOREIGN])?,
        all["items"].clone(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prove::kube::running::Said;

    #[test]
    fn a_fault_is_named_in_time_with_its_cause_and_its_remedy_or_it_is_not() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let ran = |code| Ran {
            code,
            out: String::new(),
            lines: vec![Said {
                at: at(12),
                line: "caution: a/b: unschedulable: x; ask for less".to_owned(),
            }],
            began,
            took: Duration::from_secs(20),
        };
        let words = ["unschedulable", "ask for less"];
        let named = |code, shown: u64, words: &[&str]| {
            Named::of(&["kube", "up"], &ran(code), Some(at(shown)), words)
        };
        assert_eq!(named(4, 3, &words).verdict(4), Verdict::Holds);
        assert_eq!(
            named(4, 3, &words).summary(),
            "named after 9.0 s, exit code 4"
        );
        // Quicker than the watch beside it.
        assert_eq!(named(4, 13, &words).named_after_s, Some(-1.0));
        assert_eq!(named(4, 13, &words).verdict(4), Verdict::Holds);
        assert_eq!(named(4, 1, &words).verdict(4), Verdict::Fails);
        assert_eq!(named(0, 3, &words).verdict(4), Verdict::Fails);
        let other = named(4, 3, &["unschedulable", "buy more"]);
        assert_eq!(other.verdict(4), Verdict::Fails);
        assert!(other.summary().starts_with("not named: caution:"));
        let unseen = Named::of(&[], &ran(4), None, &words);
        assert_eq!(unseen.verdict(4), Verdict::Fails);
    }
}
