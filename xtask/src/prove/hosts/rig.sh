#!/bin/bash
# Six "hosts" on one machine, to try Ansible against.
#
#   rig.sh up        makes them, waits until each answers by ssh, prints their addresses
#   rig.sh down      ends them and removes all of them; says what is left, which should be nothing
#   rig.sh in CMD…   runs CMD where the hosts can be reached (ansible-playbook …), with Ansible's own folder
#   rig.sh end N     host N dies; rig.sh begin N starts it again with the same disk
#   rig.sh fill N DIR MIB   puts a tmpfs of MIB MiB on DIR of host N (a small disk)
#
# How it works. All is below $R. A network namespace ${P}c ("the control host's network") holds a bridge with $NET.1; each host
# has a network namespace $P<n> with eth0 = $NET.1<n> on that bridge. The root namespace gets nothing, so two rigs
# with other prefixes live side by side. In its network namespace each host is `unshare --mount --pid --uts --ipc`, then a chroot
# into an overlay: lower layer the machine's own /, upper layer on a tmpfs of the rig, so all of /etc, /opt, /var, /home,
# /usr/local are private; /root, /run and /tmp are tmpfs. /proc is that of its PID namespace. /proc/sys/vm and /sys are
# read-only, because one kernel is shared by all: so the hosts also show what a container shows, settings that cannot be changed.
# /proc/sys/net is that of the network namespace and can be changed. python3 and java are those of the lower layer.
# Each host runs one sshd; the key is $R.key. Ends only processes whose ids it has written or that are in its namespaces.
set -eu

R=${RIG:?a folder that is not there yet}
P=${RIG_PREFIX:-hx}
NET=${RIG_NET:-10.78.0}
N=${RIG_HOSTS:-6}
SIZE=${RIG_SIZE:-6g}

begin() {
  local d=$R/h$1
  mkdir -p "$d"/{up,work,root}
  rm -rf "$d/work"/*
  ip netns exec "$P$1" unshare --mount --pid --uts --ipc --fork --kill-child sh -ec "
    hostname host$1
    mount --make-rprivate /
    mount -t overlay overlay -o lowerdir=/,upperdir=$d/up,workdir=$d/work $d/root
    cd $d/root
    mount -t proc proc proc
    mount --bind proc/sys/vm proc/sys/vm
    mount -o remount,bind,ro proc/sys/vm
    mount --rbind /dev dev
    mount -t sysfs -o ro sysfs sys
    mount -t tmpfs -o mode=755 tmpfs run
    mount -t tmpfs -o mode=1777 tmpfs tmp
    mount -t tmpfs -o mode=700 tmpfs root
    mkdir -p run/sshd
    mkdir -m 700 root/.ssh
    cp $R.key.pub root/.ssh/authorized_keys
    chown root:root root/.ssh/authorized_keys
    chmod 600 root/.ssh/authorized_keys
    exec chroot . /usr/sbin/sshd -D -e -o PidFile=none -o UsePAM=no -o MaxStartups=100 -o SetEnv=PATH=/usr/sbin:/usr/bin:/sbin:/bin
  " >>"$d/sshd.log" 2>&1 </dev/null &
  echo $! >"$d/pid"
}

end() {
  local pid
  [ -f "$R/h$1/pid" ] && kill -KILL "$(cat "$R/h$1/pid")" 2>/dev/null || true
  for pid in $(ip netns pids "$P$1" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || true; done
  for _ in 1 2 3 4 5 6 7 8 9 10; do [ -z "$(ip netns pids "$P$1" 2>/dev/null)" ] && break; sleep 0.3; done
  rm -f "$R/h$1/pid"
}

case ${1:-} in
up)
  [ ! -e "$R" ] || { echo "$R is there: rig.sh down first" >&2; exit 1; }
  mkdir -p "$R"
  mount -t tmpfs -o size="$SIZE" tmpfs "$R"
  [ -f "$R.key" ] || ssh-keygen -q -t ed25519 -N '' -f "$R.key"
  ip netns add "${P}c"
  ip -n "${P}c" link set lo up
  ip -n "${P}c" link add name br0 type bridge
  ip -n "${P}c" addr add "$NET.1/24" dev br0
  ip -n "${P}c" link set br0 up
  for n in $(seq "$N"); do
    ip netns add "$P$n"
    ip -n "${P}c" link add name "v$n" type veth peer name eth0 netns "$P$n"
    ip -n "${P}c" link set "v$n" master br0 up
    ip -n "$P$n" addr add "$NET.1$n/24" dev eth0
    ip -n "$P$n" link set eth0 up
    ip -n "$P$n" link set lo up
    begin "$n"
  done
  for n in $(seq "$N"); do
    for _ in $(seq 30); do
      key=$(ip netns exec "${P}c" ssh-keyscan -T 2 -t ed25519 "$NET.1$n" 2>/dev/null) && [ -n "$key" ] && break
      sleep 0.3
    done
    [ -n "$key" ] || { echo "host $n does not answer: $R/h$n/sshd.log" >&2; exit 1; }
    echo "$key" >>"$R/known_hosts"
    echo "host$n $NET.1$n"
  done
  ;;
down)
  for n in $(seq "$N"); do
    ip netns exec "${P}c" true 2>/dev/null || true
    end "$n"
    ip netns del "$P$n" 2>/dev/null || true
  done
  # ssh's own shared connections to the hosts.
  for pid in $(ip netns pids "${P}c" 2>/dev/null); do kill "$pid" 2>/dev/null || true; done
  sleep 0.3
  ip netns del "${P}c" 2>/dev/null || true
  umount "$R" 2>/dev/null || umount -l "$R" 2>/dev/null || true
  rmdir "$R" 2>/dev/null || true
  rm -rf "$R.key" "$R.key.pub" "$R.ansible"
  left=$(ip netns list | grep -E "^$P[0-9c]" || true; grep " $R" /proc/mounts || true; ls -d "$R" 2>/dev/null || true)
  [ -z "$left" ] && echo "nothing is left" || { echo "left: $left" >&2; exit 1; }
  ;;
in)
  shift
  ANSIBLE_HOME=$R.ansible ANSIBLE_SSH_CONTROL_PATH_DIR=$R.ansible/cp \
    ANSIBLE_SSH_EXTRA_ARGS="-o UserKnownHostsFile=$R/known_hosts" \
    exec ip netns exec "${P}c" "$@"
  ;;
end) end "$2" ;;
begin) begin "$2" ;;
fill)
  pid=$(pgrep -P "$(cat "$R/h$2/pid")")
  nsenter -t "$pid" -m -p -r sh -c "mkdir -p $3 && mount -t tmpfs -o size=${4}m tmpfs $3"
  ;;
*) sed -n '2,8p' "$0" >&2; exit 2 ;;
esac
