#!/bin/bash
# What `helenus hosts` must do on a guest with a kernel and a systemd of its own. The guest is there: guest.sh up.
#
#   checks.sh          all checks, a line each: "holds" or "DOES NOT HOLD", seconds, what was seen; exit code 1 where one does not hold
#
# $GUEST as guest.sh has it, $HELENUS the program, $GUEST_SH the script. The processor may be emulated: nothing here is in a hurry.
set -u

HELENUS=${HELENUS:?the program}
SH=${GUEST_SH:?guest.sh}
NET=${GUEST_NET:-10.81.0}
W=${CHECKS:-$GUEST.checks}
mkdir -p "$W"
bad=0
at=$SECONDS

on() { "$SH" in ssh -F "$GUEST/ssh" guest "$@"; }
root() { on sudo bash -s; }
hosts() { "$SH" in "$HELENUS" hosts "$@" 2>>"$W/stderr"; }
place=(-n 1 --preset tiny --name one --hosts "one=$NET.11" --user ops --key "$GUEST/key" --memory-limit 1500M --cpus 2)

# holds WHAT SEEN WANTED
holds() {
  local word=holds
  [ "$2" = "$3" ] || { word='DOES NOT HOLD'; bad=1; }
  printf '%-70s %-13s %4d s  %s\n' "$1" "$word" $((SECONDS - at)) "$([ "$2" = "$3" ] || echo "$2, wanted $3")"
  at=$SECONDS
}

# A number of a JSON answer.
field() { python3 -c 'import json,sys; v=json.load(sys.stdin)
for k in sys.argv[1:]: v=v[int(k)] if k.isdigit() else v[k]
print(v)' "$@" 2>/dev/null; }

serves() { hosts status one --format json | field nodes 0 serves; }

until_serves() {
  for _ in $(seq 120); do [ "$(serves)" = True ] && break; sleep 5; done
  serves
}

# All that `hosts rm` must leave as it was.
snapshot() {
  root <<'END'
sysctl -a 2>/dev/null | grep -vE '^(fs\.(dentry|inode|file-nr|quota)|kernel\.(random|ns_last_pid|pty\.nr|sched_domain|perf_)|vm\.user_reserve)'
grep -s . /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag
getent passwd | grep -v nobody
getent group
systemctl list-units --all --plain --no-legend --no-pager 'cassandra*' 'helenus*'
python3 - <<'PY'
import hashlib, os, stat
# Java stays, and with it what its packages bring; logs, caches and lists of packages are the system's own business.
skip = ("/var/lib/dpkg", "/var/lib/apt", "/var/log", "/etc/ssl", "/etc/java", "/etc/alternatives", "/var/lib/systemd", "/var/lib/ca-certificates-java",
        "/etc/ld.so.cache", "/home/ops/.ansible", "/root/.ansible", "/etc/ca-certificates", "/etc/fonts", "/var/lib/ucf", "/etc/.java", "/etc/xdg", "/etc/default/cacerts", "/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-", "/var/tmp/systemd-private", "/usr/local/share")
for top in ["/etc", "/opt", "/var/lib", "/var/log/cassandra", "/usr/local", "/home", "/root", "/run/cassandra", "/var/tmp", "/srv", "/var/mail"]:
    for folder, folders, files in os.walk(top):
        folders[:] = [f for f in folders if not os.path.join(folder, f).startswith(skip)]
        for path in [folder] + [os.path.join(folder, f) for f in files]:
            if path.startswith(skip):
                continue
            s = os.lstat(path)
            what = "-"
            if stat.S_ISREG(s.st_mode):
                what = hashlib.sha256(open(path, "rb").read()).hexdigest()[:16]
            elif stat.S_ISLNK(s.st_mode):
                what = os.readlink(path)
            print(path, oct(s.st_mode), s.st_uid, s.st_gid, what)
PY
END
}

# The settings of the role as this kernel has them.
settings() {
  root <<'END'
cd /proc/sys
for f in vm/max_map_count vm/swappiness vm/zone_reclaim_mode net/ipv4/tcp_keepalive_time net/ipv4/tcp_keepalive_probes \
  net/ipv4/tcp_keepalive_intvl net/core/rmem_max net/core/wmem_max net/core/optmem_max net/ipv4/tcp_rmem net/ipv4/tcp_wmem; do
  [ -r $f ] && echo "$f=$(tr '\t' ' ' <$f)"
done
grep -o '\[.*\]' /sys/kernel/mm/transparent_hugepage/defrag
END
}

unit() { on systemctl show -p "$1" --value cassandra-one-node1; }

# One buffer of this kernel is larger than wanted, one smaller: the larger one must stay.
echo 'net.ipv4.tcp_rmem = 4096 131072 33554432' | on sudo tee /etc/sysctl.d/50-larger.conf >/dev/null
on sudo sysctl -q -p /etc/sysctl.d/50-larger.conf
snapshot >"$W/before"
kernel=$(settings)

"$SH" in "$HELENUS" hosts up "${place[@]}" --check --format json >"$W/check0" 2>"$W/check0.err"
holds '--check on a new host' "$?" 0
snapshot >"$W/before.check"
holds '--check changed nothing there' "$(diff "$W/before" "$W/before.check" | grep -c '^[<>]')" 0

hosts up "${place[@]}" --timeout 10m --format json >"$W/up"
holds 'up: the node serves' "$(field nodes 0 serves <"$W/up")" True
holds 'unit is active' "$(unit ActiveState)" active
holds 'unit starts at boot' "$(on systemctl is-enabled cassandra-one-node1 helenus-machine | xargs)" 'enabled enabled'
holds 'memory limit' "$(unit MemoryMax)" $((1500 << 20))
holds 'processors' "$(unit CPUQuotaPerSecUSec)" 2s
holds 'open files, processes' "$(unit LimitNOFILE) $(unit LimitNPROC)" '1048576 32768'
holds 'its process has these limits' "$(root <<'END'
pid=$(systemctl show -p MainPID --value cassandra-one-node1)
awk '/Max open files/ { n = $4 } /Max processes/ { p = $3 } END { print n, p }' /proc/$pid/limits
END
)" '1048576 32768'
holds 'the kernel enforces memory and processors' "$(on cat /sys/fs/cgroup/system.slice/cassandra-one-node1.service/{memory.max,cpu.max} | xargs)" "$((1500 << 20)) 200000 100000"
wanted='vm/max_map_count=1048575 vm/swappiness=1 vm/zone_reclaim_mode=0 net/ipv4/tcp_keepalive_time=60 net/ipv4/tcp_keepalive_probes=3 net/ipv4/tcp_keepalive_intvl=10 net/core/rmem_max=16777216 net/core/wmem_max=16777216 net/core/optmem_max=40960 net/ipv4/tcp_rmem=4096 131072 33554432 net/ipv4/tcp_wmem=4096 65536 16777216 [madvise]'
# Not every kernel has NUMA nodes.
wanted=$(for one in "$wanted"; do grep -q zone_reclaim <<<"$kernel" || one=${one/vm\/zone_reclaim_mode=0 /}; echo "$one"; done)
holds 'kernel settings; a larger one stays' "$(settings | xargs)" "$wanted"
holds 'the journal has what was changed, and no more' "$(root <<<'cut -f1 /var/lib/helenus/machine.journal | grep -c tcp_ ; grep -c tcp_rmem /var/lib/helenus/machine.journal' | xargs)" '4 0'

