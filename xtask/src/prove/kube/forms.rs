//! `prove kube forms`: every form of a rendering against a real API server with strict validation, and each with a misspelt field.
//! Refuses to touch namespaces that it did not make.

use super::super::host::Watch;
use super::Tried;
use super::lab::{Lab, kubectl};
use super::sheet::{Sheet, Verdict};
use serde::Serialize;
use serde_json::Value;
use std::error::Error;
use std::path::Path;
use std::process::Command;

/// What it shows.
pub(super) const ABOUT: &str =
    "each form of kube render accepted by the API server, and refused with a misspelt field";

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
#[derive(Debug, Default, Serialize)]
struct Trial {
    flags: &'static str,
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

    fn said(&self) -> String {
        match (&self.refused, &self.misspelt) {
            (Some(why), _) => format!("REFUSED: {why}"),
            (None, None) => "accepted with a misspelt field, too".to_owned(),
            (None, Some(_)) => format!("{} resources accepted, misspelt refused", self.accepted),
        }
    }
}

/// Renders and validates all forms.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Tried {
    for crd in CRDS {
        if let Err(why) = kubectl(&["get", "crd", crd, "-o", "name"], None)? {
            let said = format!("{why}: apply the CRDs of k8ssandra-operator and cass-operator");
            return sheet.record("all forms", Verdict::NotRun, &said);
        }
    }
    let mut made = Vec::new();
    let tried = FORMS.iter().try_for_each(|(form, flags, field)| {
        let watch = Watch::begin()?;
        let trial = attempt(&lab.helenus, (form, flags, field), &mut made)?;
        let facts = serde_json::to_value(&trial)?;
        let verdict = Verdict::of(trial.holds());
        sheet.found(form, verdict, &trial.said(), &facts, Some((watch, 0.0)))
    });
    for namespace in &made {
        kubectl(&["delete", "namespace", namespace, "--wait=false"], None)??;
    }
    tried
}

fn attempt(
    helenus: &Path,
    (form, flags, field): (&str, &'static str, &str),
    made: &mut Vec<String>,
) -> Result<Trial, Box<dyn Error>> {
    let mut trial = Trial {
        flags,
        ..Trial::default()
    };
    let render = |more: &[&str]| -> Result<String, Box<dyn Error>> {
        let output = Command::new(helenus)
            .args(["kube", "render", "--name", NAME])
            .args(flags.split(' '))
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
        return Err(format!("{form}: no field {field}").into());
    }
    trial.misspelt = dry_run(&misspelt)?.err();
    Ok(trial)
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
