"""Real Apache Cassandra for pytest: what a test may name in its type hints."""

from ._binary import HelenusError
from .cluster import Cassandra, Fault, Node
from .driver import AsyncSession

__all__ = ["AsyncSession", "Cassandra", "Fault", "HelenusError", "Node"]
