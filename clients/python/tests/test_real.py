"""The plugin against real Cassandra by the real binary."""

import os
from pathlib import Path
from typing import Callable

import pytest
from conftest import Home

Run = Callable[..., pytest.RunResult]

TABLE = '''
import pytest

def use(session):
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text)")
    assert session.execute("SELECT * FROM t").one() is None
    session.execute("INSERT INTO t (id, v) VALUES (1, 'a')")
    assert session.execute("SELECT v FROM t WHERE id = 1").one().v == "a"
'''


def test_each_test_has_its_keyspace_and_asyncio_too(pytester: pytest.Pytester, inner: Run, home: Home) -> None:
    pytester.makepyfile(
        TABLE
        + '''
import asyncio

@pytest.mark.parametrize("i", range(5))
def test_use(cassandra_session, cassandra_keyspace, i):
    assert cassandra_session.keyspace == cassandra_keyspace
    use(cassandra_session)

def test_async(cassandra, cassandra_async_session):
    session = cassandra_async_session
    async def go():
        await session.execute("CREATE TABLE t (id int PRIMARY KEY)")
        insert = await session.prepare(f"INSERT INTO {session.keyspace}.t (id) VALUES (?)")
        await asyncio.gather(*(session.execute(insert, (i,)) for i in range(30)))
        select = await session.prepare(f"SELECT id FROM {session.keyspace}.t")
        select.fetch_size = 7
        rows = await session.execute(select)
        assert sorted(row.id for row in rows) == list(range(30))
        with pytest.raises(Exception, match="unconfigured table|does not exist"):
            await session.execute("SELECT * FROM nothing")
    asyncio.run(go())
    assert cassandra.contact_points[0].startswith("127.") and cassandra.port == 9042
    assert cassandra.nodetool("version").startswith("ReleaseVersion: 5.0")
    assert cassandra.local_datacenter == "datacenter1" == cassandra.nodes[0].data_center
'''
    )
    inner().assert_outcomes(passed=6)
    home.nothing_left()


@pytest.mark.more
def test_reset_is_the_other_way(pytester: pytest.Pytester, inner: Run, home: Home) -> None:
    pytester.makefile(
        ".cql",
        schema="CREATE KEYSPACE app WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};"
        "CREATE TABLE app.t (id int PRIMARY KEY);",
    )
    pytester.makeini("[pytest]\nhelenus_isolation = reset\nhelenus_schema = schema.cql\n")
    pytester.makepyfile(
        '''
import pytest
def test_before(cassandra):
    cassandra.cql("CREATE TABLE app.before (id int PRIMARY KEY)")
    cassandra.cql("INSERT INTO app.t (id) VALUES (1)")
@pytest.mark.parametrize("i", range(3))
def test_use(cassandra_session, i):
    assert cassandra_session.execute("SELECT * FROM app.t").one() is None
    cassandra_session.execute("INSERT INTO app.t (id) VALUES (1)")
    cassandra_session.execute("CREATE TABLE app.other (id int PRIMARY KEY)")
'''
    )
    inner().assert_outcomes(passed=4)
    home.nothing_left()


@pytest.mark.more
def test_a_cluster_that_other_tests_used_is_reset_first(pytester: pytest.Pytester, inner: Run, home: Home) -> None:
    pytester.makepyfile(
        '''
import pytest
KEYSPACES = "SELECT keyspace_name FROM system_schema.keyspaces"
NAMES = set()
def test_plain(cassandra):
    NAMES.add(cassandra.name)
    cassandra.cql(
        "CREATE KEYSPACE leftover WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
    )
    assert "leftover" in str(cassandra.cql(KEYSPACES))
@pytest.mark.cassandra(isolation="reset")
def test_reset(cassandra, cassandra_session):
    assert cassandra.name in NAMES
    assert "leftover" not in str(cassandra.cql(KEYSPACES))
'''
    )
    inner().assert_outcomes(passed=2)
    home.nothing_left()


def test_faults_heal_though_a_test_fails(pytester: pytest.Pytester, inner: Run, home: Home) -> None:
    pytester.makepyfile(
        TABLE
        + '''
pytestmark = pytest.mark.cassandra(nodes=2)

def state(cassandra):
    return [n["condition"] for n in cassandra.helenus("list")["clusters"][0]["nodes"]]

def test_left_open(cassandra):
    cassandra.pause("node2")
    assert state(cassandra) == ["running", "paused"]
    assert False, "on purpose"

def test_healed(cassandra):
    assert state(cassandra) == ["running", "running"]
    with pytest.raises(ZeroDivisionError):
        with cassandra.pause("node1"), cassandra.pause("node2"):
            assert state(cassandra) == ["paused", "paused"]
            1 / 0
    fault = cassandra.pause("node2")
    cassandra.resume("node2")
    fault.heal()
    assert state(cassandra) == ["running", "running"]

def test_killed(cassandra, cassandra_session):
    use(cassandra_session)
    with cassandra.kill("node2"):
        assert state(cassandra) == ["running", "stopped"]
    assert state(cassandra) == ["running", "running"]
    assert cassandra_session.execute("SELECT v FROM t WHERE id = 1").one().v == "a"
'''
    )
    inner().assert_outcomes(passed=2, failed=1)
    home.nothing_left()


