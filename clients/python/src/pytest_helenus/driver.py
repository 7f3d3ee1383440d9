"""Sessions of the Python driver: cassandra-driver or scylla-driver, whichever is installed; and for asyncio."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from ._binary import HelenusError

if TYPE_CHECKING:
    from .cluster import Cassandra

MISSING = "no driver can be imported: pip install cassandra-driver (or scylla-driver)"


def modules() -> Any:
    """`cassandra.cluster` of the driver that is installed."""
    try:
        import cassandra.cluster
    except ImportError as error:
        if (error.name or "cassandra").split(".")[0] == "cassandra":
            raise HelenusError(MISSING) from None
        raise HelenusError(f"the driver cannot be imported: {error}", "pip install -U cassandra-driver") from None
    return cassandra.cluster


class Door:
    """Makes sockets in a network of the cluster, at a client of one data centre."""

    AF_INET, AF_INET6, AF_UNSPEC = socket.AF_INET, socket.AF_INET6, socket.AF_UNSPEC
    SOCK_STREAM, IPPROTO_TCP, TCP_NODELAY = socket.SOCK_STREAM, socket.IPPROTO_TCP, socket.TCP_NODELAY

    def __init__(self, cluster: Cassandra, dc: str) -> None:
        ours, theirs = socket.socketpair()
        program = str(Path(__file__).with_name("_door.py"))
        with theirs:
            self._process = subprocess.Popen(
                [cluster._binary, "exec", f"{cluster.name}/{dc}", "--", sys.executable, "-I", "-S", program],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._door = ours
        self._lock = threading.Lock()

    def socket(self, *_kind: Any) -> Any:
        """A TCP socket, not connected, as `socket.socket` makes one here."""
        with self._lock:
            try:
                self._door.sendall(b".")
                _, handles, _, _ = socket.recv_fds(self._door, 1, 1)
            except OSError:
                handles = []
        if not handles:
            raise OSError("the cluster's network is gone")
        return socket.socket(fileno=handles[0])

    def __getattr__(self, name: str) -> Any:
        return getattr(socket, name)

    def close(self) -> None:
        self._door.close()
        self._process.wait()


class Connector:
    """One `Cluster` object of the driver, and the sessions made by it."""

    def __init__(self, cluster: Cassandra, dc: Optional[str] = None) -> None:
        driver = modules()
        from cassandra import ConsistencyLevel, policies

        dc = dc or cluster.local_datacenter
        if dc not in cluster.data_centers:
            known = ", ".join(cluster.data_centers)
            raise HelenusError(f"{cluster.name} has no data centre {dc}", f"one of {known}", 2)
        balancing = policies.TokenAwarePolicy(policies.DCAwareRoundRobinPolicy(local_dc=dc))
        # The driver's own default, LOCAL_ONE, may read from a replica that a write has not reached yet.
        level = ConsistencyLevel.LOCAL_QUORUM
        profile = driver.ExecutionProfile(balancing, consistency_level=level, request_timeout=30)
        near = [node.address for node in cluster.nodes if node.data_center == dc]
        options: dict[str, Any] = {
            "contact_points": near,
            "port": cluster.port,
            "execution_profiles": {driver.EXEC_PROFILE_DEFAULT: profile},
            "protocol_version": 4 if cluster.release.startswith("3.") else 5,
            # Own statements refresh what they change; other workers' schemas need not be read.
            "schema_event_refresh_window": -1,
            "topology_event_refresh_window": 0,
            # A paused node is back soon.
            "reconnection_policy": policies.ConstantReconnectionPolicy(0.5, max_attempts=None),
            "connect_timeout": 10,
            **secured(cluster.env),
        }
        self._door: Optional[Door] = None
        if cluster.apart:
            self._door = Door(cluster, dc)
            base = driver.Cluster.connection_class
            options["connection_class"] = type("Connection", (base,), {"_socket_impl": self._door})
        self.cluster = driver.Cluster(**options)
        self.shared = self.session()

    def session(self, keyspace: Optional[str] = None) -> Any:
        return self.cluster.connect(keyspace)

    def close(self) -> None:
        self.cluster.shutdown()
        if self._door is not None:
            self._door.close()


def secured(env: dict[str, Any]) -> dict[str, Any]:
    """The driver's options for a cluster with passwords or certificates."""
    options: dict[str, Any] = {}
    if env.get("credentials"):
        from cassandra.auth import PlainTextAuthProvider

        password = Path(env["credentials"]["password_file"]).read_text().strip()
        options["auth_provider"] = PlainTextAuthProvider(env["credentials"]["username"], password)
    if env.get("tls"):
        trust = ssl.create_default_context(cafile=env["tls"]["ca"])
        trust.check_hostname = False
        if env["tls"].get("certificate"):
            trust.load_cert_chain(env["tls"]["certificate"], env["tls"]["key"])
        options["ssl_context"] = trust
    return options


class Rows(list[Any]):
    """All rows of a result."""

    def one(self) -> Any:
        """The first row, or None."""
        return self[0] if self else None


class AsyncSession:
    """A driver's session whose statements are awaited, in whatever loop asks."""

    def __init__(self, session: Any) -> None:
        #: The driver's session.
        self.session = session

    @property
    def keyspace(self) -> Optional[str]:
        keyspace: Optional[str] = self.session.keyspace
        return keyspace

    async def execute(self, query: Any, parameters: Any = None, **options: Any) -> Rows:
        """All rows of a statement, page after page."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Rows] = loop.create_future()
        rows = Rows()
        future = self.session.execute_async(query, parameters, **options)

        def end(error: Optional[BaseException]) -> None:
            if done.done():
                return
            if error is None:
                done.set_result(rows)
            else:
                done.set_exception(error)

        def page(some: Any) -> None:
            rows.extend(some or ())
            if future.has_more_pages:
                future.start_fetching_next_page()
            else:
                loop.call_soon_threadsafe(end, None)

        future.add_callbacks(page, lambda error: loop.call_soon_threadsafe(end, error))
        return await done

    async def prepare(self, query: str) -> Any:
        """Prepares a statement, in another thread."""
        return await asyncio.get_running_loop().run_in_executor(None, self.session.prepare, query)
