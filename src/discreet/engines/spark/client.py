"""Spark's client as this process needs it: silent, and with threads that outlive a session."""

from __future__ import annotations

import logging


def prepare() -> None:
    """Have the client write nothing, and sessions close without harm to others."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).disabled = True  # they are given statements and values
    from pyspark.sql.connect import logging as connect_logging
    from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator

    logger = getattr(connect_logging, "logger", None)
    if isinstance(logger, logging.Logger):
        logger.disabled = True
    # All sessions of a process share one pool of threads, which each session that closes would shut
    # down: another one's statement that ends at that moment then fails for no reason of its own.
    ExecutePlanResponseReattachableIterator.shutdown = _leave_to_others  # type: ignore[method-assign]


def _leave_to_others() -> None:
    """What a session does to the pool when it closes: nothing."""
