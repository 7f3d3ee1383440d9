"""Random kills of workers and of pytest itself: nothing is left, and the next run works. HELENUS_KILLS says how many."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pytest
from conftest import Home, words

Run = Callable[..., pytest.RunResult]
KILLS = int(os.environ.get("HELENUS_KILLS", "20"))
# A few kills are a look at it: with a smaller suite, and each way once.
FEW = KILLS < 6
TESTS = 12 if FEW else 40

SUITE = '''
import time
import pytest

@pytest.mark.parametrize("i", range(TESTS))
def test_use(cassandra_session, i):
    cassandra_session.execute("CREATE TABLE t (id int PRIMARY KEY)")
    cassandra_session.execute("INSERT INTO t (id) VALUES (1)")
    time.sleep(0.05)

@pytest.mark.cassandra(private=True)
def test_private(cassandra):
    with cassandra.pause("node1"):
        time.sleep(0.5)
'''


def children(pid: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid and fields[0] not in "ZX":
                found.append(int(folder.name))
    return found


def test_kills_leave_nothing(pytester: pytest.Pytester, inner: Run, home: Home) -> None:
    seed = int(os.environ.get("HELENUS_SEED", time.time_ns() % 100_000))
    chance = random.Random(seed)
    pytester.makepyfile(SUITE.replace("TESTS", str(TESTS)))
    for number in range(KILLS):
        victim = ("worker", "pytest", "interrupt")[number % 3] if FEW else chance.choice(
            ("pytest", "pytest", "worker", "worker", "interrupt")
        )
        parallel = ["-n", "2"] if victim == "worker" or chance.random() < 0.5 else []
        wait = chance.uniform(0.2, 6 if FEW else 9)
        said = f"seed {seed}, kill {number}: {victim} {parallel} after {wait:.2f} s"
        print(said)
        run = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", *words(), *parallel],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(wait)
        if victim == "worker":
            # The keeper is nobody's child; a binary that a worker runs is its own.
            workers = children(run.pid)
            if workers:
                os.kill(chance.choice(workers), signal.SIGKILL)
        else:
            run.send_signal(signal.SIGINT if victim == "interrupt" else signal.SIGKILL)
        run.wait(timeout=120)
        deadline = time.monotonic() + 30
        while (home.clusters() or home.processes()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert (home.clusters(), home.processes()) == ([], []), said
    inner("-n", "2", "-k", "use").assert_outcomes(passed=TESTS)
    home.nothing_left()


@pytest.mark.more
def test_a_keeper_that_is_killed_too_is_made_good_by_the_next_run(
    pytester: pytest.Pytester, inner: Run, home: Home
) -> None:
    pytester.makepyfile(
        '''
import os, pathlib, signal
def test_all_killed(cassandra):
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit() and b"_keeper.py" in (folder / "cmdline").read_bytes():
            if f"HELENUS_HOME={os.environ['HELENUS_HOME']}".encode() in (folder / "environ").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
def test_next(cassandra):
    pass
'''
    )
    assert inner("-k", "test_all_killed").ret == -signal.SIGKILL
    assert len(home.clusters()) == 1
    inner("-k", "test_next").assert_outcomes(passed=1)
    home.nothing_left()
