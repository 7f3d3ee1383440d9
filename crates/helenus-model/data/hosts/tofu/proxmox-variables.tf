variable "target_nodes" {
  description = "Nodes of Proxmox that take the machines in turn."
  type        = list(string)
}

variable "template" {
  description = "Number of the template to clone, with cloud-init and the guest agent; its first disk is scsi0."
  type        = number
}

variable "template_node" {
  description = "Node of Proxmox that has the template."
  type        = string
}

variable "storage" {
  description = "Storage of the disks."
  type        = string
}

variable "bridge" {
  description = "Bridge of the network."
  type        = string
  default     = "vmbr0"
}

variable "gateway" {
  description = "Gateway of the machines."
  type        = string
}

variable "prefix_length" {
  description = "Length of the network's prefix, such as 24."
  type        = number
  default     = 24
}
