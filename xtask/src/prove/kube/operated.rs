//! `prove kube operated`: the guide of 2021 by one command, `kube up --as k8ssandra … -- run iot --rate 100`, and the same with
//! cass-operator alone. The operators are played here: what they would make of the resource is made by their conventions, from
//! our own image. Refuses to call that a trial of the operators.

use super::super::rig::until;
use super::Tried;
use super::lab::{Lab, WITHIN, kubectl, kubectl_json, left};
use super::running::Ran;
use super::sheet::{Sheet, Verdict};
use super::wan::CQL_PORT;
use helenus_cql::Consistency;
use helenus_cql::client::{Client, ConnectOptions, Credentials, Secret};
use serde_json::{Value, json};
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// What it shows.
pub(super) const ABOUT: &str = "kube up --as k8ssandra and cass-operator with a load behind it, on pods by cass-operator's conventions; \
     the operators are played";

/// The namespace, which is a person's.
const SPACE: &str = "prove-operated";

/// The data centre of `-n 2`, and its rack.
const CENTER: &str = "datacenter1";

/// Longest wait for what helenus applies.
const APPLIED_WITHIN: Duration = Duration::from_secs(60);

/// Longest wait for the stock superuser, which a node makes some seconds after it serves.
const STOCK_WITHIN: Duration = Duration::from_secs(60);

/// The custom resource of cass-operator.
const DATACENTERS: &str = "cassandradatacenters.cassandra.datastax.com";

/// A form of a cluster, and what its operators are.
struct Form {
    word: &'static str,
    /// The custom resource that helenus applies.
    resource: &'static str,
    /// Name of the cluster.
    name: &'static str,
}

const FORMS: [Form; 2] = [
    Form {
        word: "k8ssandra",
        resource: "k8ssandraclusters.k8ssandra.io",
        name: "prove-k8",
    },
    Form {
        word: "cass-operator",
        resource: DATACENTERS,
        name: "prove-cass",
    },
];

/// Both forms, one after the other.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Tried {
    for form in &FORMS {
        let what = format!("{}: what the operators are needed for", form.word);
        if let Err(said) = kubectl(&["get", "crd", form.resource, DATACENTERS], None)? {
            sheet.record(&what, Verdict::NotRun, &said)?;
            continue;
        }
        lab.clear(form.name)?;
        kubectl(&["create", "namespace", SPACE], None)??;
        let tried = operators().and_then(|()| form.whole(lab, sheet));
        kubectl(&["delete", "namespace", SPACE], None)??;
        tried?;
    }
    Ok(())
}

/// Deployments of the operators' names, without pods.
fn operators() -> Tried {
    let deployment = |name: &str| {
        let labels = json!({"app": name});
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": SPACE},
            "spec": {
                "replicas": 0, "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [{"name": "none", "image": "localhost/none:1"}]},
                },
            },
        })
    };
    let all = ["k8ssandra-operator", "cass-operator"].map(deployment);
    apply(&json!({"apiVersion": "v1", "kind": "List", "items": all}))
}

fn apply(what: &Value) -> Tried {
    kubectl(&["apply", "-f", "-"], Some(&what.to_string()))??;
    Ok(())
}

impl Form {
    fn whole(&self, lab: &Lab, sheet: &mut Sheet) -> Tried {
        let flags = ["-n", "2", "--auth", "--as", self.word, "--namespace", SPACE];
        let then = [
            "--",
            "run",
            "iot",
            "--rate",
            "100",
            "--phase",
            "main",
            "--duration",
            "30s",
        ];
        let mut words = lab.up(self.name, &flags);
        words.extend(then);
        let begin = Instant::now();
        let running = lab.start(&words)?;
        let password = self.play(lab)?;
        let ran = running.end(WITHIN)?;
        self.reported(sheet, &ran, &words.join(" "), begin.elapsed())?;
        self.used(lab, sheet)?;
        self.doors(lab, sheet, &password)?;
        self.removed(lab, sheet)
    }

