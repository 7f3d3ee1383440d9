"""Holds the clusters of one run of pytest, and removes them when the run ends, however it ends.

A process in a session apart, started by the first test that wants a cluster. It watches the run's first process through
the kernel, so that `kill -9` of pytest is noticed, too; whoever uses a cluster holds a connection, so that the kernel
says who is gone. It listens on an abstract socket: no file is left. Only the standard library is imported.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from typing import Any, Optional

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import _owner  # type: ignore[import-not-found]  # noqa: E402

Answer = dict[str, Any]

# Clusters that nobody uses at the moment and that are kept, because the next test may want them.
IDLE = 1


class Cluster:
    def __init__(self, name: str, binary: str, private: bool) -> None:
        self.name = name
        self.binary = binary
        self.private = private
        self.users: set[socket.socket] = set()
        self.answer: Optional[Answer] = None
        self.lock = threading.Lock()
        self.used = time.monotonic()


class Keeper:
    def __init__(self, tag: str, owner: int) -> None:
        self.tag = tag
        self.owner = owner
        self.lock = threading.Lock()
        self.clusters: dict[str, Cluster] = {}
        self.ups: set[subprocess.Popen[bytes]] = set()
        self.made = 0
        # Users of clusters that are not ours: after each there is something to clean.
        self.guests: set[socket.socket] = set()
        self.closing = threading.Event()

    # One connection: a process that uses clusters.

    def serve(self, connection: socket.socket) -> None:
        attached: dict[str, Answer] = {}
        clean = False
        try:
            for line in connection.makefile("r", encoding="utf-8"):
                asked = json.loads(line)
                verb = asked["verb"]
                if verb == "up":
                    answer = self.up(connection, asked)
                elif verb == "release":
                    answer = self.release(connection, asked["key"])
                elif verb == "attach":
                    attached.setdefault(asked["name"], asked)
                    self.guests.add(connection)
                    self.sweep_keyspaces(asked["binary"], asked["name"])
                    answer = {}
                elif verb == "faults":
                    attached[asked["name"]]["faults"] = True
                    answer = {}
                elif verb == "close":
                    # The end of this process is the answer.
                    self.closing.set()
                    continue
                else:
                    clean, answer = True, {}
                connection.sendall(json.dumps(answer).encode() + b"\n")
        except (OSError, ValueError, KeyError):
            pass
        finally:
            self.left(connection, {} if clean else attached)
            self.guests.discard(connection)
            connection.close()

    def up(self, connection: socket.socket, asked: Answer) -> Answer:
        key, binary = asked["key"], asked["binary"]
        with self.lock:
            if self.closing.is_set():
                return {"error": {"error": "the run has ended", "hint": None, "exit_code": 130}}
            cluster = self.clusters.get(key)
            if cluster is None:
                cluster = Cluster(f"{self.tag}-{self.made}", binary, asked["private"])
                self.made += 1
                self.clusters[key] = cluster
            cluster.users.add(connection)
        self.evict(IDLE)
        with cluster.lock:
            fresh = cluster.answer is None
            if cluster.answer is None:
                cluster.answer = self.start(cluster, asked["arguments"])
        return {**cluster.answer, "fresh": fresh}

    def start(self, cluster: Cluster, arguments: list[str]) -> Answer:
        begin = [cluster.binary, "up", cluster.name, *arguments, "--format", "json"]
        with self.lock:
            if self.closing.is_set():
                return {"error": {"error": "the run has ended", "hint": None, "exit_code": 130}}
            try:
                process = subprocess.Popen(
                    begin, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                )
            except OSError as error:
                return {"error": {"error": f"{cluster.binary}: {error.strerror}", "hint": None}}
            self.ups.add(process)
        out, err = process.communicate()
        with self.lock:
            self.ups.discard(process)
        if process.returncode == 0:
            return {"name": cluster.name, "ready": json.loads(out)}
        remove(cluster)
        text = err.decode(errors="replace")
        return {"name": cluster.name, "stderr": text, "exit_code": process.returncode}

    def release(self, connection: socket.socket, key: str) -> Answer:
        with self.lock:
            cluster = self.clusters.get(key)
            if cluster is not None:
                cluster.users.discard(connection)
                cluster.used = time.monotonic()
        self.evict(IDLE)
        return {}

    def left(self, connection: socket.socket, attached: dict[str, Answer]) -> None:
        """A user is gone. What it had alone goes, too; what it broke in somebody's own cluster is healed."""
        with self.lock:
            for cluster in self.clusters.values():
                cluster.users.discard(connection)
        self.evict(IDLE, private=True)
        for name, asked in attached.items():
            if asked.get("faults"):
                call(asked["binary"], "heal", name, "--all", "-q")
            prefix = str(asked["keyspaces"])
            self.sweep_keyspaces(asked["binary"], name, prefix)

    def evict(self, keep: int, private: bool = False) -> None:
        """Removes clusters that nobody uses: all but the `keep` used last; with `private` only those of one user."""
        with self.lock:
            idle = [k for k, c in self.clusters.items() if not c.users and (c.private or not private)]
            idle.sort(key=lambda k: self.clusters[k].used)
            if not private:
                idle = idle[: max(0, len(idle) - keep)]
            gone = [self.clusters.pop(k) for k in idle]
        for cluster in gone:
            with cluster.lock:
                remove(cluster)

    def sweep_keyspaces(self, binary: str, name: str, prefix: Optional[str] = None) -> None:
        """Drops keyspaces from a cluster that is not ours: those of a prefix, or of runs that are gone."""
        ask = "SELECT keyspace_name FROM system_schema.keyspaces"
        said = call(binary, "cqlsh", name, "--format", "json", "-e", ask)
        for word in words(said):
            tag = word.replace("_", "-")
            if word.startswith("pytest_") and (tag.startswith(prefix) if prefix else _owner.is_gone(tag)):
                call(binary, "cqlsh", name, "-q", "-e", f"DROP KEYSPACE IF EXISTS {word}")

    # The life of the keeper.

    def sweep(self, binary: str) -> None:
        """Removes clusters of runs whose keeper was killed with them."""
        try:
            clusters = json.loads(call(binary, "list", "--format", "json"))["clusters"]
        except (ValueError, KeyError):
            return
        for name in [cluster["name"] for cluster in clusters]:
            if not name.startswith(self.tag + "-") and _owner.is_gone(name):
                call(binary, "rm", name, "--force", "-q")

    def accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            if user_of(connection) != os.getuid():
                connection.close()
                continue
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def live(self) -> None:
        """Returns when the owner has ended, or has asked for the end."""
        try:
            handle = os.pidfd_open(self.owner)
        except (AttributeError, OSError):
            handle = None
        while not self.closing.is_set() and not _owner.is_gone(self.tag):
            if handle is None:
                self.closing.wait(0.2)
                continue
            # Short enough for the owner's own word, which comes by a thread.
            ready, _, _ = select.select([handle], [], [], 0.05)
            if ready:
                break

    def close(self) -> None:
        with self.lock:
            self.closing.set()
            for process in self.ups:
                process.send_signal(signal.SIGINT)
        # An `up` that was interrupted cleans up; one that has just ended has left a cluster.
        while True:
            with self.lock:
                if not self.ups:
                    clusters, self.clusters = list(self.clusters.values()), {}
                    break
            time.sleep(0.01)
        removals = [threading.Thread(target=remove, args=(c,)) for c in clusters]
        for removal in removals:
            removal.start()
        for removal in removals:
            removal.join()


