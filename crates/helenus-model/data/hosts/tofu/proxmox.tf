# Virtual machines of Proxmox VE, cloned from a template with cloud-init.
# The provider reads PROXMOX_VE_ENDPOINT and PROXMOX_VE_API_TOKEN from the environment.

terraform {
  required_version = ">= 1.6"

  required_providers {
    proxmox = {
      source  = "bpg/proxmox"
      version = "~> 0.111"
    }
  }
}

provider "proxmox" {}

resource "proxmox_virtual_environment_vm" "cassandra" {
  count = length(local.hosts)

  name      = local.hosts[count.index].name
  node_name = var.target_nodes[count.index % length(var.target_nodes)]
  tags      = ["cassandra", lower(local.cluster)]

  # Without an answer of the guest's agent a machine would not shut down.
  stop_on_destroy = true
  scsi_hardware   = "virtio-scsi-single"

  clone {
    vm_id     = var.template
    node_name = var.template_node
    full      = true
  }

  agent {
    enabled = true
  }

  cpu {
    cores = local.cpus
    numa  = true
    type  = "host"
  }

  memory {
    dedicated = local.memory_mib
    # Memory that the hypervisor takes back would be the page cache, or the heap.
    floating = 0
  }

  disk {
    datastore_id = var.storage
    interface    = "scsi0"
    size         = local.disk_gib
    iothread     = true
    discard      = "on"
    ssd          = true
  }

  network_device {
    model  = "virtio"
    bridge = var.bridge
  }

  initialization {
    datastore_id = var.storage

    ip_config {
      ipv4 {
        address = "${local.hosts[count.index].address}/${var.prefix_length}"
        gateway = var.gateway
      }
    }

    user_account {
      username = local.user
      keys     = [trimspace(var.ssh_public_key)]
    }
  }

  lifecycle {
    # A change of the template must not make every node anew.
    ignore_changes = [clone]

    precondition {
      condition     = length(local.hosts[count.index].more) == 0
      error_message = "This file gives each machine one address; add the others by cloud-init, or one node a machine."
    }
  }
}
