# Copy to terraform.tfvars, and say what holds for you: plan, apply and destroy read it.
target_nodes   = ["pve1", "pve2"]
template       = 9000
template_node  = "pve1"
storage        = "local-lvm"
gateway        = "192.168.2.1"
ssh_public_key = "ssh-ed25519 …"