def call(binary: str, *arguments: str) -> str:
    try:
        ended = subprocess.run(
            [binary, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return ""
    return ended.stdout.decode(errors="replace")


def words(text: str) -> list[str]:
    """Every text in a JSON value, at any depth."""
    try:
        left: list[Any] = [json.loads(text)]
    except ValueError:
        return []
    found = []
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)
        elif isinstance(value, str):
            found.append(value)
    return found


def remove(cluster: Cluster) -> None:
    for _ in range(5):
        ended = subprocess.run(
            [cluster.binary, "rm", cluster.name, "--force", "--format", "json"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        # 2: no such cluster, because `up` ended before it made one, or has removed it.
        if ended.returncode in (0, 2):
            return
        time.sleep(0.5)


def user_of(connection: socket.socket) -> int:
    peer: tuple[int, int, int] = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return peer[1]


def main() -> None:
    tag, owner, binary = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(f"\0{tag}")
    except OSError:
        # Another worker was first: its keeper serves this one, too.
        return
    listener.listen(128)
    if os.fork() > 0:
        os._exit(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    keeper = Keeper(tag, owner)
    threading.Thread(target=keeper.accept, args=(listener,), daemon=True).start()
    sweep = threading.Thread(target=keeper.sweep, args=(binary,), daemon=True)
    sweep.start()
    keeper.live()
    keeper.close()
    sweep.join(60)
    last = time.monotonic() + 60
    while keeper.guests and time.monotonic() < last:
        time.sleep(0.02)


if __name__ == "__main__":
    main()
