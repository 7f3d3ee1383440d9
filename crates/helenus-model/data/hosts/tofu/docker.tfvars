# Copy to terraform.tfvars, and say what holds for you: plan, apply and destroy read it.
subnet         = "172.30.0.0/24"
ssh_public_key = "ssh-ed25519 …"
