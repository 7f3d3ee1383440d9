"""What the plugin's own tests share: an inner pytest, a home for each module, and what the machine lacks."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src"
sys.path.insert(0, str(SOURCE))
pytest_plugins = ["pytester"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "more: left out where minutes are counted, by -m 'not more'")


def installed() -> bool:
    points = importlib.metadata.entry_points()
    ours = points.select(group="pytest11") if hasattr(points, "select") else points.get("pytest11", [])
    return any(point.value == "pytest_helenus.plugin" for point in ours)


def lacks(what: str, cure: str) -> None:
    """Says that a test was not run; a failure where HELENUS_NOT_RUN=fail, as in the other tests."""
    line = f"NOT RUN: {what} ({cure})"
    if os.environ.get("HELENUS_NOT_RUN") == "fail":
        pytest.fail(line, pytrace=False)
    pytest.skip(line)


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Runs an inner pytest with the plugin, as another process."""
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_subprocess(*words(), *arguments, timeout=240)

    return run


def words() -> list[str]:
    """How an inner pytest finds the plugin."""
    return [*([] if installed() else ["-p", "pytest_helenus.plugin"]), "-p", "no:cacheprovider", "-p", "no:asyncio"]


class Home:
    """A home of Helenus for one module's tests: what is left in it was left by them."""

    def __init__(self, path: Path, binary: str) -> None:
        self.path = path
        self.binary = binary

    def helenus(self, *arguments: str) -> str:
        ended = subprocess.run([self.binary, *arguments], capture_output=True, text=True, check=True)
        return ended.stdout

    def clusters(self) -> list[str]:
        folder = self.path / "state" / "clusters"
        return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []

    def processes(self) -> list[str]:
        """Command lines of processes that have to do with this home: nodes, keepers, the binary itself."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                around = (folder / "environ").read_bytes()
            except OSError:
                continue
            ours = f"HELENUS_HOME={self.path}".encode() in around
            if ours and ("java" in line or "helenus" in line):
                found.append(line)
        return found

    def processes_of_plugin(self) -> list[str]:
        return [line for line in self.processes() if "_keeper.py" in line or "_door.py" in line]

    def nothing_left(self) -> None:
        assert self.clusters() == []
        assert self.processes() == []


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    binary = shutil.which("helenus")
    if binary is None:
        lacks("Cassandra by the plugin", "put helenus on PATH")
    assert binary is not None
    try:
        import cassandra.cluster  # noqa: F401
        import xdist  # noqa: F401
    except ImportError:
        lacks("Cassandra by the plugin", "pip install cassandra-driver pytest-xdist")
    kept: dict[str, Any] = {name: os.environ.get(name) for name in ("HELENUS_HOME", "HELENUS_CACHE")}
    cache = kept["HELENUS_CACHE"]
    if cache is None and kept["HELENUS_HOME"]:
        cache = str(Path(kept["HELENUS_HOME"]) / "cache")
    if cache is None:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        cache = str(Path(base) / "helenus")
    with tempfile.TemporaryDirectory(prefix="helenus-pytest-") as folder:
        os.environ.update(HELENUS_HOME=folder, HELENUS_CACHE=cache)
        made = Home(Path(folder), binary)
        yield made
        subprocess.run([binary, "rm", "--all", "-q"], check=False)
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
