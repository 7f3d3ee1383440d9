"""The plugin: options, the marker, the fixtures."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

import pytest

from . import _binary, _link, _owner, _spec
from ._binary import HelenusError
from ._spec import Spec, SpecError
from .cluster import Cassandra
from .driver import AsyncSession, Connector

# Of an option: its key, the ini option's help.
OPTIONS = {
    "nodes": "nodes of the cluster, or 3:3 for two data centres",
    "release": "release of Cassandra, such as 4.1",
    "releases": "releases, such as 4.1,5.0: every test runs on each",
    "preset": "preset of the binary: tiny, dev, bench",
    "topology": "a topology file",
    "schema": "a file of CQL to run when the cluster is ready",
    "rtt": "round trip between data centres, such as 40ms",
    "heap": "heap of each node",
    "cluster": "a running cluster to use instead; its data stay, and it is not removed",
    "isolation": "between tests: keyspace (default), reset or none",
    "workers": "with pytest-xdist: one cluster for all (shared, default) or for each",
    "binary": "path of helenus",
}
STATE = pytest.StashKey["State"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("helenus", "Cassandra by Helenus")
    for name, text in OPTIONS.items():
        group.addoption(f"--helenus-{name}", metavar=name.upper(), help=text)
        parser.addini(f"helenus_{name}", text, default=None)


class State:
    """What a process of this run knows."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.input: dict[str, Any] = getattr(config, "workerinput", {})
        self.worker = str(self.input.get("workerid", "main"))
        self.shared = bool(self.input) and self.input.get("workercount", 1) > 1
        self.owner, self.tag = _link.owner_of(self.input.get("helenus_tag"))
        self.link: Optional[_link.Link] = None
        self.live: list[Cassandra] = []
        self.specs: dict[Spec, Spec] = {}
        self.keyspaces = 0
        place = config.inipath.parent if config.inipath else config.rootpath
        given = {name: self.option(name) for name in OPTIONS}
        workers = given.pop("workers") or "shared"
        if workers not in ("shared", "each"):
            raise pytest.UsageError(_spec.unknown("value of helenus workers", workers, ("shared", "each")))
        self.each = workers == "each"
        self.binary_named = given.pop("binary")
        self.releases = [word.strip() for word in (given.pop("releases") or "").split(",") if word.strip()]
        here = {k: v for k, v in given.items() if v and config.getoption(f"--helenus-{k}")}
        ini = {k: v for k, v in given.items() if v and k not in here}
        try:
            self.base = Spec().with_keys(ini, place).with_keys(here, config.invocation_params.dir)
        except SpecError as error:
            raise pytest.UsageError(f"helenus: {error}") from None

    def option(self, name: str) -> Optional[str]:
        value = self.config.getoption(f"--helenus-{name}") or self.config.getini(f"helenus_{name}")
        return str(value) if value else None

    def one(self, spec: Spec) -> Spec:
        """The same object for equal values, because pytest compares by identity."""
        return self.specs.setdefault(spec, spec)

    def linked(self, binary: str) -> _link.Link:
        if self.link is None:
            self.link = _link.Link(self.owner, self.tag, binary)
        return self.link

    @property
    def prefix(self) -> str:
        """What the names of this process' keyspaces start with."""
        return f"{self.tag}-{self.worker}-".replace("-", "_")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "cassandra(nodes=, release=, releases=[], topology=, rtt=, isolation=, private=, …): the cluster that a test"
        " wants; all keys are in docs/pytest.md",
    )
    config.stash[STATE] = State(config)
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(Controller(config.stash[STATE]), "helenus-controller")


def pytest_unconfigure(config: pytest.Config) -> None:
    state = config.stash.get(STATE, None)
    if state is None:
        return
    if state.link is not None:
        state.link.close()
        state.link = None
    # A worker's clusters are its controller's, who ends after it.
    if state.owner == _owner_here():
        _link.end(state.tag)


def _owner_here() -> int:
    import os

    return os.getpid()


class Controller:
    """Hands the owner of the clusters to the workers of xdist."""

    def __init__(self, state: State) -> None:
        self.state = state

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput["helenus_tag"] = self.state.tag


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cassandra" not in metafunc.fixturenames:
        return
    state = metafunc.config.stash[STATE]
    markers = []
    for marker in reversed(list(metafunc.definition.iter_markers("cassandra"))):
        if marker.args:
            raise pytest.Collector.CollectError(
                f"{metafunc.definition.nodeid}: @pytest.mark.cassandra takes keys, such as nodes=3"
            )
        markers.append((marker.kwargs, metafunc.definition.path.parent))
    try:
        specs = _spec.matrix(state.base, state.releases, markers)
    except SpecError as error:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid}: {error}") from None
    if not markers and not state.releases:
        return
    ids: list[Any] = [spec.release or "cassandra" for spec in specs]
    if len(ids) == 1:
        ids = [getattr(pytest, "HIDDEN_PARAM", ids[0])]
    metafunc.parametrize("cassandra", [state.one(s) for s in specs], ids=ids, indirect=True, scope="session")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, None]:
    """Heals when all fixtures of a test have ended, also where the end of one has failed."""
    ended = yield
    failed = None
    for cluster in list(item.config.stash[STATE].live):
        if "cassandra" in getattr(item, "fixturenames", ()):
            cluster._dirty = True
        try:
            cluster.heal()
        except HelenusError as error:
            failed = failed or error
    if failed is None or ended.excinfo is not None:
        return
    if not hasattr(ended, "force_exception"):  # pluggy before 1.1
        raise failed
    ended.force_exception(failed)


