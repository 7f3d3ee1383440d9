"""One clear error for what is missing or unknown. The fake binary stands only for one that cannot be made to do this."""

import shutil
from typing import Callable

import pytest
from conftest import lacks

Run = Callable[..., pytest.RunResult]
USE = "def test_it(cassandra): pass"


def test_a_missing_binary_is_named_with_its_cure(pytester: pytest.Pytester, inner: Run) -> None:
    pytester.makepyfile(USE)
    ended = inner("--helenus-binary", "/nowhere/helenus")
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["cassandra: helenus was not found at /nowhere/helenus. Install it: pip install helenus*"])
    assert "Traceback" not in ended.stdout.str() and "plugin.py" not in ended.stdout.str()


def test_a_binary_that_is_not_helenus_is_named(pytester: pytest.Pytester, inner: Run) -> None:
    pytester.makepyfile(USE)
    ended = inner("--helenus-binary", "/bin/true")
    ended.assert_outcomes(errors=1)


def test_tests_without_cassandra_need_no_binary(pytester: pytest.Pytester, inner: Run) -> None:
    pytester.makepyfile("def test_it(): pass")
    inner("--helenus-binary", "/nowhere/helenus").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("node=3", "*unknown key 'node'; hint: did you mean 'nodes'?*"),
        ("3", "*takes keys, such as nodes=3*"),
        ("releases=['4.1'], release='5.0'", "*release and releases in one marker*"),
    ],
)
def test_an_unknown_key_is_refused_when_tests_are_collected(
    pytester: pytest.Pytester, inner: Run, marker: str, said: str
) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.cassandra({marker})\n{USE}")
    ended = inner("--strict-markers")
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines([said])


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--helenus-isolation", "rest"], "*unknown isolation 'rest'; hint: did you mean 'reset'?"),
        (["--helenus-workers", "eech"], "*did you mean 'each'?"),
        (["--helenus-topology", "nowhere.toml"], "*topology: there is no file *"),
    ],
)
def test_an_unknown_value_ends_pytest(pytester: pytest.Pytester, inner: Run, option: list[str], said: str) -> None:
    pytester.makepyfile(USE)
    ended = inner(*option)
    assert ended.ret == pytest.ExitCode.USAGE_ERROR
    ended.stderr.fnmatch_lines([said])


def test_the_binary_s_own_error_is_passed_on(pytester: pytest.Pytester, inner: Run) -> None:
    if shutil.which("helenus") is None:
        lacks("an error of the binary", "put helenus on PATH")
    settings = "settings={'concurrent_readss': 1}"
    pytester.makepyfile(f"import pytest\n@pytest.mark.cassandra({settings})\n{USE}\n")
    ended = inner()
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["*has no key \"concurrent_readss\"*"])


FAKE = '''#!/usr/bin/env python3
import json, sys
verb = sys.argv[1]
node = {"name": "node1", "address": "127.0.0.1", "cql_port": 1, "data_center": "datacenter1", "rack": "rack1"}
print(json.dumps({
    "up": {"name": sys.argv[-3]},
    "list": {"clusters": [{"name": "c", "heap_bytes": 1, "nodes": [node]}]},
    "env": {"contact_points": ["127.0.0.1"], "port": 1, "data_center": "datacenter1", "release": "5.0.9"},
}.get(verb, {})))
'''


def test_a_missing_driver_is_named_with_its_cure(pytester: pytest.Pytester, inner: Run) -> None:
    fake = pytester.makefile("", helenus=FAKE)
    fake.chmod(0o755)
    pytester.makeconftest("import sys\nsys.modules['cassandra'] = None")
    pytester.makepyfile("def test_it(cassandra_session): pass")
    ended = inner("--helenus-binary", str(fake), "--helenus-cluster", "c")
    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["cassandra: no driver can be imported: pip install cassandra-driver (or scylla-driver)"])
    assert "Traceback" not in ended.stdout.str() and "plugin.py" not in ended.stdout.str()


KEPT = FAKE.replace(
    "verb = sys.argv[1]",
    'verb = sys.argv[1]\nopen(__file__ + ".said", "a").write(" ".join(sys.argv[1:]) + "\\n")',
).replace(
    '"env":',
    '"fault": {"words": "pause node1", "target": "node1", "faults": [{"words": "pause node1"}]},\n    "env":',
)


def test_a_fault_heals_though_the_end_of_a_fixture_fails(pytester: pytest.Pytester, inner: Run) -> None:
    fake = pytester.makefile("", helenus=KEPT)
    fake.chmod(0o755)
    pytester.makepyfile(
        f'''
import pytest
@pytest.fixture
def fails_at_its_end():
    yield
    raise RuntimeError("on purpose")
def test_breaks(cassandra, fails_at_its_end):
    cassandra.pause("node1")
def test_is_healed(cassandra):
    assert "heal c node1" in open({str(fake) + ".said"!r}).read()
'''
    )
    ended = inner("--helenus-binary", str(fake), "--helenus-cluster", "c")
    ended.assert_outcomes(passed=2, errors=1)
