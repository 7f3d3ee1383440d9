//! The machines of a cluster for OpenTofu or Terraform, one resource counted over the hosts, with Ansible's inventory as
//! output. Refuses a secret in any file: what opens the provider is a variable.

use super::ansible::inventory;
use super::instance::Instance;
use super::options::{Options, Provider};
use crate::kube::ManifestFile;
use crate::plan::ClusterPlan;
use crate::units::Bytes;

/// The variables that every provider needs.
const LOGIN: &str = r#"variable "ssh_public_key" {
  description = "Public key of whoever logs in, such as the text of ~/.ssh/id_ed25519.pub."
  type        = string
}

variable "user" {
  description = "User that Ansible logs in as."
  type        = string
  default     = "ubuntu"
}
"#;

const PROXMOX: &str = include_str!("../../data/hosts/tofu/proxmox.tf");
const PROXMOX_VARIABLES: &str = include_str!("../../data/hosts/tofu/proxmox-variables.tf");
const DOCKER: &str = include_str!("../../data/hosts/tofu/docker.tf");
const DOCKER_VARIABLES: &str = include_str!("../../data/hosts/tofu/docker-variables.tf");

pub(super) fn files(
    plan: &ClusterPlan,
    options: &Options,
    instances: &[Instance<'_>],
) -> Vec<ManifestFile> {
    let (main, variables) = match options.provider {
        Provider::Proxmox => (PROXMOX, PROXMOX_VARIABLES),
        Provider::Docker => (DOCKER, DOCKER_VARIABLES),
    };
    let inventory = format!("---\n{}", inventory(options, instances).render());
    let file = |path: &str, about: &str, text: String| ManifestFile {
        path: path.to_owned(),
        about: about.to_owned(),
        text,
    };
    vec![
        file("main.tf", "the machines", main.to_owned()),
        file(
            "hosts.tf",
            "names, addresses and sizes of the machines",
            hosts(plan, options),
        ),
        file(
            "variables.tf",
            "what you give it: no secret is in these files",
            format!("{variables}\n{LOGIN}"),
        ),
        file("outputs.tf", "the inventory of Ansible", OUTPUTS.to_owned()),
        file(
            "inventory.yml",
            "the inventory as a file, for helenus hosts render --as ansible",
            inventory,
        ),
    ]
}

const OUTPUTS: &str = r#"output "inventory" {
  description = "The inventory of Ansible: tofu output -raw inventory > inventory.yml"
  value       = file("${path.module}/inventory.yml")
}

output "addresses" {
  description = "The address of each machine by its name."
  value       = { for host in local.hosts : host.name => host.address }
}
"#;

fn hosts(plan: &ClusterPlan, options: &Options) -> String {
    let hosts: String = options
        .hosts
        .iter()
        .map(|host| {
            let more: Vec<String> = host.addresses[1..]
                .iter()
                .map(|a| format!("{:?}", a.to_string()))
                .collect();
            format!(
                "    {{ name = {:?}, address = {:?}, more = [{}] }},\n",
                host.name,
                host.addresses[0].to_string(),
                more.join(", ")
            )
        })
        .collect();
    format!(
        "locals {{\n  cluster    = {:?}\n  cpus       = {}\n  memory_mib = {}\n  disk_gib   = {}\n\n  # In the order of the nodes.\n  hosts = [\n{hosts}  ]\n}}\n",
        plan.name,
        options.cpus,
        options.memory.as_mib(),
        Bytes(options.disk.0).as_mib().div_ceil(1024),
    )
}

pub(super) fn steps(options: &Options) -> Vec<String> {
    let mut steps = vec!["cd DIR".to_owned()];
    if options.provider == Provider::Proxmox {
        steps.push(
            "export PM_API_URL=… PM_API_TOKEN_ID=… PM_API_TOKEN_SECRET=… (the provider reads them; no file has them)"
                .to_owned(),
        );
    }
    steps.extend(
        [
            "tofu init",
            "tofu plan -out plan.bin -var ssh_public_key=\"$(cat ~/.ssh/id_ed25519.pub)\"",
            "tofu apply -parallelism=1 plan.bin",
            "tofu output -raw inventory > inventory.yml",
            "after tofu destroy, look at the provider's own list: a destroy that says it is done may have left machines",
        ]
        .map(str::to_owned),
    );
    steps
}
