# Docker containers that stand for machines: with sshd in them, Ansible takes them for hosts. For trying only.

terraform {
  required_version = ">= 1.6"

  required_providers {
    docker = {
      source  = "kreuzwerker/docker"
      version = ">= 3.0, < 5.0"
    }
  }
}

# Which Docker: DOCKER_HOST, or the one of this machine.
provider "docker" {}

resource "docker_network" "cassandra" {
  name = local.cluster

  ipam_config {
    subnet = var.subnet
  }
}

resource "docker_container" "cassandra" {
  count = length(local.hosts)

  name     = local.hosts[count.index].name
  hostname = local.hosts[count.index].name
  image    = var.image
  memory   = local.memory_mib
  # The same number: no swap. Unset, every plan would find Docker's own.
  memory_swap = local.memory_mib
  must_run    = true
  env         = ["AUTHORIZED_KEY=${var.ssh_public_key}", "LOGIN=${local.user}"]

  networks_advanced {
    name         = docker_network.cassandra.name
    ipv4_address = local.hosts[count.index].address
  }

  labels {
    label = "cluster"
    value = local.cluster
  }

  lifecycle {
    precondition {
      condition     = length(local.hosts[count.index].more) == 0
      error_message = "A container has one address in its network: take one node a machine."
    }
  }
}
