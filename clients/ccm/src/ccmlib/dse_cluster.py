"""A distribution that Helenus does not run; its name is here for suites that import it."""

from ccmlib import common


class DseCluster:
    """Cannot be made."""

    def __init__(self, *_arguments, **_options):
        raise common.ArgumentError("only Apache Cassandra is run")
