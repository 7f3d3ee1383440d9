"""A worker's connection to the keeper of its run."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, Optional

from . import _owner
from ._binary import HelenusError, failure


class Link:
    """Whoever holds it uses what it asked for; the kernel closes it where the process is killed."""

    def __init__(self, owner: int, tag: str, binary: str) -> None:
        self._binary = binary
        self._address = f"\0{tag}"
        self._socket = self._connect() or self._begin(owner, tag)
        self._lines = self._socket.makefile("r", encoding="utf-8")

    def _connect(self) -> Optional[socket.socket]:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            link.connect(self._address)
        except OSError:
            link.close()
            return None
        credentials = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if struct.unpack("3i", credentials)[1] != os.getuid():
            link.close()
            raise HelenusError("another user holds the address of this run's keeper")
        return link

    def _begin(self, owner: int, tag: str) -> socket.socket:
        keeper = str(Path(__file__).with_name("_keeper.py"))
        subprocess.run(
            [sys.executable, "-I", "-S", keeper, tag, str(owner), self._binary],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            check=False,
        )
        link = self._connect()
        if link is None:
            raise HelenusError("the keeper of this run's clusters did not start, or the run has ended")
        return link

    def ask(self, verb: str, **values: Any) -> dict[str, Any]:
        """Asks the keeper; waits as long as the binary takes."""
        try:
            self._socket.sendall(json.dumps({"verb": verb, **values}).encode() + b"\n")
            line = self._lines.readline()
        except OSError:
            line = ""
        if not line:
            raise HelenusError("the keeper of this run's clusters has ended; they are removed by the next run")
        answer: dict[str, Any] = json.loads(line)
        if "stderr" in answer:
            raise failure(("up", answer["name"]), answer["exit_code"], answer["stderr"])
        if "error" in answer:
            raise HelenusError(**answer["error"])
        return answer

    def close(self) -> None:
        try:
            self.ask("bye")
        except HelenusError:
            pass
        self._lines.close()
        self._socket.close()


def end(tag: str) -> None:
    """Asks the keeper of a run, if there is one, to remove everything, and waits for it."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with link:
        try:
            link.connect(f"\0{tag}")
            link.sendall(b'{"verb": "close"}\n')
            # Until the keeper itself has ended.
            while link.recv(64):
                pass
        except OSError:
            return


def owner_of(given: Optional[str]) -> tuple[int, str]:
    """The process that a run's clusters end with, and their tag: that of xdist's controller, or this process."""
    if given:
        pid = int(given.split("-")[1], 36)
        # A worker on another machine, or in another container, cannot see its controller.
        if _owner.tag(pid) == given:
            return pid, given
    return os.getpid(), _owner.tag(os.getpid())
