#!/bin/bash
# One "host" that is a machine of QEMU's: a kernel of its own, systemd as its first process, Debian's packages.
#
#   guest.sh up        makes it, waits until it answers by ssh, prints its addresses
#   guest.sh down      ends it and removes all of it; says what is left, which should be nothing
#   guest.sh in CMD…   runs CMD where the guest is reached (helenus, ansible-playbook, ssh -F $R/ssh guest …)
#   guest.sh reboot    restarts it from inside, waits until it answers again
#   guest.sh end       its power goes; guest.sh begin: power again, with the same disk
#
# How it works. All is below $R. A network namespace ${P}c ("the control host's network") holds a bridge with $NET.1. The guest has two cards:
# a tap on that bridge with the addresses $NET.11 and $NET.12, and QEMU's user network, by which it reaches Debian's packages
# as this machine does. The root namespace keeps nothing: the tap is moved from there once QEMU holds it.
# The disk is made by mmdebstrap from this machine's own sources of packages; kernel and initrd are its own, and QEMU boots them.
# There is no Java. Who logs in is `ops`, who may become root; root cannot log in. The key is $R/key.
# The processor is emulated: a node takes minutes to start. GUEST_ACCEL=kvm where KVM works; where only /dev/kvm is there, a guest
# with it says nothing for ever.
# With GUEST_BASE=FOLDER the disk without keys is kept there for the next time.
# With GUEST_NUMA=N it has so many NUMA nodes, each with a processor and its part of the memory.
# A second guest joins the first one's network: GUEST of its own, GUEST_NR=2 (its addresses end in 21 and 22), GUEST_KEY the first one's key.
# Needs root, /dev/net/tun and: mmdebstrap qemu-system-x86 e2fsprogs iproute2 openssh-client. Ends only processes whose ids it has written.
set -eu

R=${GUEST:?a folder that is not there yet}
P=${GUEST_PREFIX:-hg}
NET=${GUEST_NET:-10.81.0}
MIB=${GUEST_MIB:-3072}
CPUS=${GUEST_CPUS:-2}
ACCEL=${GUEST_ACCEL:-tcg,thread=multi}
SOURCES=${GUEST_SOURCES:-/etc/apt/sources.list.d/debian.sources}
BASE=${GUEST_BASE:-$R/base}
PACKAGES=systemd,systemd-sysv,dbus,udev,openssh-server,python3,sudo,iproute2,procps,linux-image-cloud-amd64,initramfs-tools,ca-certificates
NR=${GUEST_NR:-1}
MAC=52:54:00:48:45:0$NR
TAP=${P}t$NR

say() { echo "$*" >&2; }

# The system as a folder, without what is this guest's own.
base() {
  [ -f "$BASE/made" ] && return 0
  mkdir -p "$BASE"
  rm -rf "$BASE/system"
  mmdebstrap --quiet --variant=minbase --include="$PACKAGES" bookworm "$BASE/system" "$SOURCES" >"$BASE/log" 2>&1 ||
    { tail -n 5 "$BASE/log" >&2; return 1; }
  touch "$BASE/made"
}

disk() {
  local s=$BASE/system d=$R/own
  mkdir -p "$d"
  if [ -n "${GUEST_KEY:-}" ]; then
    cp -p "$GUEST_KEY" "$R/key"
    cp -p "$GUEST_KEY.pub" "$R/key.pub"
  else
    ssh-keygen -q -t ed25519 -N '' -C guest -f "$R/key"
  fi
  cp -a "$s" "$d/root"
  echo "guest$NR" >"$d/root/etc/hostname"
  printf '127.0.0.1 localhost\n127.0.1.1 guest%s\n' "$NR" >"$d/root/etc/hosts"
  echo "/dev/vda / ext4 defaults 0 1" >"$d/root/etc/fstab"
  # QEMU's user network answers there.
  rm -f "$d/root/etc/resolv.conf"
  echo "nameserver 10.0.2.3" >"$d/root/etc/resolv.conf"
  printf '[Match]\nMACAddress=%s\n[Network]\nAddress=%s.%s1/24\nAddress=%s.%s2/24\n' "$MAC" "$NET" "$NR" "$NET" "$NR" \
    >"$d/root/etc/systemd/network/10-lab.network"
  printf '[Match]\nType=ether\n[Network]\nDHCP=ipv4\n[DHCPv4]\nUseDNS=no\n[Link]\nRequiredForOnline=no\n' \
    >"$d/root/etc/systemd/network/20-packages.network"
  chroot "$d/root" systemctl -q enable systemd-networkd
  chroot "$d/root" useradd --create-home --shell /bin/bash ops
  echo 'ops ALL=(ALL) NOPASSWD: ALL' >"$d/root/etc/sudoers.d/ops"
  chmod 440 "$d/root/etc/sudoers.d/ops"
  install -d -m 700 "$d/root/home/ops/.ssh"
  install -m 600 "$R/key.pub" "$d/root/home/ops/.ssh/authorized_keys"
  chroot "$d/root" chown -R ops:ops /home/ops/.ssh
  rm -f "$d/root"/etc/ssh/ssh_host_*
  ssh-keygen -q -t ed25519 -N '' -C guest -f "$d/root/etc/ssh/ssh_host_ed25519_key"
  for n in "${NR}1" "${NR}2"; do
    echo "$NET.$n $(cut -d' ' -f1-2 "$d/root/etc/ssh/ssh_host_ed25519_key.pub")"
  done >"$R/known_hosts"
  printf 'Host guest\n HostName %s.%s1\n User ops\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n ConnectTimeout 5\n LogLevel ERROR\n' \
    "$NET" "$NR" "$R/key" "$R/known_hosts" >"$R/ssh"
  cp "$d/root"/boot/vmlinuz-* "$R/kernel"
  cp "$d/root"/boot/initrd.img-* "$R/initrd"
  truncate -s 6G "$R/disk"
  mkfs.ext4 -q -F -d "$d/root" "$R/disk"
  rm -rf "$d"
}

