"""Failures of Spark as sentences: told by their condition's name, never by what Spark wrote.

Spark's messages quote values and statements. Only the names of conditions pass.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from ...errors import DataError, DiscreetError, EngineError, InputError
from ..lost import ConnectionLost

_LOST = ("INVALID_HANDLE", "SESSION_C", "SESSION_NOT", "OPERATION_NOT_FOUND", "OPERATION_ABANDONED")
_GONE_WORKERS = re.compile(
    r"ExecutorLostFailure|[Ww]orker lost|[Ee]xecutor heartbeat timed out|FetchFailed|"
    r"SparkContext was shut down|All masters are unresponsive"
)
"""What Spark writes when it gave up because machines went away; looked for, never said."""
_BY_CONDITION: tuple[tuple[tuple[str, ...], type[DiscreetError], str], ...] = (
    (("INVALID_UTF8",), DataError, "{what} holds bytes that are no UTF-8 text. Mend the text."),
    (
        ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND", "SCHEMA_NOT_FOUND", "UNABLE_TO_INFER"),
        DataError,
        "The cluster has no {what}, or not for this user. Name a table as schema.table, or a folder "
        "of Parquet files by its path on the cluster.",
    ),
    (("UNRESOLVED_COLUMN",), DataError, "{what} has lost a column. Check the table."),
    (
        ("INSUFFICIENT", "PERMISSION", "UNAUTHENTICATED", "INVALID_TOKEN"),
        InputError,
        "The cluster does not let this user read {what}. Ask for the right, or give the right token "
        "in SPARK_CONNECT_AUTHENTICATE_TOKEN.",
    ),
    (
        ("ARITHMETIC_OVERFLOW",),
        EngineError,
        "A sum is too large for 64 bits and was not made. Lower the weight's scale.",
    ),
    (("PATH_ALREADY_EXISTS",), EngineError, "The folder of the coded table is there already."),
)
_NAMED = re.compile(r"\[([A-Z][A-Z0-9_]*)")
"""The name of a condition as Spark's messages begin with it; it is only compared with those above."""


@contextlib.contextmanager
def translated(what: str, doing: str) -> Iterator[None]:
    """Failures of the cluster as our own sentences."""
    import grpc
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, grpc.RpcError) as error:
        raise failed(error, what, doing) from None
    except UnicodeDecodeError:
        raise DataError(f"{what} holds bytes that are no UTF-8 text. Mend the text.") from None


def failed(error: Exception, what: str, doing: str) -> DiscreetError:
    """Why a statement failed."""
    condition = _condition(error)
    # a job that was given up names the condition of its task within its own words
    for name in (condition, *_NAMED.findall(str(error))):
        for starts, kind, words in _BY_CONDITION:
            if name.startswith(starts):
                return kind(words.format(what=what, doing=doing))
    if _GONE_WORKERS.search(str(error)):
        return EngineError(
            f"The cluster lost a worker while {doing}, and gave up. Check its workers and try again; "
            "nothing was lost."
        )
    if not condition or condition.startswith(_LOST) or "UNAVAILABLE" in condition:
        return ConnectionLost(
            f"The connection to Spark was lost while {doing}, twice. Check the cluster and try again; "
            "nothing was lost."
        )
    return EngineError(f"Spark failed while {doing} ({condition.partition('.')[0][:60]}).")


def _condition(error: Exception) -> str:
    """The name of a condition, empty where there is none, as when the server does not answer."""
    for read in ("getCondition", "getErrorClass"):
        if (of := getattr(error, read, None)) is not None:
            with contextlib.suppress(Exception):
                if found := of():
                    return str(found)
    import grpc

    code = getattr(error, "code", None)
    if isinstance(error, grpc.RpcError) and callable(code):
        return f"GRPC_{getattr(code(), 'name', '')}"
    cause = error.__cause__ or error.__context__
    return _condition(cause) if isinstance(cause, grpc.RpcError) else ""
