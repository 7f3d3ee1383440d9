//! `prove kube`: every form of a rendering against a real API server with strict validation, and each with a misspelt field.
//! Refuses a cluster that nobody named by KUBECONFIG, and touches only namespaces that it made.

use super::host::{self, Host};
use super::rig;
use serde::Serialize;
use serde_json::Value;
use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What `--list` says.
pub(crate) const ABOUT: &str = "kube render: each form accepted by the API server of KUBECONFIG, and refused with a misspelt field";

/// Form of the lines.
const FORMAT: &str = "helenus.proof-kube/1";

/// Name of the clusters that are rendered: their namespaces begin with it.
const NAME: &str = "helenus-prove";

/// What Kubernetes lacks without K8ssandra's operators.
const CRDS: [&str; 2] = [
    "k8ssandraclusters.k8ssandra.io",
    "cassandradatacenters.cassandra.datastax.com",
];

/// A form with its flags, and a field to misspell.
const FORMS: [(&str, &str, &str); 18] = [
    ("plain, one", "-n 1", "podManagementPolicy"),
    ("plain, three", "-n 3 --spread preferred", "podAntiAffinity"),
    ("plain, 3 x 5", "-n 5:5:5 --worker-label dc", "nodeSelector"),
    (
        "plain, racks and coordinators",
        "-n 4 --racks 2 --coordinators 1",
        "startupProbe",
    ),
    ("plain, auth and TLS", "-n 3 --auth --tls", "secretName"),
    (
        "plain, without volumes",
        "-n 3 --storage none --cpus 0.5",
        "emptyDir",
    ),
    (
        "plain, one namespace",
        "-n 2:2 --namespace helenus-prove-all",
        "publishNotReadyAddresses",
    ),
    ("kustomize's resources, three", "-n 3", "maxUnavailable"),
    ("k8ssandra, one", "-n 1 --as k8ssandra", "serverVersion"),
    (
        "k8ssandra, three",
        "-n 3 --as k8ssandra --spread preferred",
        "softPodAntiAffinity",
    ),
    (
        "k8ssandra, 3 x 5",
        "-n 5:5:5 --as k8ssandra --worker-label dc --context DC2=west",
        "k8sContext",
    ),
    ("k8ssandra, racks", "-n 4 --racks 3 --as k8ssandra", "racks"),
    (
        "k8ssandra, gateway",
        "-n 3 --coordinators 1 --cassandra 4.0 --as k8ssandra",
        "allowStargateOnDataNodes",
    ),
    (
        "k8ssandra, auth and TLS",
        "-n 3 --auth --tls --as k8ssandra --superuser-secret admin",
        "keystoreSecretRef",
    ),
    (
        "k8ssandra, Medusa, Reaper, telemetry",
        "-n 3 --as k8ssandra --medusa backups --medusa-region us-east-1 --reaper --telemetry",
        "storageProvider",
    ),
    (
        "k8ssandra, Medusa on a volume",
        "-n 3 --as k8ssandra --medusa backups --medusa-provider local",
        "podStorage",
    ),
    (
        "cass-operator, one",
        "-n 1 --as cass-operator",
        "serverType",
    ),
    (
        "cass-operator, three",
        "-n 3 --racks 3 --as cass-operator",
        "storageConfig",
    ),
];

/// One form at one API server.
#[derive(Serialize)]
struct Trial {
    format: &'static str,
    form: &'static str,
    flags: &'static str,
    at_unix: u64,
    host: Host,
    /// Version of the API server.
    server: String,
    /// How many resources it accepted.
    accepted: usize,
    /// Its words where it refused one.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// Its words about the misspelt field; absent where it took it.
    #[serde(skip_serializing_if = "Option::is_none")]
    misspelt: Option<String>,
}

impl Trial {
    fn holds(&self) -> bool {
        self.refused.is_none() && self.accepted > 0 && self.misspelt.is_some()
    }
}