# Processors, memory, and which of them are near each other.
shape() {
  local n=${GUEST_NUMA:-1}
  [ "$n" -gt 1 ] || { echo "-smp $CPUS -m $MIB"; return; }
  echo "-smp $n -m $((MIB / n * n))"
  for k in $(seq 0 $((n - 1))); do
    echo "-object memory-backend-ram,id=m$k,size=$((MIB / n))M -numa node,nodeid=$k,cpus=$k,memdev=m$k"
  done
}

qemu() {
  # shellcheck disable=SC2046 # words
  nice -n 5 qemu-system-x86_64 -accel "$1" -cpu "$2" $(shape) \
    -nodefaults -display none -serial "file:$R/console" -pidfile "$R/pid" -daemonize \
    -kernel "$R/kernel" -initrd "$R/initrd" -append "root=/dev/vda rw console=ttyS0 quiet panic=5 net.ifnames=0" \
    -drive "file=$R/disk,format=raw,if=virtio,cache=unsafe" \
    -device virtio-rng-pci \
    -netdev "tap,id=lab,ifname=$TAP,script=no,downscript=no" -device "virtio-net-pci,netdev=lab,mac=$MAC" \
    -netdev user,id=packages -device virtio-net-pci,netdev=packages
}

begin() {
  ip tuntap add "$TAP" mode tap
  case $ACCEL in
    tcg*) qemu "$ACCEL" Westmere ;;
    *) qemu "$ACCEL" host ;;
  esac
  ip link set "$TAP" netns "${P}c"
  ip -n "${P}c" link set "$TAP" master br0 up
}

end() {
  local pid
  pid=$(cat "$R/pid" 2>/dev/null) || return 0
  if grep -qs "$R/disk" "/proc/$pid/cmdline"; then kill -KILL "$pid"; fi
  for _ in $(seq 50); do [ -d "/proc/$pid" ] || break; sleep 0.1; done
  rm -f "$R/pid"
  ip -n "${P}c" link del "$TAP" 2>/dev/null || true
}

shell() { ip netns exec "${P}c" ssh -F "$R/ssh" guest "$@"; }

answers() {
  for _ in $(seq 300); do
    [ "$(shell cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo "$1")" != "$1" ] && return 0
    sleep 2
  done
  say "the guest does not answer: $R/console"
  return 1
}

case ${1:-} in
up)
  [ ! -e "$R/key" ] || { say "$R is there: guest.sh down first"; exit 1; }
  mkdir -p "$R"
  base
  disk
  if ! ip netns list | grep -qw "${P}c"; then
    ip netns add "${P}c"
    ip -n "${P}c" link set lo up
    ip -n "${P}c" link add name br0 type bridge
    ip -n "${P}c" addr add "$NET.1/24" dev br0
    ip -n "${P}c" link set br0 up
  fi
  begin
  answers ''
  echo "guest $NET.${NR}1 $NET.${NR}2"
  ;;
down)
  # ssh's own shared connections to the guest.
  for pid in $(ip netns pids "${P}c" 2>/dev/null); do kill "$pid" 2>/dev/null || true; done
  end
  ip link del "$TAP" 2>/dev/null || true
  # The last guest takes the network with it.
  other=$(ip -n "${P}c" -br link 2>/dev/null | grep -o "^${P}t[0-9]" || true)
  [ -n "$other" ] || ip netns del "${P}c" 2>/dev/null || true
  rm -rf "$R"
  left=$([ -n "$other" ] || ip netns list | grep -w "${P}c" || true; ip -br link | grep -w "$TAP" || true; ls -d "$R" 2>/dev/null || true)
  [ -z "$left" ] && echo "nothing is left" || { say "left: $left"; exit 1; }
  ;;
reboot)
  former=$(shell cat /proc/sys/kernel/random/boot_id)
  shell sudo systemctl reboot || true
  answers "$former"
  ;;
end) end ;;
begin)
  begin
  answers ''
  ;;
in)
  shift
  ANSIBLE_HOME=$R/ansible ANSIBLE_SSH_CONTROL_PATH_DIR=$R/cp ANSIBLE_SSH_EXTRA_ARGS="-o UserKnownHostsFile=$R/known_hosts" \
    exec ip netns exec "${P}c" "$@"
  ;;
*) sed -n '2,8p' "$0" >&2; exit 2 ;;
esac
