"""Clusters that were made before."""

from ccmlib.cluster import Cluster


class ClusterFactory:
    """Loads clusters."""

    @staticmethod
    def load(path, name):
        """The cluster of that name in a folder."""
        return Cluster.load(path, name)
