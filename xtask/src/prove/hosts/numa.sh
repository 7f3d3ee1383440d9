#!/bin/bash
# Real Cassandra on a guest with four NUMA nodes: two of the plan's four instances, each with the processor and the memory of one node.
# A line each: what was looked at, "holds" or "DOES NOT HOLD", seconds, what was seen.
#
# $GUEST is the folder of the guest, $GUEST_SH the script that made it, $HELENUS the program, $CACHE a folder with the release's jars,
# $JDK a folder with a JDK. The processor may be emulated: nothing here is in a hurry.
set -u

SH=${GUEST_SH:?guest.sh}
W=$GUEST.numa
mkdir -p "$W"
at=$SECONDS

# holds WHAT SEEN WANTED
holds() {
  local word=holds
  [ "$2" = "$3" ] || word='DOES NOT HOLD'
  printf '%-70s %-13s %4d s  %s\n' "$1" "$word" $((SECONDS - at)) "$([ "$2" = "$3" ] || echo "$2, wanted $3")"
  at=$SECONDS
}
on() { "$SH" in ssh -F "$GUEST/ssh" guest "$@"; }
helenus() { on env HELENUS_HOME=/home/ops/h HELENUS_CACHE=/home/ops/cache JAVA_HOME=/home/ops/jdk /home/ops/helenus "$@" 2>>"$W/stderr"; }
# Addresses, links and kernel settings.
snapshot() { on "ip -o addr; ip -o link; sudo sysctl -a 2>/dev/null | grep -E '^(vm|net)\.' | grep -vE 'user_reserve|lowmem|fs\.' ; ls /home/ops" | sed 's/valid_lft.*//; s/qlen.*//'; }

strip -o "$W/helenus" "$HELENUS"
tar -C "$W" -cf - helenus | on tar -C /home/ops -xf -
tar -C "$JDK" --exclude=./lib/src.zip -chf - . | on "mkdir /home/ops/jdk && tar -C /home/ops/jdk -xf -"
tar -C "$CACHE" -cf - releases | on "mkdir /home/ops/cache && tar -C /home/ops/cache -xf -"
snapshot >"$W/before"
at=$SECONDS

number() { python3 -c 'import json,sys; v=json.load(sys.stdin)
for k in sys.argv[1:]: v=v[int(k)] if k.isdigit() else v[k]
print(len(v) if isinstance(v,list) else v)' "$@" 2>/dev/null; }
holds "helenus machine sees four NUMA nodes" "$(helenus machine --format json | number numa)" 4
helenus plan --instances 4 -o /home/ops/plan.toml >>"$W/stdout"
holds "helenus plan --instances 4" "$(on grep -c "'^\[\[instances\]\]'" /home/ops/plan.toml)" 4
# The second and the third; emulated processors are slow enough with two nodes.
on python3 - <<'PY'
import re
path = "/home/ops/plan.toml"
head, *rest = re.split(r"(?m)^(?=\[\[)", open(path).read())
places = [k for k, part in enumerate(rest) if part.startswith("[[instances]]")]
left_out = (places[0], places[3])
open(path, "w").write(head + "".join(part for k, part in enumerate(rest) if k not in left_out))
PY
helenus up big --plan /home/ops/plan.toml --preset tiny --heap 64M --ready-within 15m \
  --set write_request_timeout=60s --set read_request_timeout=60s >>"$W/stdout"
list=$(helenus list --format json)
holds "up --plan: both run" "$(echo "$list" | grep -cE '"pid": *[0-9]')" 2
helenus run kv --cluster big --rate 5 --duration 60s --warmup 5s --format json >"$W/run.json"
failed=$(python3 -c 'import json,sys
print(sum(sum(p["total"].get("failed", {}).values()) for p in json.load(sys.stdin)["result"]["phases"]))' <"$W/run.json")
holds "a load, no operation of which fails" "$failed" 0
for k in 0 1; do
  node=$(echo "$list" | python3 -c "import json,sys; n=json.load(sys.stdin)['clusters'][0]['nodes'][$k]; print(n['pid'], n['pin']['cpus'], n['pin']['numa'][0])")
  set -- $node
  seen=$(on "cat /proc/$1/task/*/status | grep Cpus_allowed_list | sort | uniq -c | tr -s ' \t' ' '")
  holds "node $((k + 1)): each of its threads runs on processor $2" "$(echo "$seen" | awk '{print $3}' | sort -u)" "$2"
  share=$(on "cat /proc/$1/numa_maps" | awk -v own="$3" '!/file=/ { for (i = 2; i <= NF; i++) if (match($i, /^N[0-9]+=/)) { n = substr($i, 2, RLENGTH - 2); c = substr($i, RLENGTH + 1); all += c; if (n == own) mine += c } }
    END { printf "%.1f %d", 100 * mine / all, all * 4 / 1024 }')
  set -- $share $3
  holds "node $((k + 1)): at least 95 % of its anonymous memory on NUMA node $3 ($1 % of $2 MiB)" "$(awk -v s="$1" 'BEGIN { print (s >= 95) }')" 1
done
helenus rm big --force >>"$W/stdout"
on rm -f /home/ops/plan.toml
snapshot >"$W/after"
holds "rm leaves no process" "$(on "ps -C java -o pid= | wc -l")" 0
holds "addresses, links and kernel settings are as before" "$(diff "$W/before" "$W/after" | grep -v ' h$' | grep -c '^[<>]')" 0
rm -rf "$W"
