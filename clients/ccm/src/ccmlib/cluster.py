"""A cluster."""

from __future__ import annotations

import os
from collections import OrderedDict

from ccmlib import common
from ccmlib.node import Node


class Cluster:
    """A cluster in a folder: what is asked of it goes to `helenus ccm --config-dir FOLDER --cluster NAME …`."""

    def __init__(self, path, name, partitioner=None, install_dir=None, create_directory=True, version=None, verbose=False,
                 derived_cassandra_version=None, options=None, configuration_yaml=None, **_others):
        self.path = os.path.abspath(path)
        self.name = name
        self.nodes = OrderedDict()
        self.seeds = []
        self.prefix = "127.0.0."
        self._version = str(version) if version else None
        self._install_dir = install_dir
        if create_directory:
            release = ["--install-dir", install_dir] if install_dir else ["-v", version] if version else []
            common.run(self.path, "create", name, *release)
        if partitioner:
            self.set_configuration_options({"partitioner": partitioner})

    @classmethod
    def load(cls, path, name):
        """A cluster that was made before."""
        names = [line.strip(" *") for line in common.run(path, "list").stdout.splitlines()]
        # One without nodes is no more than its name.
        if name not in names or common.state(path, name) is None:
            raise common.LoadError(f"there is no cluster {name} in {path}")
        cluster = cls(path, name, create_directory=False)
        cluster._read()
        return cluster

    def _run(self, *words, check=True):
        return common.run(self.path, *words, cluster=self.name, check=check)

    def _read(self):
        """The nodes as the state has them; those that are there already stay the same objects."""
        plan = (common.state(self.path, self.name) or {}).get("plan")
        if plan is None:
            return
        self._version = plan["release"]
        for planned in plan["nodes"]:
            self.prefix = planned["address"].rsplit(".", 1)[0] + "."
            node = self.nodes.setdefault(planned["name"], self._node(planned["name"]))
            node.data_center = planned["data_center"]
        self.seeds = list(self.nodes.values())[:1]

    def _node(self, name):
        return self.nodes.get(name) or Node(name, self)

    def address_of(self, name):
        """The address that follows from a node's name."""
        return self.prefix + name.removeprefix("node")

    # Its life.

    def populate(self, nodes, debug=False, tokens=None, use_vnodes=False, ipprefix=None, ipformat=None,
                 install_byteman=False, use_single_interface=False, **_others):
        """Gives it nodes: a number, or a list with those of each data centre."""
        if ipformat and not ipformat.startswith("127."):
            raise common.ArgumentError("addresses are those of loopback, version 4")
        if use_single_interface:
            raise common.ArgumentError("each node has an address; one for all is not supported")
        prefix = ipprefix or (ipformat or "127.0.0.%d").split("%")[0]
        count = f"{':'.join(map(str, nodes))}:" if isinstance(nodes, (list, tuple)) else nodes
        self._run("populate", "-n", count, "-i", prefix, *(["--vnodes"] if use_vnodes else []))
        self._read()
        return self

    def add(self, node, is_seed=False, data_center=None, **_others):
        """One more node, which joins when it is started."""
        self._run("add", node.name, *(["-d", data_center] if data_center else []))
        node.data_center = data_center or next(iter(self.nodes.values())).data_center
        self.nodes[node.name] = node
        return self

    def create_node(self, name, auto_bootstrap, thrift_interface, storage_interface, jmx_port, remote_debug_port,
                    initial_token, save=True, binary_interface=None, **_others):
        """A node for `add`."""
        return Node(name, self, auto_bootstrap, thrift_interface, storage_interface, binary_interface=binary_interface)

    def start(self, no_wait=False, verbose=False, wait_for_binary_proto=True, wait_other_notice=True, jvm_args=None,
              **_others):
        """Starts the nodes that are down, and waits until all are ready; returns those that were started."""
        down = [node for node in self.nodelist() if not node.is_running()]
        self._run("start", *(f"--jvm_arg={flag}" for flag in jvm_args or []))
        self._read()
        return [(node, None, None) for node in down]

    def stop(self, wait=True, signal_event=None, gently=True, **_others):
        """Stops all nodes; returns those that did not run."""
        down = [node for node in self.nodelist() if not node.is_running()]
        if common.state(self.path, self.name) is not None:
            self._run("stop", *([] if gently else ["--not-gently"]))
        return down

    def clear(self):
        """Stops all nodes and deletes their data."""
        if common.state(self.path, self.name) is not None:
            self._run("clear")

    def remove(self, node=None, **_others):
        """Removes it with everything it has, or a dead node from the ring."""
        if node is None:
            common.run(self.path, "remove", self.name)
            self.nodes.clear()
        else:
            common.run(self.path, node.name, "remove", cluster=self.name)
            self.nodes.pop(node.name, None)

    # What it is.

    def nodelist(self):
        """Its nodes, in the order of their names."""
        return list(self.nodes.values())

    def version(self):
        """Its release."""
        return self._version

    cassandra_version = version

    def get_install_dir(self):
        """The distribution that it was made from, if one was named."""
        return self._install_dir

    def get_path(self):
        """Its folder."""
        return os.path.join(self.path, "state", "clusters", self.name)

    def show(self, verbose=False):
        """Prints which nodes are up."""
        print(self._run("status", *(["-v"] if verbose else [])).stdout, end="")

    # Its settings.

    def set_configuration_options(self, values=None, **_others):
        """Settings of all nodes, for their next start."""
        if values:
            self._run("updateconf", *common.settings(values))
        return self

    def set_dse_configuration_options(self, values=None):
        """DataStax Enterprise is not run: nothing is set."""
        return self

    def set_install_dir(self, install_dir=None, version=None, **_others):
        """A cluster keeps its release; another one is another cluster."""
        if version and self._version and not self._version.startswith(str(version)):
            raise common.ArgumentError(f"{self.name} runs {self._version}: remove it, and create it with {version}")
        return self

    def set_log_level(self, new_level, class_names=None):
        """The level of loggers, on nodes that run."""
        for name in class_names or [None]:
            self._run("setlog", new_level, *(["-c", name] if name else []))
        return self

    # Its tools.

    def nodetool(self, cmd):
        """nodetool on each node that runs."""
        for node in self.nodelist():
            if node.is_running():
                node.nodetool(cmd)
        return self

    def flush(self, options=None):
        """nodetool flush on each node."""
        return self.nodetool(["flush", *(options or [])])

    def compact(self, options=None):
        """nodetool compact on each node."""
        return self.nodetool(["compact", *(options or [])])

    def stress(self, stress_options):
        """A command line of cassandra-stress."""
        return self._run("stress", *stress_options).stdout
