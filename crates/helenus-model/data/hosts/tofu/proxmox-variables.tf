variable "target_nodes" {
  description = "Nodes of Proxmox that take the machines in turn."
  type        = list(string)
}

variable "template" {
  description = "Template to clone, with cloud-init and the guest agent."
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

variable "parallel" {
  description = "Machines to make at the same time."
  type        = number
  default     = 2
}
