"""Statistics: plain functions on numbers and arrays."""

from psysafe.stats.intervals import wilson

__all__ = ["wilson"]
