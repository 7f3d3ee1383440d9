//! `prove kube cut`: what `kube fault cut` says of a network that ignores policies, of one that holds new connections only,
//! and of one that holds every packet. Here the worker's kernel gets what the policies say, as from a network plugin.
//! Refuses to call that a trial of any plugin.

use super::Tried;
use super::lab::{Lab, kubectl_json};
use super::sheet::{Sheet, Verdict};
use helenus_model::kube::ID;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::error::Error;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What it shows.
pub(super) const ABOUT: &str = "a cut between two data centres as a network enforces it: not at all, for new connections, for all; \
     a stand-in plays the plugin";

const NAME: &str = "prove-cut";

/// The command that runs another one where the worker's packets are forwarded; its words are the last ones.
const NODE: &str = "HELENUS_PROVE_NODE";

/// Our chain there.
const CHAIN: &str = "HELENUS-PROVE";

/// Between two looks at the policies.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Longest wait until the nodes see each other up again.
const HEALED_WITHIN: Duration = Duration::from_secs(120);

/// What becomes of packets that no policy lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plugin {
    /// They pass.
    None,
    /// Those of connections that were open pass.
    New,
    /// None passes.
    All,
}

/// Each kind of network, and what helenus must say of it.
const KINDS: [(Plugin, &str, i32, &str); 3] = [
    (
        Plugin::None,
        "policies are ignored",
        3,
        "network policies are not enforced",
    ),
    (
        Plugin::New,
        "new connections are held",
        0,
        "not enforced for open ones",
    ),
    (
        Plugin::All,
        "all packets are held",
        0,
        "enforced, also for open connections",
    ),
];

/// Two data centres, cut three times.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Tried {
    lab.clear(NAME)?;
    lab.run(&lab.up(NAME, &["-n", "1:1"]))?.well("kube up")?;
    let tried = KINDS.iter().try_for_each(|kind| {
        let node = Node::of_environment();
        match (kind.0, node) {
            (Plugin::New | Plugin::All, None) => {
                let said = format!("set {NODE} to the command that runs another one on the worker");
                sheet.record(kind.1, Verdict::NotRun, &said)
            }
            (_, node) => cut(lab, sheet, kind, node),
        }
    });
    let left = lab.remove(NAME)?;
    let what = format!("nothing of {NAME} is left");
    sheet.record(&what, Verdict::of(left.is_empty()), &left.join(", "))?;
    tried
}

fn cut(
    lab: &Lab,
    sheet: &mut Sheet,
    (plugin, what, code, words): &(Plugin, &str, i32, &str),
    node: Option<Node>,
) -> Tried {
    let id = lab.id(NAME)?;
    let ends = AtomicBool::new(false);
    let node = node.filter(|_| *plugin != Plugin::None);
    std::thread::scope(|scope| {
        let plays = node.as_ref().map(|node| {
            let (ends, id) = (&ends, &id);
            scope.spawn(move || {
                node.play(*plugin, id, ends)
                    .map_err(|error| error.to_string())
            })
        });
        let tried = one(lab, sheet, &id, (what, *code, words));
        ends.store(true, Ordering::Relaxed);
        if let Some(plays) = plays {
            let played = plays.join().map_err(|_| "the stand-in panicked")?;
            let said = played.as_ref().err().cloned().unwrap_or_default();
            let row = format!("{what}: the stand-in played to its end");
            sheet.record(&row, Verdict::of(played.is_ok()), &said)?;
        }
        tried
    })
}

/// Cuts, and heals.
fn one(lab: &Lab, sheet: &mut Sheet, id: &str, (what, code, words): (&str, i32, &str)) -> Tried {
    let ran = lab.run(&["kube", "fault", NAME, "cut", "DC1", "DC2"])?;
    let answer = format!("{} {}", ran.out, ran.said());
    let policies = policies(id)?.len();
    // What is not enforced is taken back.
    let holds = ran.code == code && answer.contains(words) && (policies == 0) == (code != 0);
    let line = answer.lines().find(|line| line.contains("enforced"));
    let said = format!(
        "exit code {}, {:.1} s, {policies} policies: {}",
        ran.code,
        ran.took.as_secs_f64(),
        line.unwrap_or_default().trim()
    );
    let facts = json!({"code": ran.code, "out": ran.out, "said": ran.said()});
    sheet.found(what, Verdict::of(holds), &said, &facts, None)?;
    if code != 0 {
        return Ok(());
    }
    let begin = Instant::now();
    lab.run(&["kube", "heal", NAME])?.well("kube heal")?;
    let healed = loop {
        let status = lab.run(&["kube", "nodetool", NAME, "status"])?.out;
        let normal = status.lines().filter(|line| line.starts_with("UN")).count();
        if normal == 2 || begin.elapsed() > HEALED_WITHIN {
            break normal == 2;
        }
    };
    let said = format!(
        "all up and normal after {:.1} s",
        begin.elapsed().as_secs_f64()
    );
    sheet.record(&format!("{what}: healed"), Verdict::of(healed), &said)
}

/// The policies of a cluster.
fn policies(id: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let label = format!("{ID}={id}");
    let found = kubectl_json(&["get", "networkpolicies", "-A", "-l", &label])?;
    Ok(found["items"].as_array().cloned().unwrap_or_default())
}

/// The worker.
#[derive(Debug)]
pub(super) struct Node {
    words: Vec<String>,
}

