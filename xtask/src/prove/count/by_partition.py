"""Counts the rows of each partition in 32 processes: every partition is read whole, its rows are counted here.

Arguments: HOST PORT PARTITIONS each|kept. With "each" every partition is read through a connection of its own,
as in document 003; with "kept" each process keeps one. What times out is read again. Prints a line "PARTITION ROWS" for each partition.
"""

import sys
import time
from multiprocessing import Pool

from cassandra.cluster import Cluster

PROCESSES = 32
TRIES = 20
QUERY = "SELECT ip AS c FROM ip2location.hosts WHERE country = ? AND region = ? AND city = ?"

HOST, PORT, PARTITIONS, HOW = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
kept = {}


def session_of():
    cluster = Cluster([HOST], port=PORT, connect_timeout=60)
    session = cluster.connect()
    session.default_timeout = 120
    return cluster, session, session.prepare(QUERY)


def key(partition):
    return ["country %d" % (partition % 200), "region %d" % (partition % 3000), "city %d" % partition]


def rows_of(session, statement, partition):
    return sum(1 for _ in session.execute(statement, key(partition)))


def patiently(partition):
    for _ in range(TRIES - 1):
        try:
            return count(partition)
        except Exception as error:
            print(partition, error, file=sys.stderr)
            time.sleep(1)
    return count(partition)


def count(partition):
    if HOW == "kept":
        if not kept:
            kept["it"] = session_of()
        _, session, statement = kept["it"]
        return partition, rows_of(session, statement, partition)
    cluster, session, statement = session_of()
    try:
        return partition, rows_of(session, statement, partition)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    with Pool(PROCESSES) as pool:
        for partition, rows in pool.imap_unordered(patiently, range(PARTITIONS)):
            print(partition, rows)