/// Renders and validates all forms, and tells whether all hold.
pub(crate) fn run(root: &Path) -> Result<bool, Box<dyn Error>> {
    std::env::var_os("KUBECONFIG")
        .ok_or("set KUBECONFIG to the file of a cluster that may be thrown away")?;
    for crd in CRDS {
        let found = kubectl(&["get", "crd", crd, "-o", "name"], None)?;
        found.map_err(|why| {
            format!("{why}\napply the CRDs of k8ssandra-operator and cass-operator")
        })?;
    }
    let target = rig::build(root, false)?;
    let helenus = target.join("debug/helenus");
    let version = kubectl(&["version", "-o", "json"], None)?;
    let version: Value = serde_json::from_str(&version?)?;
    let server = version["serverVersion"]["gitVersion"]
        .as_str()
        .unwrap_or("?")
        .to_owned();
    let machine = Host::read(String::new(), root);
    let date = host::date(host::now_unix());
    let path: PathBuf = root.join(format!(
        "benches/runs/kube-forms-{date}-{}.jsonl",
        machine.hash
    ));
    let mut made = Vec::new();
    let trials = FORMS.iter().map(|(form, flags, field)| {
        let mut trial = Trial {
            format: FORMAT,
            form,
            flags,
            at_unix: host::now_unix(),
            host: machine.clone(),
            server: server.clone(),
            accepted: 0,
            refused: None,
            misspelt: None,
        };
        attempt(&helenus, field, &mut trial, &mut made)?;
        Ok(trial)
    });
    let trials: Result<Vec<Trial>, Box<dyn Error>> = trials.collect();
    for namespace in &made {
        kubectl(&["delete", "namespace", namespace, "--wait=false"], None)??;
    }
    let trials = trials?;
    let lines: Result<Vec<String>, _> = trials.iter().map(serde_json::to_string).collect();
    fs_err::write(&path, lines?.join("\n") + "\n")?;
    println!("\n{}", path.display());
    for trial in &trials {
        let said = match (&trial.refused, &trial.misspelt) {
            (Some(why), _) => format!("REFUSED: {why}"),
            (None, None) => "accepted with a misspelt field, too".to_owned(),
            (None, Some(_)) => format!("{} resources accepted, misspelt refused", trial.accepted),
        };
        println!("{:<38} {said}", trial.form);
    }
    let holds = trials.iter().filter(|trial| trial.holds()).count();
    println!("{holds} of {} forms hold ({server})", trials.len());
    Ok(holds == trials.len())
}

fn attempt(
    helenus: &Path,
    field: &str,
    trial: &mut Trial,
    made: &mut Vec<String>,
) -> Result<(), Box<dyn Error>> {
    let render = |more: &[&str]| -> Result<String, Box<dyn Error>> {
        let output = Command::new(helenus)
            .args(["kube", "render", "--name", NAME])
            .args(trial.flags.split(' '))
            .args(more)
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(String::from_utf8(output.stdout)?)
    };
    let plan: Value = serde_json::from_str(&render(&["--format", "json"])?)?;
    for name in plan["namespaces"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        // A namespaced resource is validated in a namespace that exists.
        if !made.iter().any(|known| known == name) {
            kubectl(&["create", "namespace", name], None)??;
            made.push(name.to_owned());
        }
    }
    let text = render(&[])?;
    match dry_run(&text)? {
        Ok(said) => trial.accepted = said.lines().count(),
        Err(why) => trial.refused = Some(why),
    }
    let wrong = format!("{field}x:");
    let misspelt = text.replacen(&format!("{field}:"), &wrong, 1);
    if misspelt == text {
        return Err(format!("{}: no field {field}", trial.form).into());
    }
    trial.misspelt = dry_run(&misspelt)?.err();
    Ok(())
}

fn dry_run(text: &str) -> Result<Result<String, String>, Box<dyn Error>> {
    let words = [
        "apply",
        "--server-side",
        "--dry-run=server",
        "--validate=strict",
        "-f",
        "-",
    ];
    kubectl(&words, Some(text))
}

/// kubectl's output, or its words where it failed.
fn kubectl(words: &[&str], input: Option<&str>) -> Result<Result<String, String>, Box<dyn Error>> {
    let mut child = Command::new("kubectl")
        .args(words)
        .stdin(if input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        stdin.write_all(text.as_bytes())?;
    }
    let output = child.wait_with_output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    Ok(match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    })
}