impl Node {
    /// The one whose command is in the environment.
    pub(super) fn of_environment() -> Option<Self> {
        let words = std::env::var(NODE).ok()?;
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(Self { words })
    }

    /// Runs a line there.
    pub(super) fn shell(&self, script: &str) -> Tried {
        let output = Command::new(&self.words[0])
            .args(&self.words[1..])
            .args(["sh", "-c", script])
            .output()?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().into()),
        }
    }

    /// Holds packets as the policies say, until `ends` is set.
    fn play(&self, plugin: Plugin, id: &str, ends: &AtomicBool) -> Tried {
        self.shell(&format!(
            "iptables -w -N {CHAIN} && iptables -w -I FORWARD -j {CHAIN}"
        ))?;
        let mut held = BTreeSet::new();
        let tried = loop {
            if ends.load(Ordering::Relaxed) {
                break Ok(());
            }
            let turn = self.turn(plugin, id, &mut held);
            if turn.is_err() {
                break turn;
            }
            std::thread::sleep(LOOK_EVERY);
        };
        let ended = self.shell(&format!(
            "iptables -w -D FORWARD -j {CHAIN}; iptables -w -F {CHAIN}; iptables -w -X {CHAIN}"
        ));
        tried.and(ended)
    }

    fn turn(&self, plugin: Plugin, id: &str, held: &mut BTreeSet<(String, String)>) -> Tried {
        let pods = kubectl_json(&["get", "pods", "-A"])?;
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        let wanted = refused(&policies(id)?, &pods);
        if wanted == *held {
            return Ok(());
        }
        let mut script = format!("iptables -w -F {CHAIN}");
        let which = match plugin {
            Plugin::New => "-m conntrack --ctstate NEW ",
            Plugin::None | Plugin::All => "",
        };
        for (from, to) in &wanted {
            script += &format!(" && iptables -w -A {CHAIN} -s {from} -d {to} {which}-j DROP");
        }
        self.shell(&script)?;
        *held = wanted;
        Ok(())
    }
}

/// Addresses of pods between which these policies let nothing pass, from and to.
fn refused(policies: &[Value], pods: &[Value]) -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    let ip = |pod: &Value| pod["status"]["podIP"].as_str().map(str::to_owned);
    for policy in policies {
        let space = &policy["metadata"]["namespace"];
        let chosen = &policy["spec"]["podSelector"]["matchLabels"];
        let own = pods
            .iter()
            .filter(|pod| pod["metadata"]["namespace"] == *space && has(pod, chosen));
        for (own, other) in own.flat_map(|own| pods.iter().map(move |other| (own, other))) {
            let (Some(own), Some(address)) = (ip(own), ip(other)) else {
                continue;
            };
            if !lets(&policy["spec"]["ingress"][0]["from"], other, &address) {
                all.insert((address.clone(), own.clone()));
            }
            if !lets(&policy["spec"]["egress"][0]["to"], other, &address) {
                all.insert((own, address));
            }
        }
    }
    all
}

fn has(pod: &Value, labels: &Value) -> bool {
    let labels = labels.as_object();
    labels.is_some_and(|labels| {
        let mut labels = labels.iter();
        labels.all(|(key, value)| pod["metadata"]["labels"][key] == *value)
    })
}

/// Whether one of these peers is this pod.
fn lets(peers: &Value, pod: &Value, address: &str) -> bool {
    let mut peers = peers.as_array().into_iter().flatten();
    peers.any(|peer| match peer["ipBlock"]["except"].as_array() {
        Some(except) => !except.iter().any(|one| *one == format!("{address}/32")),
        None => {
            let expressions = peer["podSelector"]["matchExpressions"].as_array();
            let mut expressions = expressions.into_iter().flatten();
            expressions.all(|one| {
                let key = one["key"].as_str().unwrap_or_default();
                let values = one["values"].as_array();
                let own = &pod["metadata"]["labels"][key];
                let among = values.is_some_and(|values| values.contains(own));
                one["operator"] == "NotIn" && !among
            })
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use helenus_model::kube::policy::{Side, cut};
    use helenus_model::kube::{DATA_CENTER, INSTANCE};
    use helenus_model::yaml;

    #[test]
    fn a_cut_refuses_what_goes_between_its_sides_and_nothing_else() {
        let side = |label: &str, ip: &str| Side {
            namespace: format!("demo-{label}"),
            label: label.to_owned(),
            addresses: vec![ip.to_owned()],
        };
        let text = cut(
            "demo",
            "id",
            &[side("dc1", "10.0.0.1"), side("dc2", "10.0.0.2")],
        );
        let policies: Vec<Value> = text
            .split("---\n")
            .map(|one| yaml::parse(one).expect("yaml"))
            .collect();
        let pod = |label: &str, ip: &str| {
            json!({
                "metadata": {"namespace": format!("demo-{label}"), "labels": {INSTANCE: "demo", DATA_CENTER: label}},
                "status": {"podIP": ip},
            })
        };
        let pods = [
            pod("dc1", "10.0.0.1"),
            pod("dc2", "10.0.0.2"),
            pod("dc3", "10.0.0.3"),
        ];
        let one = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let wanted = BTreeSet::from([one("10.0.0.1", "10.0.0.2"), one("10.0.0.2", "10.0.0.1")]);
        assert_eq!(refused(&policies, &pods), wanted);
    }
}
