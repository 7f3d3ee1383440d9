#!/bin/sh
# Lets the key in, makes host keys of this machine's own, and becomes sshd.
set -eu
id "$LOGIN" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$LOGIN"
echo "$LOGIN ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/login
home=$(getent passwd "$LOGIN" | cut -d: -f6)
install -d -m 700 -o "$LOGIN" "$home/.ssh"
printf '%s\n' "$AUTHORIZED_KEY" >"$home/.ssh/authorized_keys"
chown "$LOGIN" "$home/.ssh/authorized_keys"
ssh-keygen -A
mkdir -p /run/sshd
exec /usr/sbin/sshd -D -e
