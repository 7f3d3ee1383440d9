# Virtual machines of Proxmox VE, cloned from a template with cloud-init.
# The provider reads PM_API_URL, PM_API_TOKEN_ID and PM_API_TOKEN_SECRET from the environment.

terraform {
  required_version = ">= 1.6"

  required_providers {
    proxmox = {
      source  = "telmate/proxmox"
      version = "~> 2.9"
    }
  }
}

provider "proxmox" {
  # Older storage may take one clone at a time only.
  pm_parallel = var.parallel
  pm_timeout  = 600
}

resource "proxmox_vm_qemu" "cassandra" {
  count = length(local.hosts)

  name        = local.hosts[count.index].name
  target_node = var.target_nodes[count.index % length(var.target_nodes)]
  clone       = var.template
  full_clone  = true
  os_type     = "cloud-init"
  agent       = 1

  cores  = local.cpus
  memory = local.memory_mib
  # Memory that the hypervisor takes back would be the page cache, or the heap.
  balloon = 0
  numa    = true
  scsihw  = "virtio-scsi-single"

  disk {
    type     = "scsi"
    storage  = var.storage
    size     = "${local.disk_gib}G"
    iothread = 1
    discard  = "on"
    ssd      = 1
  }

  network {
    model  = "virtio"
    bridge = var.bridge
  }

  ipconfig0 = "ip=${local.hosts[count.index].address}/${var.prefix_length},gw=${var.gateway}"
  ciuser    = var.user
  sshkeys   = var.ssh_public_key
  tags      = "cassandra,${local.cluster}"

  lifecycle {
    # A change of the template must not make every node anew.
    ignore_changes = [clone, full_clone]

    precondition {
      condition     = length(local.hosts[count.index].more) == 0
      error_message = "This file gives each machine one address; add the others by cloud-init, or one node a machine."
    }
  }
}
