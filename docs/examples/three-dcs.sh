#!/bin/sh
# Three data centres: status, a keyspace in all of them, rows written in one and read in another, then lines of
# cassandra-stress at three consistency levels, each in a keyspace of its own that is dropped afterwards.
# NODES a data centre (3), N operations a line (20000) and RTT between them (80ms) may be set; helenus must be on PATH.
set -eu

NODES=${NODES:-3}
N=${N:-20000}
RTT=${RTT:-80ms}
WARM_UP=${WARM_UP:-no-warmup}
COPIES=3
[ "$NODES" -lt 3 ] && COPIES=$NODES
NETWORKED="replication(strategy=NetworkTopologyStrategy,DC1=$COPIES,DC2=$COPIES,DC3=$COPIES)"

helenus up wan -n "$NODES:$NODES:$NODES" --rtt "$RTT"
trap 'helenus rm wan' EXIT

helenus cql wan -e "CREATE KEYSPACE multidc WITH REPLICATION = {'class': 'NetworkTopologyStrategy', 'DC1': $COPIES, 'DC2': $COPIES, 'DC3': $COPIES}"
helenus status wan --keyspace multidc
helenus cql wan -e "DESCRIBE KEYSPACE multidc"

helenus cql wan/node1 -e "CREATE TABLE IF NOT EXISTS multidc.test (id uuid PRIMARY KEY, text text)"
for row in 'record 1' 'record 2' 'record 3'; do
    helenus cql wan/node1 -e "INSERT INTO multidc.test (id, text) VALUES (uuid(), '$row')"
done
# The last node stands in DC3.
helenus cql "wan/node$((3 * NODES))" -e "SELECT * FROM multidc.test"

for level in LOCAL_QUORUM EACH_QUORUM QUORUM; do
    keyspace=$(echo "$level" | tr '[:upper:]' '[:lower:]')
    helenus stress --cluster wan write "n=$N" "$WARM_UP" "cl=$level" \
        -rate threads=50 -schema "$NETWORKED" "keyspace=$keyspace"
    helenus stress --cluster wan mixed "ratio(write=1,read=3)" "n=$N" "$WARM_UP" "cl=$level" \
        -rate threads=50 -schema "$NETWORKED" "keyspace=$keyspace"
    helenus cql wan -e "DROP KEYSPACE $keyspace"
done
