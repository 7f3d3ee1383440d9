"""What the keeper of a run's clusters says, without Cassandra."""

import os
import socket

import pytest
from pytest_helenus import _keeper


def test_a_cluster_is_fresh_for_its_first_use_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = _keeper.Keeper("pytest-a-b-c", os.getpid())
    monkeypatch.setattr(keeper, "start", lambda cluster, arguments: {"name": cluster.name, "ready": {}})
    asked = {"key": "k", "binary": "/bin/true", "private": False, "arguments": []}
    one, other = socket.socketpair()
    with one, other:
        first = keeper.up(one, asked)
        keeper.release(one, "k")
        second = keeper.up(other, asked)
    assert (first["fresh"], second["fresh"]) == (True, False)
    assert first["name"] == second["name"]
