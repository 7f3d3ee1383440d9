#!/bin/sh
# Three data centres of five nodes, 80 ms apart, on this machine: the walk of the document about Cassandra in several
# data centres on Kubernetes, with its figures (15 machines of a cloud, Cassandra 3.11.5) beside this machine's.
# Refuses to use a cluster that is there: it makes one, and removes it at its end.
#
# NODES, RTT, OPERATIONS, THREADS, COPIES, PRESET and OUT change it; HELENUS is the program.
set -eu

helenus=${HELENUS:-helenus}
nodes=${NODES:-5:5:5} rtt=${RTT:-80ms} preset=${PRESET:-tiny}
operations=${OPERATIONS:-20000} threads=${THREADS:-50} copies=${COPIES:-3}
out=${OUT:-multi-dc-walk} name=multidcwalk
last=$(($(echo "$nodes" | tr : +)))
mkdir -p "$out"

say() { printf '\n## %s\n\n' "$*"; }
cql() { "$helenus" -q cql "$@"; }

say "Up, and the nodes of each data centre"
"$helenus" up "$name" -n "$nodes" --preset "$preset" --rtt "$rtt"
trap '"$helenus" -q rm "$name"' EXIT
trap 'exit 130' INT TERM
replication="'class': 'NetworkTopologyStrategy', 'DC1': $copies, 'DC2': $copies, 'DC3': $copies"
cql "$name" -e "CREATE KEYSPACE multidc WITH replication = {$replication}"
"$helenus" status "$name" -k multidc

say "Three rows written in DC1, read in DC3"
cql "$name" -e 'DESCRIBE KEYSPACE multidc'
cql "$name/node1" -e 'CREATE TABLE multidc.test (id uuid PRIMARY KEY, text text)'
for k in 1 2 3; do
    cql "$name/node1" -e "INSERT INTO multidc.test (id, text) VALUES (uuid(), 'record $k')"
done
# Written at ONE in DC1: the others have them a moment later.
tries=0
until cql "$name/node$last" -e 'SELECT * FROM multidc.test' >"$out/read.txt" &&
    [ "$(grep -c record "$out/read.txt")" = 3 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || { echo "the rows did not arrive in DC3" >&2; exit 1; }
    sleep 1
done
cat "$out/read.txt"

# One line of the document, its summary kept.
stress() {
    level=$1 what=$2 keyspace=$(echo "$1" | tr '[:upper:]' '[:lower:]')
    shift
    "$helenus" -q stress --cluster "$name" --tag walk "$@" n="$operations" no-warmup cl="$level" \
        -rate threads="$threads" -log no-settings \
        -schema "replication(strategy=NetworkTopologyStrategy,DC1=$copies,DC2=$copies,DC3=$copies)" \
        keyspace="$keyspace" >"$out/$level-$what.txt"
    sed -n '/^Results:/,/^Total errors/p' "$out/$level-$what.txt"
}

for level in LOCAL_QUORUM EACH_QUORUM QUORUM; do
    say "write at $level"
    stress "$level" write
    say "mixed, one write to three reads, at $level"
    stress "$level" mixed 'ratio(write=1,read=3)'
    cql "$name" -e "DROP KEYSPACE $(echo "$level" | tr '[:upper:]' '[:lower:]')"
done

# Figures of a summary: operations a second, then mean, median, 95th and 99th percentile in ms.
figures() {
    awk -F '[:[]' '/^(Op rate|Latency mean|Latency median|Latency 95th|Latency 99th p)/ {
        gsub(/[^0-9.]/, "", $2); printf " %s |", $2 }' "$out/$1-$2.txt"
}

say "Side by side: the document's, then this machine's"
echo "| | op/s | mean | median | p95 | p99 | op/s | mean | median | p95 | p99 |"
echo "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
while read -r level what theirs; do
    echo "| $what $level | $theirs |$(figures "$level" "$what")"
done <<'TABLE'
LOCAL_QUORUM write 1036 | 48.2 | 14.1 | 103.2 | 206.0
QUORUM write 734 | 68.0 | 86.2 | 180.7 | 199.8
EACH_QUORUM write 582 | 85.8 | 93.8 | 187.6 | 279.2
LOCAL_QUORUM mixed 1084 | 46.1 | 12.7 | 102.9 | 194.9
QUORUM mixed 793 | 63.0 | 86.2 | 118.9 | 203.8
EACH_QUORUM mixed 620 | 80.6 | 92.3 | 185.3 | 207.2
TABLE
