"""Which cluster a test wants: the keys of the marker, the options, and the words for `helenus up`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Optional

ISOLATIONS = ("keyspace", "reset", "none")

#: Heap of each node where nothing else is asked for: schemas need more than the 64 MB of `tiny`.
HEAP = "256M"
#: A schema change is not flushed at once: a third of its time. A test of kills flushes before.
QUICK_SCHEMA = "-Dcassandra.test.flush_local_schema_changes=false"


class SpecError(Exception):
    """An unknown key or value."""


@dataclass(frozen=True)
class Spec:
    """What a test wants of its cluster. Equal ones share a cluster."""

    nodes: Optional[str] = None
    release: Optional[str] = None
    java_home: Optional[str] = None
    preset: Optional[str] = None
    topology: Optional[str] = None
    schema: Optional[str] = None
    rtt: tuple[str, ...] = ()
    links: Optional[str] = None
    racks: Optional[str] = None
    tokens: Optional[str] = None
    heap: Optional[str] = None
    memory: Optional[str] = None
    cpus: Optional[str] = None
    disk: Optional[str] = None
    settings: tuple[str, ...] = ()
    jvm: tuple[str, ...] = ()
    auth: bool = False
    tls: bool = False
    cluster: Optional[str] = None
    isolation: str = "keyspace"
    private: bool = False

    @property
    def quick_schema(self) -> bool:
        """Whether schema changes stay in memory: on one node, where no other node would miss them."""
        return self.nodes in (None, "1") and self.topology is None and self.cluster is None

    def arguments(self) -> list[str]:
        """The words after `helenus up NAME`."""
        words: list[str] = []
        heap = self.heap
        if heap is None and self.preset is None and self.topology is None:
            heap = HEAP
        single = {
            "--nodes": self.nodes,
            "--cassandra": self.release,
            "--java-home": self.java_home,
            "--preset": self.preset,
            "--topology": self.topology,
            "--schema": self.schema,
            "--links": self.links,
            "--racks": self.racks,
            "--tokens": self.tokens,
            "--heap": heap,
            "--memory": self.memory,
            "--cpus": self.cpus,
            "--disk": self.disk,
        }
        for flag, value in single.items():
            if value is not None:
                words += [flag, value]
        for flag, values in (("--rtt", self.rtt), ("--set", self.settings)):
            for value in values:
                words += [flag, value]
        for value in (*((QUICK_SCHEMA,) if self.quick_schema else ()), *self.jvm):
            words.append(f"--jvm={value}")
        words += [flag for flag, on in (("--auth", self.auth), ("--tls", self.tls)) if on]
        return words

    def key(self, worker: str) -> str:
        """Equal keys are one cluster; one that is private is the worker's."""
        if self.cluster is not None:
            return f"={self.cluster}"
        return "\0".join([*self.arguments(), worker if self.private else ""])

    def with_keys(self, given: Mapping[str, Any], place: Path) -> Spec:
        """This, changed by a marker's keys. Paths are relative to the file that names them."""
        known = [f.name for f in fields(Spec)]
        changes: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                raise SpecError(unknown("key", name, [*known, "releases"]))
            changes[name] = _value(name, value, place)
        if changes.get("isolation", "keyspace") not in ISOLATIONS:
            raise SpecError(unknown("isolation", changes["isolation"], ISOLATIONS))
        base = self
        # The closer word counts: what it speaks of is not asked for twice.
        if changes.get("topology"):
            base = replace(base, nodes=None, rtt=(), links=None, racks=None, release=None, preset=None)
        elif base.topology and set(changes) & {"nodes", "rtt", "links", "racks"}:
            base = replace(base, topology=None)
        if base.cluster and "cluster" not in changes and set(changes) - {"isolation", "private"}:
            base = replace(base, cluster=None)
        spec = replace(base, **changes)
        if spec.cluster and spec.isolation == "reset":
            raise SpecError(
                f'isolation="reset" would drop what you have in {spec.cluster}; hint: isolation="keyspace"'
            )
        return spec


def _value(name: str, value: Any, place: Path) -> Any:
    if name in ("auth", "tls", "private"):
        if not isinstance(value, bool):
            raise SpecError(f"{name} is True or False, not {value!r}")
        return value
    if name in ("rtt", "settings", "jvm"):
        if isinstance(value, Mapping):
            return tuple(f"{key}={_word(item)}" for key, item in value.items())
        if isinstance(value, str):
            return (value,)
        return tuple(str(item) for item in value)
    if value is None:
        return None
    if name == "nodes" and isinstance(value, Iterable) and not isinstance(value, str):
        return ":".join(str(item) for item in value)
    if name == "nodes" and (isinstance(value, bool) or str(value).strip("0123456789:")):
        raise SpecError(f"nodes is a number, or one for each data centre such as [3, 3], not {value!r}")
    if name in ("topology", "schema"):
        path = Path(str(value)).expanduser()
        path = path if path.is_absolute() else place / path
        if not path.is_file():
            raise SpecError(f"{name}: there is no file {path}")
        return str(path.resolve())
    if name == "release" and isinstance(value, (list, tuple, set)):
        raise SpecError("release is one; hint: releases=[…] runs the test on each")
    return str(value)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """The words for something unknown, with the nearest that is known."""
    all_of_them = list(known)
    near = difflib.get_close_matches(name, all_of_them, n=1, cutoff=0.5)
    if near:
        return f"unknown {what} {name!r}; hint: did you mean {near[0]!r}?"
    return f"unknown {what} {name!r}; hint: one of {', '.join(all_of_them)}"


def matrix(base: Spec, releases: Iterable[str], markers: list[tuple[Mapping[str, Any], Path]]) -> list[Spec]:
    """The clusters on which a test runs, one for each release; markers from the farthest to the closest."""
    spec, wanted, chosen = base, list(releases), False
    for given, place in markers:
        given = dict(given)
        if "releases" in given and "release" in given:
            raise SpecError("release and releases in one marker; hint: releases=[…] alone")
        if "releases" in given:
            listed = given.pop("releases")
            if isinstance(listed, str) or not list(listed):
                raise SpecError('releases is a list such as ["4.1", "5.0"]; hint: release= is for one')
            wanted, chosen = [str(item) for item in listed], True
        elif "release" in given:
            wanted, chosen = [], True
        spec = spec.with_keys(given, place)
    if wanted and spec.cluster:
        if chosen:
            raise SpecError(f"releases: {spec.cluster} is there, with one release")
        wanted = []
    return [replace(spec, release=release) for release in wanted] or [spec]