def test_a_client_stands_in_a_data_centre_that_is_cut_off(pytester: pytest.Pytester, inner: Run, home: Home) -> None:
    pytester.makepyfile(
        TABLE
        + '''
import time

@pytest.mark.cassandra(nodes=[1, 1], rtt="40ms")
def test_wan(cassandra, cassandra_session, cassandra_keyspace):
    from cassandra import ConsistencyLevel, Unavailable, WriteTimeout, OperationTimedOut
    from cassandra.query import SimpleStatement
    use(cassandra_session)
    def write(session, level):
        text = f"INSERT INTO {cassandra_keyspace}.t (id, v) VALUES (2, 'b')"
        session.execute(SimpleStatement(text, consistency_level=level), timeout=8)
    far = cassandra.connect(dc="DC2")
    for session in (cassandra_session, far):
        begin = time.monotonic()
        write(session, ConsistencyLevel.EACH_QUORUM)
        assert time.monotonic() - begin >= 0.04
    with cassandra.partition("DC2"):
        write(cassandra_session, ConsistencyLevel.LOCAL_QUORUM)
        write(far, ConsistencyLevel.LOCAL_QUORUM)
        with pytest.raises((Unavailable, WriteTimeout, OperationTimedOut)):
            write(cassandra_session, ConsistencyLevel.EACH_QUORUM)
    deadline = time.monotonic() + 30
    while True:
        try:
            return write(cassandra_session, ConsistencyLevel.EACH_QUORUM)
        except (Unavailable, WriteTimeout, OperationTimedOut):
            assert time.monotonic() < deadline
            time.sleep(0.5)
'''
    )
    inner().assert_outcomes(passed=1)
    home.nothing_left()


WHERE = '''
import os, pathlib
@pytest.mark.parametrize("i", range(12))
def test_use(cassandra, cassandra_session, i):
    use(cassandra_session)
    line = f"{os.environ['PYTEST_XDIST_WORKER']} {cassandra.name}\\n"
    with open(pathlib.Path(__file__).with_name("said.txt"), "a") as file:
        file.write(line)
'''


@pytest.mark.parametrize("workers", ["shared", pytest.param("each", marks=pytest.mark.more)])
def test_workers_share_a_cluster_or_have_one_each(
    pytester: pytest.Pytester, inner: Run, home: Home, workers: str
) -> None:
    pytester.makepyfile(TABLE + WHERE)
    inner("-n", "2", "--helenus-workers", workers).assert_outcomes(passed=12)
    said = {tuple(line.split()) for line in Path("said.txt").read_text().splitlines()}
    assert {worker for worker, _ in said} == {"gw0", "gw1"}
    assert len({name for _, name in said}) == (1 if workers == "shared" else 2)
    home.nothing_left()


@pytest.mark.more
def test_faults_want_a_cluster_that_nobody_shares(pytester: pytest.Pytester, inner: Run, home: Home) -> None:
    pytester.makepyfile(
        '''
import pytest
def test_shared(cassandra):
    with pytest.raises(Exception, match="shared with other workers.*\\n.*private=True"):
        cassandra.pause("node1")
@pytest.mark.cassandra(private=True)
def test_private(cassandra):
    with cassandra.pause("node1"):
        pass
'''
    )
    inner("-n", "2").assert_outcomes(passed=2)
    home.nothing_left()


@pytest.mark.more
def test_a_failure_of_up_is_one_error_and_x_ends_cleanly(pytester: pytest.Pytester, inner: Run, home: Home) -> None:
    pytester.makepyfile(TABLE + "def test_a(cassandra_session): assert False\ndef test_b(cassandra_session): pass")
    inner("-x").assert_outcomes(failed=1)
    home.nothing_left()


def test_a_cluster_that_was_there_is_left_as_it_was(pytester: pytest.Pytester, inner: Run, home: Home) -> None:
    home.helenus("up", "mine", "-q")
    keyspaces = "SELECT keyspace_name FROM system_schema.keyspaces"
    before = home.helenus("cqlsh", "mine", "-e", keyspaces)
    pytester.makepyfile(
        TABLE
        + '''
import os, signal
def test_use(cassandra, cassandra_session):
    assert cassandra.name == "mine"
    use(cassandra_session)
def test_reset(cassandra):
    assert cassandra.release.startswith("5.0")
def test_killed(cassandra_session, cassandra):
    use(cassandra_session)
    cassandra.pause("node1")
    os.kill(os.getpid(), signal.SIGKILL)
'''
    )
    inner("--helenus-cluster", "mine", "-k", "test_use or test_reset").assert_outcomes(passed=2)
    assert home.helenus("cqlsh", "mine", "-e", keyspaces) == before
    assert inner("--helenus-cluster", "mine", "-k", "test_killed").ret == -9
    wait_for(lambda: not home.processes_of_plugin())
    assert home.helenus("cqlsh", "mine", "-e", keyspaces) == before
    assert inner("--helenus-cluster", "mine", "--helenus-isolation", "reset").ret == pytest.ExitCode.USAGE_ERROR
    ended = inner("--helenus-cluster", "yours", "-k", "test_use")
    ended.stdout.fnmatch_lines(["cassandra: no such cluster: yours", "hint: known: mine"])
    home.helenus("rm", "mine", "-q")
    home.nothing_left()


def wait_for(done: Callable[[], bool], seconds: float = 30) -> None:
    import time

    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "still waiting"
        time.sleep(0.05)


@pytest.mark.more
def test_a_matrix_of_releases(pytester: pytest.Pytester, inner: Run, home: Home) -> None:
    releases = os.environ.get("HELENUS_RELEASES", "4.1,5.0").split(",")
    pytester.makepyfile(
        TABLE
        + f'''
@pytest.mark.cassandra(releases={releases})
@pytest.mark.parametrize("i", range(2))
def test_use(cassandra, cassandra_session, request, i):
    use(cassandra_session)
    assert any(cassandra.release.startswith(word) and word in request.node.name for word in {releases})
'''
    )
    inner().assert_outcomes(passed=4)
    home.nothing_left()
