"""A node of a cluster."""

from __future__ import annotations

import os
import re
import time
from collections import namedtuple

from ccmlib import common

NodetoolResult = namedtuple("NodetoolResult", "stdout stderr rc")


class NodeError(common.CCMError):
    """What a node refused to do."""


class NodetoolError(common.CCMError):
    """nodetool ended with an exit code."""


class TimeoutError(Exception):
    """What was waited for did not happen in time."""


class Status:
    """Words of `status`."""

    UP, DOWN, UNINITIALIZED, DECOMMISSIONED = "UP", "DOWN", "UNINITIALIZED", "DECOMMISSIONED"


class Node:
    """A node: what is asked of it goes to `helenus ccm NAME …`. Its place follows from its name; ports are the standard ones."""

    def __init__(self, name, cluster, auto_bootstrap=False, thrift_interface=None, storage_interface=None, jmx_port=None,
                 remote_debug_port=None, initial_token=None, save=True, binary_interface=None, **_others):
        self.name = name
        self.cluster = cluster
        self.workloads = []
        self.data_center = None
        self.decommissioned = False
        address = (storage_interface or binary_interface or (cluster.address_of(name),))[0]
        self.network_interfaces = {
            "binary": binary_interface or (address, 9042),
            "storage": storage_interface or (address, 7000),
            "thrift": thrift_interface or (address, 9160),
        }

    def _run(self, *words, check=True):
        return common.run(self.cluster.path, self.name, *words, cluster=self.cluster.name, check=check)

    def _plan(self):
        state = common.state(self.cluster.path, self.cluster.name) or {"plan": {"nodes": []}}
        return next((node for node in state["plan"]["nodes"] if node["name"] == self.name), None)

    # Its life.

    def start(self, join_ring=True, no_wait=False, verbose=False, update_pid=True, wait_other_notice=True,
              replace_token=None, replace_address=None, jvm_args=None, wait_for_binary_proto=True, **_others):
        """Starts it and waits until it is ready."""
        if not join_ring or replace_token or replace_address:
            raise common.ArgumentError("join_ring, replace_token and replace_address: use helenus node")
        try:
            self._run("start", *(f"--jvm_arg={flag}" for flag in jvm_args or []))
        except common.CCMError as error:
            raise NodeError(str(error)) from error

    def stop(self, wait=True, wait_other_notice=False, signal_event=None, gently=True, **_others):
        """Stops it; returns whether it ran."""
        if self.decommissioned:
            return False
        ran = self.is_running()
        if ran:
            self._run("stop", *([] if gently else ["--not-gently"]))
        return ran

    def pause(self):
        """Stops its process with SIGSTOP."""
        self._run("pause")

    def resume(self):
        """Goes on."""
        self._run("resume")

    def decommission(self, force=False):
        """Lets it leave: it streams its data to the others, and is deleted."""
        self._run("decommission", *(["--force"] if force else []))
        self.decommissioned = True

    # What it is.

    @property
    def pid(self):
        """Its process; none where it does not run."""
        found = re.search(r"^ *pid=(\d+)$", self._run("show", check=False).stdout, re.MULTILINE)
        return int(found.group(1)) if found else None

    @property
    def status(self):
        """A word of `Status`."""
        if self.decommissioned:
            return Status.DECOMMISSIONED
        first = self._run("status", check=False).stdout.split("\n")[0]
        if first.endswith(": UP"):
            return Status.UP
        return Status.DOWN if first.endswith(": DOWN") else Status.UNINITIALIZED

    def is_running(self):
        """Whether its process runs."""
        return self.status == Status.UP

    is_live = is_running

    def address(self):
        """Where it listens."""
        return self.network_interfaces["binary"][0]

    def get_path(self):
        """Its folder."""
        return os.path.join(self.cluster.path, "state", "clusters", self.cluster.name, self.name)

    def get_conf_dir(self):
        """The folder of its cassandra.yaml."""
        return os.path.join(self.get_path(), common.CASSANDRA_CONF_DIR)

    def logfilename(self):
        """Its log."""
        return os.path.join(self.get_path(), "logs", "system.log")

    def show(self):
        """Prints what it is."""
        print(self._run("show").stdout, end="")

    def get_cassandra_version(self):
        """Its release."""
        return self.cluster.version()

    def set_workloads(self, workloads):
        """Workloads are of DataStax Enterprise; they are kept, and mean nothing."""
        self.workloads = workloads

    def set_configuration_options(self, values=None, **_others):
        """Settings for its next start."""
        if values:
            self._run("updateconf", *common.settings(values))

    def set_install_dir(self, **_others):
        """Nodes run their cluster's release; `helenus upgrade` moves them to another."""

    def set_log_level(self, level, class_name=None):
        """The level of a logger, of a node that runs."""
        self._run("setlog", level, *(["-c", class_name] if class_name else []))

    # Its tools.

    def nodetool(self, cmd, capture_output=True, wait=True, **_others):
        """nodetool; raises where it fails."""
        ended = self._run("nodetool", *(cmd.split() if isinstance(cmd, str) else cmd), check=False)
        if ended.returncode != 0:
            raise NodetoolError(f"nodetool {cmd} ended with exit code {ended.returncode}: {ended.stdout}{ended.stderr}")
        return NodetoolResult(ended.stdout, ended.stderr, ended.returncode)

    def flush(self, options=None):
        """nodetool flush."""
        self.nodetool(["flush", *(options or [])])

    def compact(self, options=None):
        """nodetool compact."""
        self.nodetool(["compact", *(options or [])])

    def cleanup(self, options=None):
        """nodetool cleanup."""
        self.nodetool(["cleanup", *(options or [])])

    def repair(self, options=None):
        """nodetool repair."""
        self.nodetool(["repair", *(options or [])])

    def drain(self, block_on_log=False):
        """nodetool drain."""
        self.nodetool(["drain"])

    def run_cqlsh(self, cmds=None, **_others):
        """Statements, in `helenus cqlsh`."""
        ended = self._run("cqlsh", "-x", cmds, check=False)
        return ended.stdout, ended.stderr, ended.returncode

    def stress(self, stress_options=None, **_others):
        """A command line of cassandra-stress."""
        ended = self._run("stress", *(stress_options or []), check=False)
        return ended.stdout, ended.stderr, ended.returncode

    # Its log.

    def _lines(self, from_mark=0):
        try:
            with open(self.logfilename(), errors="replace") as log:
                log.seek(from_mark or 0)
                return log.readlines()
        except FileNotFoundError:
            return []

    def mark_log(self, filename=None):
        """Where its log ends now."""
        try:
            return os.path.getsize(self.logfilename())
        except FileNotFoundError:
            return 0

    def grep_log(self, expr, filename=None, from_mark=None):
        """Lines of its log, with what matched."""
        matches = ((line, re.search(expr, line)) for line in self._lines(from_mark))
        return [(line, match) for line, match in matches if match]

    def grep_log_for_errors(self, filename=None):
        """Errors of its log, each as a list of lines."""
        return [[line] for line in self._lines() if line.startswith("ERROR")]

    def watch_log_for(self, exprs, from_mark=None, timeout=600, **_others):
        """Waits for lines in its log, one for each expression."""
        wanted = [exprs] if isinstance(exprs, str) else list(exprs)
        until = time.time() + timeout
        while True:
            found = [self.grep_log(expr, from_mark=from_mark) for expr in wanted]
            if all(found):
                first = [matches[0] for matches in found]
                return first[0] if isinstance(exprs, str) else first
            if time.time() > until:
                raise TimeoutError(f"{self.name}: {exprs} is not in its log after {timeout} s")
            time.sleep(0.1)
