"""From keys to the words of `helenus up`, without Cassandra."""

from pathlib import Path

import pytest
from pytest_helenus import _owner, _spec
from pytest_helenus._spec import Spec, SpecError

HERE = Path(__file__).parent


def words(**keys: object) -> list[str]:
    return Spec().with_keys(keys, HERE).arguments()


def test_nothing_asked_is_one_node_with_room_for_schemas() -> None:
    assert words() == ["--heap", "256M", f"--jvm={_spec.QUICK_SCHEMA}"]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"nodes": 3}, ["--nodes", "3", "--heap", "256M"]),
        ({"nodes": [3, 3], "rtt": "40ms"}, ["--nodes", "3:3", "--heap", "256M", "--rtt", "40ms"]),
        (
            {"nodes": "1:1", "rtt": {"DC1:DC2": "20ms"}, "preset": "dev"},
            ["--nodes", "1:1", "--preset", "dev", "--rtt", "DC1:DC2=20ms"],
        ),
        ({"nodes": 3, "release": 4.1, "heap": "64M"}, ["--nodes", "3", "--cassandra", "4.1", "--heap", "64M"]),
        (
            {"nodes": 3, "heap": "64M", "settings": {"hinted_handoff_enabled": True}},
            ["--nodes", "3", "--heap", "64M", "--set", "hinted_handoff_enabled=true"],
        ),
        ({"nodes": 3, "heap": "64M", "jvm": ["-Da=b"]}, ["--nodes", "3", "--heap", "64M", "--jvm=-Da=b"]),
        ({"nodes": 3, "preset": "tiny", "auth": True, "tls": True}, ["--nodes", "3", "--preset", "tiny", "--auth", "--tls"]),
    ],
)
def test_keys_become_flags(keys: dict[str, object], expected: list[str]) -> None:
    assert words(**keys) == expected


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"node": 3}, "did you mean 'nodes'"),
        ({"releas_": "4.1"}, "did you mean 'release'"),
        ({"zzz": 1}, "one of nodes, release"),
        ({"isolation": "reset_"}, "did you mean 'reset'"),
        ({"nodes": "three"}, "nodes is a number"),
        ({"nodes": True}, "nodes is a number"),
        ({"release": ["4.1", "5.0"]}, "releases="),
        ({"topology": "nowhere.toml"}, "there is no file"),
        ({"private": "yes"}, "True or False"),
        ({"cluster": "c", "isolation": "reset"}, "would drop what you have in c"),
    ],
)
def test_what_nobody_knows_is_refused_with_the_nearest(keys: dict[str, object], said: str) -> None:
    with pytest.raises(SpecError, match=said.replace("(", r"\(")):
        words(**keys)


def test_a_file_is_looked_for_beside_the_test(tmp_path: Path) -> None:
    (tmp_path / "a.cql").write_text("")
    spec = Spec().with_keys({"schema": "a.cql"}, tmp_path)
    assert spec.schema == str(tmp_path / "a.cql")


def test_the_closer_word_counts(tmp_path: Path) -> None:
    (tmp_path / "wan.toml").write_text("")
    base = Spec().with_keys({"topology": "wan.toml", "schema": "wan.toml"}, tmp_path)
    near = base.with_keys({"nodes": 3}, tmp_path)
    assert (near.topology, near.nodes, near.schema) == (None, "3", base.schema)
    assert near.with_keys({"topology": "wan.toml"}, tmp_path).nodes is None
    given = Spec().with_keys({"cluster": "c"}, tmp_path)
    assert given.with_keys({"nodes": 3}, tmp_path).cluster is None
    assert given.with_keys({"isolation": "none"}, tmp_path).cluster == "c"


def test_a_matrix_is_one_cluster_a_release() -> None:
    def releases(markers: list[dict[str, object]], option: list[str]) -> list[object]:
        return [s.release for s in _spec.matrix(Spec(), option, [(m, HERE) for m in markers])]

    assert releases([], ["4.1", "5.0"]) == ["4.1", "5.0"]
    assert releases([{"nodes": 3}], ["4.1", "5.0"]) == ["4.1", "5.0"]
    assert releases([{"release": "4.0"}], ["4.1", "5.0"]) == ["4.0"]
    assert releases([{"release": "4.0"}, {"releases": ["4.1", "5.0"]}], []) == ["4.1", "5.0"]
    assert releases([{"releases": ["4.1", "5.0"]}, {"release": "4.0"}], []) == ["4.0"]
    for wrong in ({"releases": []}, {"releases": "4.1"}, {"releases": ["4.1"], "release": "4.1"}):
        with pytest.raises(SpecError):
            releases([wrong], [])


def test_only_private_clusters_differ_by_worker() -> None:
    shared, private = Spec(), Spec(private=True)
    assert shared.key("gw0") == shared.key("gw1") != private.key("gw0") != private.key("gw1")


def test_a_tag_names_a_process_and_no_other() -> None:
    import os
    import subprocess

    mine = _owner.tag(os.getpid())
    assert not _owner.is_gone(mine)
    child = subprocess.Popen(["sleep", "60"])
    tag = _owner.tag(child.pid)
    assert not _owner.is_gone(f"{tag}-0")
    child.kill()
    child.wait()
    assert _owner.is_gone(f"{tag}-0")
    # The same process number in another life, on another boot, and names of others.
    words = mine.split("-")
    assert _owner.is_gone("-".join([words[0], words[1], "1", words[3]]))
    for other in ("pytest", "pytest-a-b", "-".join([*words[:2], "1", "elsewhere"]), "c1", "dev-1-2-3"):
        assert not _owner.is_gone(other)
