"""A cluster as a test sees it: where it is, its tools, and faults that always heal."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Optional

from . import _binary
from ._binary import HelenusError
from ._spec import Spec


@dataclass(frozen=True)
class Node:
    """A node of the cluster."""

    name: str
    address: str
    port: int
    data_center: str
    rack: str


class Fault:
    """A fault that holds. It heals at the end of its `with`, by `heal()`, or at the end of the test."""

    def __init__(self, cluster: Cassandra, words: str, target: str) -> None:
        self.words = words
        self.target = target
        self._cluster = cluster
        self._open = True

    def heal(self) -> None:
        """Undoes it; waits for nodes that are started again. A fault that something else undid is no error."""
        if not self._open:
            return
        self._open = False
        self._cluster._faults.remove(self)
        holding = self._cluster.helenus("fault", self._cluster.name)["faults"]
        if any(fault["words"] == self.words for fault in holding):
            self._cluster.helenus("heal", self._cluster.name, self.target)

    def __enter__(self) -> Fault:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.heal()

    def __repr__(self) -> str:
        return f"<Fault {self.words}{'' if self._open else ', healed'}>"


class Cassandra:
    """A running cluster. Made by the fixture `cassandra`."""

    def __init__(self, binary: str, name: str, spec: Spec, may_break: Optional[str], note: Callable[[], None]) -> None:
        self._binary = binary
        self._spec = spec
        self._may_break = may_break
        self._note = note
        self._faults: list[Fault] = []
        self._opened: list[Any] = []
        # Whether a test has used it since it was started or reset.
        self._dirty = False
        #: Name of the cluster, as `helenus list` shows it.
        self.name = name
        listed = self.helenus("list")["clusters"]
        found = [cluster for cluster in listed if cluster["name"] == name]
        if not found:
            known = ", ".join(cluster["name"] for cluster in listed) or "none"
            raise HelenusError(f"no such cluster: {name}", f"known: {known}", 2)
        #: What `helenus env NAME --as json` prints: contact points, folders, credentials.
        self.env: dict[str, Any] = self.helenus("env", name, "--as", "json")
        self.contact_points: list[str] = self.env["contact_points"]
        self.port: int = self.env["port"]
        self.local_datacenter: str = self.env["data_center"]
        self.release: str = self.env["release"]
        self.nodes = [
            Node(n["name"], n["address"], n["cql_port"], n["data_center"], n["rack"]) for n in found[0]["nodes"]
        ]
        #: Heap of each node in bytes.
        self.heap_bytes: int = found[0]["heap_bytes"]

    @property
    def data_centers(self) -> list[str]:
        return list(dict.fromkeys(node.data_center for node in self.nodes))

    @property
    def apart(self) -> bool:
        """Whether the nodes are in their own network, which only `connect` and `helenus exec` reach."""
        return not self.contact_points[0].startswith("127.")

    def replication(self, most: int = 3) -> dict[str, Any]:
        """A replication with `most` copies in each data centre, or as many as it has nodes."""
        of = {dc: min(most, sum(n.data_center == dc for n in self.nodes)) for dc in self.data_centers}
        return {"class": "NetworkTopologyStrategy", **of}

    def helenus(self, *arguments: str) -> dict[str, Any]:
        """The JSON of any verb of the binary, such as `helenus("status", cassandra.name)`."""
        return _binary.run(self._binary, *arguments)

    def nodetool(self, *arguments: str, node: Optional[str] = None) -> str:
        """What the release's own nodetool prints, on the first node or the one named."""
        place = f"{self.name}/{node}" if node else self.name
        return _binary.run_text(self._binary, "nodetool", place, *arguments)

    def cql(self, statements: str) -> dict[str, Any]:
        """Runs CQL by the binary, without a driver."""
        return self.helenus("cqlsh", self.name, "-e", statements)

    def logs(self, node: str = "node1") -> str:
        return _binary.run_text(self._binary, "logs", f"{self.name}/{node}")

    def reset(self) -> dict[str, Any]:
        """Returns the cluster to its state after `up`, schema included."""
        self._must_be_ours("reset")
        return self.helenus("reset", self.name)

    def connect(self, keyspace: Optional[str] = None, dc: Optional[str] = None) -> Any:
        """A driver's session, which is shut down with the fixture. `dc`: as a client that stands there."""
        from .driver import Connector

        connector = Connector(self, dc)
        self._opened.append(connector)
        return connector.session(keyspace)

    # Faults.

    def kill(self, target: str) -> Fault:
        """SIGKILL to a node, a rack or a data centre; healing starts it again, with its data."""
        self._must_be_ours("kill")
        if self._spec.quick_schema:
            self.nodetool("flush", "system_schema")
        return self.fault("kill", target)

    def pause(self, target: str) -> Fault:
        """SIGSTOP to a node, a rack or a data centre."""
        return self.fault("pause", target)

    def resume(self, target: str) -> None:
        """Ends `pause` of this target."""
        for fault in [f for f in self._faults if f.words == f"pause {target}"]:
            fault.heal()

    def slow(self, amount: str, target: str) -> Fault:
        """`"25%"` of a processor for nodes, or `"50ms"` more, each way, on links."""
        return self.fault("slow", amount, target)

    def loss(self, percent: str, target: str) -> Fault:
        """Packets of links that are lost, such as `"5%"`."""
        return self.fault("loss", percent, target)

    def partition(self, target: str) -> Fault:
        """Cuts a data centre, a link `"DC1:DC2"`, a rack or a node off. Needs distance (`rtt=`)."""
        return self.fault("partition", target)

    def fill_disk(self, target: str) -> Fault:
        """Leaves nothing free on nodes' own disks. Needs `disk=`."""
        return self.fault("disk-full", target)

    def fault(self, *words: str) -> Fault:
        """A fault in the words of `helenus fault NAME …`."""
        self._must_be_ours(words[0])
        self._note()
        made = self.helenus("fault", self.name, *words)
        fault = Fault(self, made["words"], made["target"])
        self._faults.append(fault)
        return fault

    def heal(self) -> None:
        """Undoes every fault that this test made, the last first."""
        failed = None
        for fault in reversed(list(self._faults)):
            try:
                fault.heal()
            except HelenusError as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def link(self, between: str, *flags: str) -> dict[str, Any]:
        """Changes a link for good, such as `link("DC1:DC2", "--rtt", "150ms")`."""
        self._must_be_ours("link")
        return self.helenus("link", self.name, between, *flags)

    def stop(self, node: str) -> None:
        """Stops a node with a clean shutdown; its data stay."""
        self._must_be_ours("stop")
        self.helenus("stop", f"{self.name}/{node}")

    def start(self, node: str) -> None:
        """Starts a node that was stopped."""
        self.helenus("start", f"{self.name}/{node}")

    def _must_be_ours(self, what: str) -> None:
        if self._may_break:
            raise HelenusError(f"{what}: {self._may_break}", "@pytest.mark.cassandra(private=True)", 2)

    def _close(self) -> None:
        for connector in self._opened:
            connector.close()
        self._opened.clear()

    def __repr__(self) -> str:
        return f"<Cassandra {self.name}: {self.release}, {len(self.nodes)} nodes>"
