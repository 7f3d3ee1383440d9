//! The machines of a cluster for OpenTofu or Terraform, one resource counted over the hosts, with Ansible's inventory as
//! output. Refuses a secret in any file: what opens the provider is a variable.

use super::ansible::inventory;
use super::instance::{Instance, java};
use super::options::{Options, Provider};
use crate::kube::ManifestFile;
use crate::plan::ClusterPlan;
use crate::release::Release;
use crate::units::Bytes;

/// The variable that every provider needs.
const LOGIN: &str = r#"variable "ssh_public_key" {
  description = "Public key of whoever logs in, such as the text of ~/.ssh/id_ed25519.pub."
  type        = string
}
"#;

/// Who logs in where nobody is named: the user of Ubuntu's images.
const USER: &str = "ubuntu";

const PROXMOX: &str = include_str!("../../data/hosts/tofu/proxmox.tf");
const PROXMOX_VARIABLES: &str = include_str!("../../data/hosts/tofu/proxmox-variables.tf");
const PROXMOX_VALUES: &str = include_str!("../../data/hosts/tofu/proxmox.tfvars");
const DOCKER: &str = include_str!("../../data/hosts/tofu/docker.tf");
const DOCKER_VARIABLES: &str = include_str!("../../data/hosts/tofu/docker-variables.tf");
const DOCKER_VALUES: &str = include_str!("../../data/hosts/tofu/docker.tfvars");
const DOCKERFILE: &str = include_str!("../../data/hosts/tofu/machine/Dockerfile");
const MACHINE: &str = include_str!("../../data/hosts/tofu/machine/machine.sh");

pub(super) fn files(
    plan: &ClusterPlan,
    options: &Options,
    release: &Release,
    instances: &[Instance<'_>],
) -> Vec<ManifestFile> {
    let (main, variables, values) = match options.provider {
        Provider::Proxmox => (PROXMOX, PROXMOX_VARIABLES, PROXMOX_VALUES),
        Provider::Docker => (DOCKER, DOCKER_VARIABLES, DOCKER_VALUES),
    };
    // The machines let in whom the inventory names.
    let mut options = options.clone();
    options.login.user.get_or_insert_with(|| USER.to_owned());
    let inventory = format!("---\n{}", inventory(&options, instances).render());
    let file = |path: &str, about: &str, text: String| ManifestFile {
        path: path.to_owned(),
        about: about.to_owned(),
        text,
    };
    let mut files = vec![
        file("main.tf", "the machines", main.to_owned()),
        file(
            "hosts.tf",
            "names, addresses and sizes of the machines",
            hosts(plan, &options),
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
        file(
            "terraform.tfvars.example",
            "what you give it: copy it to terraform.tfvars",
            values.to_owned(),
        ),
    ];
    if options.provider == Provider::Docker {
        let package = format!("openjdk-{}-", java(release));
        files.push(file(
            "machine/Dockerfile",
            "the image of the machines",
            DOCKERFILE.replace("openjdk-17-", &package),
        ));
        files.push(file(
            "machine/machine.sh",
            "what a machine starts with",
            MACHINE.to_owned(),
        ));
    }
    files
}

const OUTPUTS: &str = r#"output "inventory" {
  description = "The inventory of Ansible: tofu output -raw inventory > machines.yml"
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
        "locals {{\n  cluster    = {:?}\n  user       = {:?}\n  cpus       = {}\n  memory_mib = {}\n  disk_gib   = {}\n\n  # In the order of the nodes.\n  hosts = [\n{hosts}  ]\n}}\n",
        plan.name,
        options.login.user.as_deref().unwrap_or(USER),
        options.cpus,
        options.memory.as_mib(),
        Bytes(options.disk.0).as_mib().div_ceil(1024),
    )
}

pub(super) fn steps(options: &Options) -> Vec<String> {
    let user = options.login.user.as_deref().unwrap_or(USER);
    let addresses: Vec<String> = options
        .hosts
        .iter()
        .map(|host| host.addresses[0].to_string())
        .collect();
    let before = match options.provider {
        Provider::Proxmox => {
            "export PROXMOX_VE_ENDPOINT=https://…:8006/ PROXMOX_VE_API_TOKEN=USER@REALM!NAME=… (the provider reads them; no file has them)"
        }
        Provider::Docker => "docker build -t helenus-machine machine",
    };
    vec![
        "cd DIR".to_owned(),
        before.to_owned(),
        "cp terraform.tfvars.example terraform.tfvars, and say there what holds for you".to_owned(),
        "tofu init".to_owned(),
        "tofu plan -out plan.bin".to_owned(),
        "tofu apply -parallelism=1 plan.bin".to_owned(),
        "tofu output -raw inventory > machines.yml".to_owned(),
        format!("ssh-keyscan {} >> ~/.ssh/known_hosts", addresses.join(" ")),
        format!("helenus hosts up, with the topology and --hosts of now and --user {user}"),
        "after tofu destroy, look at the provider's own list: a destroy that says it is done may have left machines".to_owned(),
    ]
}