holds 'again, --check: nothing changes' "$(hosts up "${place[@]}" --check --format json | field changed)" 0
hosts up "${place[@]}" --timeout 10m --format json >"$W/again"
holds 'again: the node serves' "$(field nodes 0 serves <"$W/again")" True

"$SH" reboot
holds 'after a reboot the node serves by itself' "$(until_serves)" True
holds 'after a reboot kernel settings are there' "$(settings | xargs)" "$wanted"
holds 'no unit failed at boot' "$(on systemctl --failed --no-legend --plain | wc -l)" 0

holds 'logs' "$(hosts logs one/one-node1 --tail 5 | grep -c .)" 5
holds 'nodetool' "$(hosts nodetool one status | grep -c "^UN *$NET.11")" 1

began=$(unit MainPID)
holds 'restart: one stop, one start' "$(hosts restart one --format json | field changed)" 2
holds 'restart: another process' "$([ "$(unit MainPID)" != "$began" ] && echo yes)" yes
holds 'it was drained before it ended' "$(root <<<'grep -c DRAINED /var/log/cassandra/one-node1/system.log')" "$(root <<<'n=$(grep -c DRAINED /var/log/cassandra/one-node1/system.log); [ $n -ge 1 ] && echo $n')"
holds 'it was not killed' "$(root <<<'journalctl -u cassandra-one-node1 -o cat | grep -cE "timed out|Failed with result|SIGKILL"')" 0

# A node that fails again and again is stopped too: systemd starts it anew every ten seconds.
root <<'END' >/dev/null
echo -XX:NoSuchFlag >/etc/cassandra/one-node1/jvm.args
kill -KILL "$(systemctl show -p MainPID --value cassandra-one-node1)"
END
for _ in $(seq 60); do [ "$(unit SubState)" = auto-restart ] && break; sleep 1; done
hosts rm one --format json >"$W/rm"
holds 'rm, of a node that fails again and again' "$(field name <"$W/rm")" one
sleep 15
snapshot >"$W/after"
diff "$W/before" "$W/after" >"$W/left"
holds 'all is as before up, Java aside' "$(grep -c '^[<>]' "$W/left")" 0
holds 'systemd knows no unit of ours' "$(on systemctl list-units --all --plain --no-legend 'cassandra*' 'helenus*' | wc -l)" 0
[ "$bad" = 0 ] && rm -rf "$W"
exit "$bad"
