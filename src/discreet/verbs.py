"""The verbs that a data set on disk and one on a server share: ask for a table, look at it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .core.exact import Exact
from .core.table import ProtectedTable
from .errors import InputError
from .formats import frame, svg, terminal
from .inference.questions import Concludes
from .recipe import query_mapping

if TYPE_CHECKING:
    import pandas as pd

Drafted = TypeVar("Drafted")


class Asks(ABC, Generic[Drafted]):
    """A data set that can be asked for tables."""

    name: str

    @property
    @abstractmethod
    def variables(self) -> dict[str, list[str]]:
        """Names of variables and, finest first, of their levels."""

    def table(
        self,
        rows: Sequence[str] | str = (),
        columns: Sequence[str] | str = (),
        layers: Sequence[str] | str = (),
        where: Mapping[str, Sequence[str] | str] | None = None,
        *,
        totals: bool | str = True,
        weighted: bool = False,
        percent: str | None = None,
        sort: str | None = None,
        decimals: int | None = None,
        empty: str | None = None,
        method: str | None = None,
        title: str = "",
        language: str = "",
        user: str = "",
        project: str = "",
        **parameters: str | int | None,
    ) -> Drafted:
        """Draft a table: nothing is read or spent until `release()`.

        rows, columns, layers   variables or levels, by name, label or code
        where                   only these categories: {"sex": ["F", "M"]}
        totals                  False leaves margins out
        percent                 also percentages, of "rows", "columns", "layers" or "all"
        sort                    rows by the numbers of a column: "age:85+,down", "total,up"
        decimals, empty         of percentages, 0 to 2; "hide" leaves out what holds nothing but 0
        method, title, language as in a recipe; what is not said follows the policy
        user, project           who is charged, and out of which share
        parameters              what the method asks for, exact numbers as text: `epsilon="0.5"`,
                                `delta="1e-6"`, `law="gaussian"`, …; docs/reference/settings.md
                                has all of every method

            deaths = dc.open("demo/deaths-dp")
            draft = deaths.table(rows=["region"], columns=["sex"], epsilon="0.5")
            draft.cost, draft.preview()
            table = draft.release()
        """
        sides = {"rows": rows, "columns": columns, "layers": layers}
        recipe: dict[str, Any] = {side: _texts(names) for side, names in sides.items()}
        if where and not isinstance(where, Mapping):
            raise InputError(
                f"where must be categories by variable, {{'sex': ['F']}}, got {str(where)[:60]!r}."
            )
        if where:
            recipe["where"] = {name: _texts(codes) for name, codes in where.items()}
        if totals is not True:
            recipe["totals"] = totals
        if weighted:
            recipe["weighted"] = weighted
        words = {"percent": percent, "sort": sort, "empty": empty}
        words |= {"method": method, "title": title, "language": language}
        recipe |= {name: text for name, text in words.items() if text}
        if decimals is not None:
            recipe["decimals"] = decimals
        recipe |= {name: value for name, value in parameters.items() if value is not None}
        return self.recipe(recipe, user=user, project=project)

    def recipe(
        self,
        recipe: str | Path | Mapping[str, Any],
        *,
        language: str = "",
        user: str = "",
        project: str = "",
    ) -> Drafted:
        """Draft what a recipe says: a YAML or JSON file, its mapping, or a query string.

        language   instead of what the recipe says
        """
        if isinstance(recipe, str) and "=" in recipe and "\n" not in recipe:
            recipe = query_mapping(recipe)
        elif not isinstance(recipe, Mapping):
            from .workspace.yaml_reader import read_file

            recipe = read_file(Path(recipe)).plain()
        if language:
            recipe = {**recipe, "language": language}
        return self._draft(recipe, user, project)

    @abstractmethod
    def _draft(self, recipe: Mapping[str, Any], user: str, project: str) -> Drafted:
        """Draft what the mapping of a recipe says."""

    def __repr__(self) -> str:
        return f"<data set {self.name}: {', '.join(self.variables)}>"


class Released(Concludes, ABC):
    """A released table (or several): numbers and errors."""

    tables: tuple[ProtectedTable, ...]
    """Every table of the release."""

    @property
    def protected(self) -> ProtectedTable:
        """The table; of several, the first."""
        return self.tables[0]

    def to_pandas(self, table: int = 0) -> pd.DataFrame:
        """The table as a data frame: codes, labels, count, status and noise columns."""
        return frame.to_pandas(self.tables[table])

    def picture(self, kind: str = "", table: int = 0) -> str:
        """The table drawn as SVG, noise intervals included.

        kind: dots, bars, lines, multiples, heat or tiles; empty: the one that suits its variables.
        """
        return svg.to_svg(self.tables[table], kind, "print")

    def interval(
        self,
        coverage: Exact = "0.95",
        table: int = 0,
        *,
        cell: Mapping[str, str] | None = None,
        kind: str = "noise",
    ) -> Any:
        """Intervals of every cell as a data frame, or of one cell or total as an answer.

        noise: about what was counted, from the law alone. sampling: about the rate behind one cell.
        """
        if cell is not None:
            return self.cell_interval(cell, kind, coverage, table)
        if kind != "noise":
            raise InputError("A sampling interval is of one cell: name it, cell={…}.")
        return frame.to_pandas(self._at_level(coverage, table))

    @property
    def notes(self) -> str:
        """Everything there is to say about the table, by subject: print it."""
        return terminal.all_notes(self.protected)

    def __repr__(self) -> str:
        return terminal.to_text(self.protected)


def _texts(names: Sequence[str] | str) -> list[str] | str:
    return names if isinstance(names, str) else list(names)