    /// What the operators would do; answers the superuser's password.
    fn play(&self, lab: &Lab) -> Result<String, Box<dyn Error>> {
        let resource = self.applied()?;
        let center = match resource["kind"] == "CassandraDatacenter" {
            true => resource.clone(),
            false => self.data_center(&resource)?,
        };
        let password = fs_err::read_to_string("/proc/sys/kernel/random/uuid")?;
        let password = password.trim().to_owned();
        let secret = format!("{}-superuser", self.name);
        apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": secret, "namespace": SPACE, "ownerReferences": [owner(&center)]},
            "stringData": {"username": secret, "password": password},
        }))?;
        self.nodes(lab, &center)?;
        let set = format!("statefulset/{}", self.set());
        let wait = ["rollout", "status", &set, "-n", SPACE, "--timeout=600s"];
        kubectl(&wait, None)??;
        self.superuser(&secret, &password)?;
        let ready = json!({
            "cassandraOperatorProgress": "Ready",
            "conditions": [{"type": "Ready", "status": "True", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "nodeReplacements": [], "nodeStatuses": {},
        });
        status(DATACENTERS, &center, &ready)?;
        if resource["kind"] != "CassandraDatacenter" {
            let of_cluster =
                json!({"datacenters": {CENTER: {"cassandra": ready}}, "error": "None"});
            status(self.resource, &resource, &of_cluster)?;
        }
        Ok(password)
    }

    /// The resource that helenus applied.
    fn applied(&self) -> Result<Value, Box<dyn Error>> {
        let applied = until(APPLIED_WITHIN, Duration::from_millis(500), || {
            let found = kubectl_json(&["get", self.resource, "-n", SPACE])?;
            Ok(found["items"].get(0).cloned())
        })?;
        applied.ok_or_else(|| format!("helenus applied no {}", self.resource).into())
    }

    /// What k8ssandra-operator makes of a `K8ssandraCluster`.
    fn data_center(&self, cluster: &Value) -> Result<Value, Box<dyn Error>> {
        let spec = &cluster["spec"]["cassandra"];
        apply(&json!({
            "apiVersion": "cassandra.datastax.com/v1beta1", "kind": "CassandraDatacenter",
            "metadata": {
                "name": CENTER, "namespace": SPACE, "ownerReferences": [owner(cluster)],
                "labels": {"k8ssandra.io/cluster-name": self.name, "k8ssandra.io/cluster-namespace": SPACE},
            },
            "spec": {
                "clusterName": spec["clusterName"], "serverType": "cassandra", "serverVersion": spec["serverVersion"],
                "size": spec["datacenters"][0]["size"], "storageConfig": spec["storageConfig"],
                "managementApiAuth": {"insecure": {}},
            },
        }))?;
        kubectl_json(&["get", DATACENTERS, CENTER, "-n", SPACE])
    }

    /// The StatefulSet of the only rack.
    fn set(&self) -> String {
        format!("{}-{CENTER}-rack1-sts", self.name)
    }

    /// StatefulSet, pods and services with cass-operator's names and labels; in the pods is our image.
    fn nodes(&self, lab: &Lab, center: &Value) -> Tried {
        let flags = ["-n", "2", "--auth", "--namespace", SPACE];
        let up = lab.up(self.name, &flags);
        // The same flags make the manifests of plain pods.
        let kept = up
            .iter()
            .skip(2)
            .filter(|word| !["--format", "json"].contains(word));
        let render: Vec<&str> = ["kube", "render"]
            .into_iter()
            .chain(kept.copied())
            .collect();
        let text = lab.run(&render)?.well("kube render")?.out;
        let plain = format!("{}-{CENTER}-rack1", self.name);
        let text = text
            .replace(&plain, &self.set())
            .replace("helenus.io/", "played.invalid/");
        let made = ["create", "--dry-run=client", "-o", "json", "-f", "-"];
        let made = kubectl(&made, Some(&text))??;
        let made = serde_json::Deserializer::from_str(&made).into_iter();
        let mut all: Vec<Value> = made.collect::<Result<_, _>>()?;
        let labels = json!({
            "app.kubernetes.io/managed-by": "cass-operator",
            "cassandra.datastax.com/cluster": self.name,
            "cassandra.datastax.com/datacenter": CENTER,
            "cassandra.datastax.com/rack": "rack1",
        });
        for item in &mut all {
            item["metadata"]["ownerReferences"] = json!([owner(center)]);
            merge(&mut item["metadata"]["labels"], &labels);
            if item["kind"] == "StatefulSet" {
                let pod = &mut item["spec"]["template"]["metadata"]["labels"];
                merge(pod, &labels);
                pod["cassandra.datastax.com/node-state"] = "Started".into();
            }
        }
        all.push(json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": format!("{}-{CENTER}-service", self.name), "namespace": SPACE, "labels": labels, "ownerReferences": [owner(center)]},
            "spec": {
                "clusterIP": "None", "ports": [{"name": "native", "port": CQL_PORT}],
                "selector": {"cassandra.datastax.com/cluster": self.name, "cassandra.datastax.com/datacenter": CENTER},
            },
        }));
        apply(&json!({"apiVersion": "v1", "kind": "List", "items": all}))
    }

    /// The superuser of the Secret, in place of the stock one.
    fn superuser(&self, user: &str, password: &str) -> Tried {
        let address = self.address()?;
        let begin = Instant::now();
        let mut client = loop {
            match enter(address, "cassandra", "cassandra") {
                Ok(client) => break client,
                Err(error) if begin.elapsed() > STOCK_WITHIN => return Err(error),
                Err(_) => std::thread::sleep(Duration::from_secs(1)),
            }
        };
        let role = format!(
            "CREATE ROLE \"{user}\" WITH PASSWORD = '{password}' AND LOGIN = true AND SUPERUSER = true"
        );
        client.query(&role, Consistency::One)?;
        let mut client = enter(address, user, password)?;
        client.query("ALTER ROLE cassandra WITH LOGIN = false", Consistency::One)?;
        Ok(())
    }

    fn address(&self) -> Result<SocketAddr, Box<dyn Error>> {
        let pod = format!("{}-0", self.set());
        let pod = kubectl_json(&["get", "pod", &pod, "-n", SPACE])?;
        let ip = pod["status"]["podIP"].as_str().unwrap_or_default();
        Ok(SocketAddr::new(ip.parse::<IpAddr>()?, CQL_PORT))
    }

    /// What the one command said.
    fn reported(&self, sheet: &mut Sheet, ran: &Ran, command: &str, took: Duration) -> Tried {
        let printed = ran.json().unwrap_or_default();
        let total = printed
            .pointer("/result/phases/0/total")
            .cloned()
            .unwrap_or_default();
        let completed = total["completed"].as_u64().unwrap_or_default();
        let failed = total["failed"].as_object();
        let failed: u64 = failed.map_or(0, |all| all.values().filter_map(Value::as_u64).sum());
        let p99 = total["response"]["p99_us"].as_f64();
        let holds = ran.code == 0 && completed > 0 && failed == 0 && p99.is_some();
        let said = format!(
            "exit code {}; {completed} operations, {failed} failed, p99 response time {:.2} ms, verdict {}; {:.0} s in all",
            ran.code,
            p99.unwrap_or_default() / 1e3,
            printed["verdict"].as_str().unwrap_or("?"),
            took.as_secs_f64()
        );
        let facts = json!({"command": command, "code": ran.code, "total": total, "verdict": printed["verdict"], "said": ran.said()});
        let what = format!("{}: up, superuser, iot at 100/s, one command", self.word);
        sheet.found(&what, Verdict::of(holds), &said, &facts, None)
    }

    /// Other ways to it by its name.
    fn used(&self, lab: &Lab, sheet: &mut Sheet) -> Tried {
        let on = format!("kube:{}", self.name);
        let lines: [&[&str]; 5] = [
            &["bench", "--on", &on, "--rate", "200", "--duration", "5s"],
            &[
                "stress",
                "--on",
                &on,
                "write",
                "n=2000",
                "-rate",
                "threads=8",
            ],
            &[
                "run",
                "standard1",
                "--ops",
                "write=1",
                "--rate",
                "100",
                "--duration",
                "5s",
                "--processes",
                "2",
                "--on",
                &on,
            ],
            &[
                "kube",
                "cql",
                self.name,
                "-e",
                "SELECT cluster_name FROM system.local",
            ],
            &["kube", "nodetool", self.name, "status"],
        ];
        for line in lines {
            let ran = lab.run(line)?;
            let what = format!("{}: helenus {}", self.word, line[..2].join(" "));
            let facts = json!({"command": line.join(" "), "code": ran.code, "said": ran.said()});
            let said = format!("exit code {}, {:.1} s", ran.code, ran.took.as_secs_f64());
            sheet.found(&what, Verdict::of(ran.code == 0), &said, &facts, None)?;
        }
        Ok(())
    }

    /// What is the operators' is refused with exit code 2, and the password is nowhere else.
    fn doors(&self, lab: &Lab, sheet: &mut Sheet, password: &str) -> Tried {
        let refused: [&[&str]; 4] = [
            &["kube", "rm", self.name],
            &["kube", "scale", self.name, "--nodes", "3"],
            &["kube", "restart", self.name],
            &["kube", "fault", self.name, "cut", CENTER, "other"],
        ];
        let mut codes = Vec::new();
        for line in refused {
            codes.push(lab.run(line)?.code);
        }
        let what = format!("{}: what the operators do is refused", self.word);
        let said = format!("exit codes {codes:?}");
        sheet.record(
            &what,
            Verdict::of(codes.iter().all(|code| *code == 2)),
            &said,
        )?;
        let state = lab
            .home
            .join("state/kube")
            .join(format!("{}.json", self.name));
        let state = fs_err::read_to_string(state)?;
        let events = kubectl(
            &["get", "job,pod,event,configmap", "-n", SPACE, "-o", "yaml"],
            None,
        )??;
        let shown = [state, events].iter().any(|text| text.contains(password));
        let what = format!("{}: the password is in its Secret only", self.word);
        sheet.record(&what, Verdict::of(!shown), "")
    }

    fn removed(&self, lab: &Lab, sheet: &mut Sheet) -> Tried {
        let id = lab.id(self.name)?;
        let ran = lab
            .run(&["kube", "rm", self.name, "--volumes"])?
            .well("kube rm")?;
        let mut remains = left(&id)?;
        let jobs = kubectl(&["get", "job,pod", "-n", SPACE, "-o", "name"], None)??;
        remains.extend(jobs.lines().map(str::to_owned));
        let said = match remains.is_empty() {
            true => format!("nothing is left, {:.1} s", ran.took.as_secs_f64()),
            false => format!("left: {}", remains.join(", ")),
        };
        let what = format!("{}: kube rm leaves nothing", self.word);
        sheet.record(&what, Verdict::of(remains.is_empty()), &said)
    }
}

fn enter(address: SocketAddr, user: &str, password: &str) -> Result<Client, Box<dyn Error>> {
    let options = ConnectOptions {
        credentials: Some(Credentials {
            username: user.to_owned(),
            password: Secret::new(password),
        }),
        ..ConnectOptions::default()
    };
    Ok(Client::connect(address, &options)?)
}

fn owner(resource: &Value) -> Value {
    json!({
        "apiVersion": resource["apiVersion"], "kind": resource["kind"],
        "name": resource["metadata"]["name"], "uid": resource["metadata"]["uid"],
    })
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}

/// The status that an operator writes.
fn status(resource: &str, of: &Value, status: &Value) -> Tried {
    let name = of["metadata"]["name"].as_str().unwrap_or_default();
    let patch = json!({"status": status}).to_string();
    let words = [
        "patch",
        resource,
        name,
        "-n",
        SPACE,
        "--subresource=status",
        "--type=merge",
        "-p",
        &patch,
    ];
    kubectl(&words, None)??;
    Ok(())
}
