"""What may be asked of a protected table, by name: the same in Python, on the command line and over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any

from ..core.exact import Exact
from ..core.table import ProtectedTable
from ..errors import InputError
from ..languages import meant, say

if TYPE_CHECKING:
    from .answer import Answer

Cell = Mapping[str, str]


class Concludes:
    """Verbs of a released table: tests, intervals and comparisons that know its noise.

    Each gives an answer: a sentence, numbers by name, and what to mind. `table` is which of several.
    """

    tables: tuple[ProtectedTable, ...]

    def independence_test(self, given: Sequence[str] | str = (), table: int = 0) -> Answer:
        """Are the table's variables independent (within each `given` group)?"""
        from .independence import independence_test

        return independence_test(self.tables[table], given)

    def goodness_of_fit(
        self,
        proportions: Mapping[str, Exact],
        axis: str = "",
        *,
        cell: Cell | None = None,
        records: int | None = None,
        table: int = 0,
    ) -> Answer:
        """Do the categories of an axis follow these proportions?"""
        from .goodness import goodness_of_fit

        return goodness_of_fit(self.tables[table], proportions, axis, cell, records)

    def loglinear(self, terms: Sequence[Sequence[str] | str], table: int = 0) -> Answer:
        """Does the log-linear model with these terms fit?"""
        from .loglinear import loglinear

        return loglinear(self.tables[table], terms)

    def regression(
        self,
        data: Mapping[str, Mapping[str, Any]],
        terms: Sequence[str] | str,
        *,
        axis: str = "",
        offset: str = "",
        event: Cell | None = None,
        cell: Cell | None = None,
        level: Exact = "0.95",
        table: int = 0,
    ) -> Answer:
        """Poisson regression of counts on covariates, or of the odds of an event."""
        from .regression import regression

        return regression(
            self.tables[table],
            data,
            terms,
            axis=axis,
            offset=offset,
            event=event,
            cell=cell,
            level=level,
        )

    def cell_interval(
        self, cell: Cell, kind: str = "noise", level: Exact = "0.95", table: int = 0
    ) -> Answer:
        """The interval of one cell or total."""
        from .intervals import interval

        return interval(self.tables[table], cell, kind, level)

    def total(self, cells: Sequence[Cell], level: Exact = "0.95", table: int = 0) -> Answer:
        """The noise interval of the sum of these cells, exact."""
        from .intervals import total

        return total(self.tables[table], cells, level)

    def rate(
        self, cell: Cell, exposure: Exact = 1, level: Exact = "0.95", table: int = 0
    ) -> Answer:
        """The sampling interval of a cell's rate per exposure, exact."""
        from .intervals import rate

        return rate(self.tables[table], cell, exposure, level)

    def difference(
        self,
        a: Cell,
        b: Cell,
        *,
        exposures: tuple[Exact, Exact] | None = None,
        level: Exact = "0.95",
        table: int = 0,
    ) -> Answer:
        """Is the difference of two cells, rows or areas real: same count? same rate?"""
        from .comparison import difference

        return difference(self.tables[table], a, b, exposures=exposures, level=level)

    def ratio(
        self, a: Cell, b: Cell, kind: str = "sampling", level: Exact = "0.95", table: int = 0
    ) -> Answer:
        """The interval of a / b."""
        from .functions import ratio

        return ratio(self.tables[table], a, b, kind, level)

    def share(
        self,
        a: Cell,
        of: Cell | None = None,
        kind: str = "noise",
        level: Exact = "0.95",
        table: int = 0,
    ) -> Answer:
        """The interval of a cell's share in a total."""
        from .functions import share

        return share(self.tables[table], a, of, kind, level)

    def odds_ratio(
        self,
        a: Cell,
        b: Cell,
        c: Cell,
        d: Cell,
        kind: str = "sampling",
        level: Exact = "0.95",
        table: int = 0,
    ) -> Answer:
        """The interval of (a / b) / (c / d)."""
        from .functions import odds_ratio

        return odds_ratio(self.tables[table], a, b, c, d, kind, level)

    def ranking(
        self, axis: str, cell: Cell | None = None, level: Exact = "0.95", table: int = 0
    ) -> Answer:
        """Which categories of an axis are surely in the right order, and which may swap."""
        from .ranking import ranking

        return ranking(self.tables[table], axis, cell, level)

    def posterior(self, cell: Cell, mean: Exact | None = None, table: int = 0) -> Answer:
        """The probabilities of a cell's true count, with their prior named."""
        from .posterior import posterior

        return posterior(self.tables[table], cell, mean)

    def _at_level(self, level: Exact, table: int) -> ProtectedTable:
        from .intervals import with_level

        return with_level(self.tables[table], level)


