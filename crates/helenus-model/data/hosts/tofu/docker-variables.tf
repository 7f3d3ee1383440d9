variable "image" {
  description = "Image with sshd, Python and Java 17, which lets AUTHORIZED_KEY in."
  type        = string
}

variable "subnet" {
  description = "Network of the containers; it must hold the addresses of hosts.tf."
  type        = string
}
