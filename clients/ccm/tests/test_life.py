"""A cluster's life by ccmlib's names, against real Cassandra. Needs `helenus` (HELENUS_BINARY or PATH) and cassandra-driver."""

import pytest
from ccmlib import common
from ccmlib.cluster import Cluster
from ccmlib.cluster_factory import ClusterFactory
from ccmlib.node import NodeError, NodetoolError

from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster as Driver, NoHostAvailable

PREFIX = "127.62.3."


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(str(tmp_path), "test", version="5.0")
    yield made
    made.remove()


def test_a_cluster_lives_by_the_names_of_ccmlib(cluster, tmp_path):
    # As suites write it: truths as texts, names of an older release.
    cluster.set_configuration_options({"start_native_transport": "True", "enable_user_defined_functions": "true"})
    cluster.populate([1, 1], ipformat=PREFIX + "%d")
    assert [node.data_center for node in cluster.nodelist()] == ["dc1", "dc2"]
    one, two = cluster.nodelist()
    assert one.status == "UNINITIALIZED"
    cluster.start(wait_for_binary_proto=True, jvm_args=["-Dhelenus.test=1"])
    assert one.is_running() and one.pid and common.check_socket_listening(one.network_interfaces["binary"], 1)
    assert "user_defined_functions_enabled: true" in open(one.get_conf_dir() + "/cassandra.yaml").read()
    assert len(one.nodetool("status").stdout.split("UN  ")) == 3
    with pytest.raises(NodetoolError):
        one.nodetool("nosuchcommand")
    assert one.grep_log("Starting listening for CQL clients") and not one.grep_log_for_errors()
    two.stop(gently=False)
    assert two.status == "DOWN"

    again = ClusterFactory.load(str(tmp_path), "test")
    assert [node.is_running() for node in again.nodelist()] == [True, False]
    again.stop()
    again.set_configuration_options({"authenticator": "PasswordAuthenticator", "authorizer": "CassandraAuthorizer"})
    again.start()
    with pytest.raises(NoHostAvailable):
        Driver([PREFIX + "1"]).connect()
    driver = Driver([PREFIX + "1"], auth_provider=PlainTextAuthProvider("cassandra", "cassandra"))
    assert driver.connect().execute("SELECT data_center FROM system.local").one().data_center == "dc1"
    driver.shutdown()
    with pytest.raises(common.CCMError):
        ClusterFactory.load(str(tmp_path), "other")


def test_what_cannot_be_is_an_error_of_ccmlib(tmp_path):
    with pytest.raises(common.CCMError, match="not built from its source"):
        Cluster(str(tmp_path), "test", version="git:trunk")
    cluster = Cluster(str(tmp_path), "test", version="5.0")
    cluster.populate(1, ipprefix=PREFIX)
    with pytest.raises(common.CCMError, match="listen_address"):
        cluster.set_configuration_options({"listen_address": "10.0.0.1"})
    with pytest.raises(NodeError, match="-Xmx"):
        cluster.nodelist()[0].start(jvm_args=["-Xmx1G"])
    cluster.remove()