class Conclusions(Concludes):
    """The same verbs for tables that were read from a file."""

    def __init__(self, *tables: ProtectedTable) -> None:
        self.tables = tables


QUESTIONS = {
    "independence": "independence_test",
    "goodness-of-fit": "goodness_of_fit",
    "loglinear": "loglinear",
    "regression": "regression",
    "interval": "cell_interval",
    "total": "total",
    "rate": "rate",
    "difference": "difference",
    "ratio": "ratio",
    "share": "share",
    "odds-ratio": "odds_ratio",
    "ranking": "ranking",
    "posterior": "posterior",
}
"""The verb of each question, by the name it has over HTTP and on the command line."""


def answer(table: ProtectedTable, question: str, arguments: Mapping[str, Any]) -> Answer:
    """Ask a question by name; what is missing or not known is said."""
    if question not in QUESTIONS:
        raise InputError(
            say(
                "There is no question {question}; there are {names}.{meant}",
                question=repr(question[:40]),
                names=", ".join(QUESTIONS),
                meant=meant(question, QUESTIONS),
            )
        )
    verb: Callable[..., Answer] = getattr(Conclusions(table), QUESTIONS[question])
    known = [name for name in signature(verb).parameters if name != "table"]
    strange = [name for name in arguments if name not in known]
    if strange:
        raise InputError(
            say(
                "{question} takes {names}, got {strange}.",
                question=question,
                names=", ".join(known),
                strange=repr(strange[0][:40]),
            )
        )
    for name, one in signature(verb).parameters.items():
        if one.default is one.empty and name not in arguments:
            raise InputError(say("{question} needs {name}.", question=question, name=name))
    for name, value in arguments.items():
        _check(name, value)
    return verb(**arguments)


_CELLS = ("a", "b", "c", "d", "cell", "of", "event")
_TEXTS = ("axis", "offset", "kind")


def _check(name: str, value: Any) -> None:
    """Refuse an argument that has not the form its name promises."""
    if value is None:
        return
    form: str = ""
    if name in _CELLS and not _is_cell(value):
        form = say("a category for each axis, such as {cell}", cell='{"region": "E12000001"}')
    elif name == "cells" and not (_is_list(value) and value and all(map(_is_cell, value))):
        form = say("a list of cells, each with a category for an axis")
    elif name in _TEXTS and not isinstance(value, str):
        form = say("a text")
    elif name in ("given", "terms") and not (isinstance(value, str) or _is_list(value)):
        form = say("a name or a list of names")
    elif name == "exposures" and not (_is_list(value) and len(value) == 2):
        form = say("two numbers")
    elif name == "records" and not (isinstance(value, int) and not isinstance(value, bool)):
        form = say("a whole number")
    elif name in ("proportions", "data") and not isinstance(value, Mapping):
        form = say("an object with an entry for each category")
    elif name == "data" and not all(isinstance(one, Mapping) for one in value.values()):
        form = say("an object of numbers by name for each category")
    if form:
        raise InputError(
            say(
                "{name} must be {form}, got {value}.",
                name=name,
                form=form,
                value=repr(str(value)[:60]),
            )
        )


def _is_cell(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(code, str) for code in value.values())


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
