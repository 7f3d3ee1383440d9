"""What clusters and nodes share: the binary, errors, addresses."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

# What sets the nodes of one cluster apart from those of another is their state, not their JVM.
CASSANDRA_CONF_DIR = "conf"


class CCMError(Exception):
    """What `helenus` refused, in its own words."""


class ArgumentError(CCMError):
    """A value that cannot be."""


class LoadError(CCMError):
    """There is no such cluster."""


def binary() -> str:
    """The binary: HELENUS_BINARY, of PATH, or beside this Python."""
    named = os.environ.get("HELENUS_BINARY")
    beside = Path(sys.executable).parent / "helenus"
    found = shutil.which(named or "helenus") or (str(beside) if beside.exists() else None)
    if found is None:
        raise CCMError("helenus was not found: pip install helenus, or set HELENUS_BINARY to its path")
    return found


def run(path, *words, cluster=None, check=True):
    """A line of `helenus ccm` on the clusters of a folder: its exit code, output and errors."""
    line = [binary(), "ccm", "--config-dir", str(path)]
    if cluster is not None:
        line += ["--cluster", cluster]
    ended = subprocess.run([*line, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if check and ended.returncode != 0:
        raise CCMError(f"ccm {' '.join(map(str, words))} ended with exit code {ended.returncode}: {ended.stderr.strip()}")
    return ended


def state(path, name):
    """The state of a cluster, as Helenus keeps it; none where it has no nodes yet."""
    file = Path(path) / "state" / "clusters" / name / "cluster.json"
    try:
        return json.loads(file.read_text())
    except FileNotFoundError:
        return None


def settings(values):
    """Settings as arguments of `updateconf`. A text stands as it is, so that "True" is a truth and "5" a number."""
    plain = lambda value: isinstance(value, str) and value and not set(value) & set(":#{}[],&*?|<>=!%@\\\"'\n")
    text = lambda value: value if plain(value) else json.dumps(value)
    return [f"{key}: {text(value)}" for key, value in values.items()]


def switch_cluster(path, name):
    """Makes a cluster the current one."""
    run(path, "switch", name)


def get_default_path():
    """The folder of clusters that nobody named."""
    folder = os.environ.get("CCM_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".ccm")
    os.makedirs(folder, exist_ok=True)
    return folder


def is_win():
    """Whether this is Windows, where Helenus runs in WSL2 only."""
    return sys.platform in ("cygwin", "win32")


def check_socket_listening(interface, timeout=60):
    """Whether somebody accepts connections there within so many seconds."""
    until = time.time() + timeout
    while time.time() < until:
        try:
            socket.create_connection(interface, timeout=1).close()
            return True
        except OSError:
            time.sleep(0.1)
    return False


def check_socket_available(interface, return_on_error=False):
    """Whether nobody listens there; raises otherwise, unless asked to return."""
    family = socket.AF_INET6 if ":" in interface[0] else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(interface)
            return True
        except OSError as error:
            if return_on_error:
                return False
            raise CCMError(f"{interface[0]}:{interface[1]} is not available: {error}") from error


assert_socket_available = check_socket_available


def normalize_interface(interface):
    """IPv6 addresses in their full form."""
    host, *rest = interface
    if "::" in host:
        host = socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, host))
    return (host, *rest)


def main():
    """The command `ccm`."""
    try:
        os.execv(binary(), ["helenus", "ccm", *sys.argv[1:]])
    except CCMError as error:
        sys.exit(str(error))
