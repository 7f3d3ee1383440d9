#!/usr/bin/env python3
"""A suite of small tests with a schema each, `-n 4`, end to end: by this plugin, by one ccm cluster and truncation, and by a
fresh cluster for each test. Prints JSON lines, one a run; runs of all kinds take turns, in random order.

    suite.py --ccm DIR --java JDK11 [--tests 200] [--fresh 20] [--rounds 3] > runs.jsonl

DIR is a distribution of Cassandra 4.0 as ccm takes it (with bin, conf and lib). `helenus`, `ccm` and this Python's pytest,
pytest-xdist and cassandra-driver must be there. The fresh cluster is Helenus' own `up`, the quickest that there is; its time is
that of `--fresh` tests, multiplied, without the suite's own start.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# The same work in each: a table, three writes, two reads.
BODY = '''
def work(session, table):
    session.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, name text, at timestamp)")
    for i in range(3):
        session.execute(f"INSERT INTO {table} (id, name) VALUES (%s, %s)", (i, "name"))
    assert session.execute(f"SELECT name FROM {table} WHERE id = 1").one().name == "name"
    assert len(list(session.execute(f"SELECT id FROM {table}"))) == 3
'''
OURS = "def test_{n}(cassandra_session):\n    work(cassandra_session, 't')\n"
CCM = "def test_{n}(session):\n    work(session, 't{n}')\n    session.execute('TRUNCATE t{n}')\n"
FRESH = '''
def test_{n}():
    import json, subprocess
    from cassandra.cluster import Cluster
    name = "fresh{n}"
    subprocess.run(["helenus", "up", name, "-q", "--heap", "256M"], check=True, stdout=subprocess.DEVNULL)
    try:
        env = json.loads(subprocess.check_output(["helenus", "env", name, "--as", "json"]))
        with Cluster(env["contact_points"], port=env["port"]) as cluster:
            session = cluster.connect()
            session.execute("CREATE KEYSPACE k WITH replication = "
                            "{'class': 'SimpleStrategy', 'replication_factor': 1}")
            session.set_keyspace("k")
            work(session, "t")
    finally:
        subprocess.run(["helenus", "rm", name, "-q"], check=True, stdout=subprocess.DEVNULL)
'''
CCM_CONFTEST = '''
import pytest
from cassandra.cluster import Cluster

@pytest.fixture(scope="session")
def shared():
    with Cluster(["127.0.0.1"]) as cluster:
        session = cluster.connect()
        session.execute("CREATE KEYSPACE IF NOT EXISTS k WITH replication = "
                        "{'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.set_keyspace("k")
        session.default_timeout = 60
        yield session

@pytest.fixture
def session(shared):
    return shared
'''


def suite(folder: Path, test: str, tests: int, conftest: str = "", files: int = 10) -> None:
    (folder / "conftest.py").write_text(conftest)
    for file in range(files):
        parts = [test.replace("{n}", str(n)) for n in range(file, tests, files)]
        (folder / f"test_{file}.py").write_text(BODY + "".join(parts))


def pytest(folder: Path, workers: int, *words: str) -> None:
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(workers), *words, str(folder)]
    ended = subprocess.run(run, capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(ended.stdout[-3000:] + ended.stderr[-3000:])


def ours(folder: Path, tests: int, workers: int, *words: str) -> float:
    suite(folder, OURS, tests)
    begin = time.monotonic()
    pytest(folder, workers, *words)
    return time.monotonic() - begin


def by_ccm(folder: Path, tests: int, workers: int, distribution: str, java: str | None) -> tuple[float, float]:
    suite(folder, CCM, tests, CCM_CONFTEST)
    config = folder / "ccm"
    config.mkdir()

    def ccm(*words: str) -> None:
        # ccm refuses a JAVA_HOME that is not the java of the PATH.
        around = {**os.environ, **({"JAVA_HOME": java, "PATH": f"{java}/bin:{os.environ['PATH']}"} if java else {})}
        run = ["ccm", *words, "--config-dir", str(config)]
        subprocess.run(run, check=True, env=around, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    begin = time.monotonic()
    ccm("create", "c", "-n", "1", f"--install-dir={distribution}")
    try:
        ccm("start", "--root", "--wait-for-binary-proto")
        started = time.monotonic() - begin
        pytest(folder, workers, "-p", "no:helenus")
    finally:
        ccm("remove")
    return time.monotonic() - begin, started


def fresh(folder: Path, tests: int, workers: int) -> float:
    suite(folder, FRESH, tests)
    begin = time.monotonic()
    pytest(folder, workers, "-p", "no:helenus")
    return time.monotonic() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ccm", metavar="DIR")
    parser.add_argument("--java", metavar="DIR", help="JDK of ccm's cluster")
    parser.add_argument("--only", metavar="KINDS", help="some of the kinds, by commas")
    parser.add_argument("--tests", type=int, default=200)
    parser.add_argument("--fresh", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    kinds = ["keyspace", "keyspace-4.0", "reset", "fresh"] + (["ccm-4.0"] if given.ccm else [])
    if given.only:
        kinds = [kind for kind in kinds if kind in given.only.split(",")]
    if not given.ccm or not shutil.which("ccm"):
        print("no ccm: its side is left out", file=sys.stderr)
    for number in range(given.rounds):
        random.shuffle(kinds)
        for kind in kinds:
            load = os.getloadavg()[0]
            with tempfile.TemporaryDirectory(prefix="suite-") as name:
                folder, more = Path(name), {}
                tests = given.tests
                if kind == "keyspace":
                    seconds = ours(folder, tests, given.workers)
                elif kind == "keyspace-4.0":
                    seconds = ours(folder, tests, given.workers, "--helenus-release", "4.0")
                elif kind == "reset":
                    seconds = ours(folder, tests, given.workers, "--helenus-isolation", "reset")
                elif kind == "fresh":
                    tests = given.fresh
                    seconds = fresh(folder, tests, given.workers)
                    more["extrapolated"] = round(seconds / tests * given.tests, 2)
                else:
                    seconds, started = by_ccm(folder, tests, given.workers, given.ccm, given.java)
                    more["started"] = round(started, 2)
            row = {"round": number, "kind": kind, "tests": tests, "workers": given.workers, "seconds": round(seconds, 2)}
            print(json.dumps({**row, **more, "load_before": round(load, 2), "processors": os.cpu_count()}), flush=True)


if __name__ == "__main__":
    main()