def fail(error: HelenusError) -> Any:
    """One error, without a trace through this plugin."""
    pytest.fail(f"cassandra: {error}", pytrace=False)


@pytest.fixture(scope="session")
def cassandra(request: pytest.FixtureRequest) -> Iterator[Cassandra]:
    """A running cluster: contact points, tools, faults."""
    state = request.config.stash[STATE]
    spec: Spec = getattr(request, "param", None) or state.base
    may_break = None
    if spec.cluster is None and state.shared and (state.each or spec.isolation == "reset"):
        spec = replace(spec, private=True)
    if state.shared and not spec.private:
        may_break = "this cluster is shared with other workers of pytest-xdist"
    try:
        cluster = _begin(state, spec, may_break)
    except HelenusError as error:
        fail(error)
    state.live.append(cluster)
    yield cluster
    state.live.remove(cluster)
    cluster.heal()
    cluster._close()
    if spec.cluster is None and state.link is not None:
        try:
            state.link.ask("release", key=spec.key(state.worker))
        except HelenusError:
            pass


def _begin(state: State, spec: Spec, may_break: Optional[str]) -> Cassandra:
    binary = _binary.find(state.binary_named)
    link = state.linked(binary)
    if spec.cluster is not None:
        name = spec.cluster
        link.ask("attach", name=name, binary=binary, keyspaces=state.prefix.replace("_", "-"))

        def note() -> None:
            link.ask("faults", name=name)

        return Cassandra(binary, name, spec, may_break, note)
    key = spec.key(state.worker)
    started = link.ask("up", key=key, binary=binary, arguments=spec.arguments(), private=spec.private)
    cluster = Cassandra(binary, started["name"], spec, may_break, lambda: None)
    # Tests with other keys may have used it before, and left something.
    cluster._dirty = not started["fresh"]
    return cluster


class Keyspaces:
    """A keyspace for each test, and a driver's connections to make them by."""

    def __init__(self, state: State, cluster: Cassandra) -> None:
        self.state = state
        self.cluster = cluster
        self.connector = Connector(cluster)
        self.waiting: list[tuple[str, int]] = []
        # Dropping costs ten times as much as making. What a cluster's end will drop waits for it, as long as the heap
        # holds the tables: measured, 450 in 256 MiB. A cluster that is not ours is left clean after each test.
        tables = 0 if cluster._spec.cluster else max(0, (cluster.heap_bytes >> 20) - 48)
        self.budget = tables // (int(state.input.get("workercount", 1)) if not cluster._spec.private else 1)

    def make(self) -> Optional[str]:
        spec = self.cluster._spec
        if spec.isolation == "none":
            return None
        if spec.isolation == "reset":
            if self.cluster._dirty:
                self.cluster.reset()
                self.cluster._dirty = False
            if spec.schema:
                return None
            name = "test"
        else:
            name = f"{self.state.prefix}{self.state.keyspaces}"
            self.state.keyspaces += 1
        copies = ", ".join(f"'{key}': {value!r}" for key, value in self.cluster.replication().items())
        self.connector.shared.execute(f"CREATE KEYSPACE {name} WITH replication = {{{copies}}}")
        return name

    def drop(self, name: Optional[str]) -> None:
        if name is None or self.cluster._spec.isolation == "reset":
            return
        session = self.connector.shared
        if self.budget:
            ask = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = %s"
            self.waiting.append((name, len(list(session.execute(ask, (name,))))))
        else:
            self.waiting.append((name, 1))
        while sum(tables for _, tables in self.waiting) > self.budget:
            session.execute(f"DROP KEYSPACE IF EXISTS {self.waiting.pop(0)[0]}", timeout=60)


@pytest.fixture(scope="session")
def _cassandra_keyspaces(request: pytest.FixtureRequest, cassandra: Cassandra) -> Iterator[Keyspaces]:
    try:
        keyspaces = Keyspaces(request.config.stash[STATE], cassandra)
    except HelenusError as error:
        fail(error)
    yield keyspaces
    keyspaces.connector.close()


@pytest.fixture
def cassandra_keyspace(_cassandra_keyspaces: Keyspaces) -> Iterator[Optional[str]]:
    """The name of a keyspace that was made for this test, and is dropped after it."""
    try:
        name = _cassandra_keyspaces.make()
    except HelenusError as error:
        fail(error)
    yield name
    # The driver waits for no node that a test has stopped.
    _cassandra_keyspaces.cluster.heal()
    _cassandra_keyspaces.drop(name)


@pytest.fixture
def cassandra_session(_cassandra_keyspaces: Keyspaces, cassandra_keyspace: Optional[str]) -> Iterator[Any]:
    """A driver's session in a keyspace that was made for this test."""
    session = _cassandra_keyspaces.connector.session(cassandra_keyspace)
    yield session
    session.shutdown()


@pytest.fixture
def cassandra_async_session(cassandra_session: Any) -> AsyncSession:
    """The same for asyncio: `await session.execute(…)`."""
    return AsyncSession(cassandra_session)
