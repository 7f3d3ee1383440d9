variable "image" {
  description = "Image of the machines: sshd, Python and Java, and AUTHORIZED_KEY is let in as LOGIN; machine/Dockerfile makes it."
  type        = string
  default     = "helenus-machine"
}

variable "subnet" {
  description = "Network of the containers, such as 172.30.0.0/24; it must hold the addresses of hosts.tf."
  type        = string
}
