"""A protected table as evidence: the symbol every cell shows and the channel it came through.

Says in one sentence where a table is no evidence: no law, weights, estimates from many cells,
suppressed cells.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core.cell_law import CellLaw, MarginLaw, axis_names
from ..core.domain import TOTAL
from ..core.table import ProtectedTable, Status
from ..errors import CannotConclude, InputError, LawError
from ..languages import meant, say
from .channel import HIDDEN, LOW, Channel, Reals, Treatment, Whole, channel

Place = tuple[int | None, ...]
"""A cell by the place of its category on each axis; None for the total."""

Flags = npt.NDArray[np.bool_]
Marks = npt.NDArray[np.uint8]
_SYMBOLS = {Status.BELOW_THRESHOLD: HIDDEN, Status.LOW: LOW}


@dataclass(frozen=True)
class Evidence:
    """The cells of a table without its totals, those that say something, as one row."""

    released: Whole
    kinds: Whole
    channels: tuple[Channel, ...]
    used: Flags = field(repr=False)
    """Of all cells, which are in the row; others cannot exist or are not part of the release."""
    shape: tuple[int, ...] = ()
    caveats: tuple[str, ...] = ()

    @property
    def variance(self) -> Reals:
        """The variance of the noise in each cell."""
        return np.array([one.variance for one in self.channels])[self.kinds]

    @cached_property
    def seed(self) -> int:
        """From what was released alone: the same table gives the same draws."""
        text = np.concatenate([self.released, self.kinds, np.array(self.shape)]).astype("<i8")
        return int.from_bytes(hashlib.sha256(text.tobytes()).digest()[:8], "big")


class Reading:
    """A protected table read for inference; raises where its numbers have no law to read by."""

    def __init__(self, table: ProtectedTable) -> None:
        self.table, self.law = table, table.law
        require_law(self.law)
        if table.layout.empty:
            raise CannotConclude(
                say(
                    "Categories were left out of this table because they hold nothing but 0, and "
                    "what was seen of them counts too. Ask for it without empty: hide."
                )
            )
        self.names = _law_names(table)
        self.treatment = Treatment.of(self.law)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """What people call the axes."""
        return tuple(axis.name for axis in self.table.domain.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Categories of each axis, totals apart."""
        return tuple(len(axis) for axis in self.table.domain.axes)

    def label(self, axis: int, place: int | None) -> str:
        """A category's label."""
        if place is None:
            return say("all")
        return self.table.domain.axes[axis].level.labels(self.table.layout.language)[place]

    def cell_label(self, place: Place) -> str:
        """A cell in words."""
        named = [self.label(axis, at) for axis, at in enumerate(place) if at is not None]
        return ", ".join(named) or say("the total")

    # -- one cell ---------------------------------------------------------------------------

    def place(self, cell: Mapping[str, str]) -> Place:
        """A cell by axis names and codes or labels; an axis left out is at its total."""
        known = {name.casefold(): axis for axis, name in enumerate(self.axes)}
        found: list[int | None] = [None] * len(self.axes)
        for name, code in cell.items():
            axis = known.get(str(name).strip().casefold())
            if axis is None:
                raise InputError(
                    say(
                        "The table has no axis {value}; it has {names}.{meant}",
                        value=repr(str(name)[:60]),
                        names=", ".join(self.axes),
                        meant=meant(str(name), self.axes),
                    )
                )
            found[axis] = self._category(axis, str(code).strip())
        for axis, at in enumerate(found):
            if at is None and not self.table.totals[axis]:
                raise InputError(
                    say(
                        "Name a category of {axes}: this table has no totals over it.",
                        axes=self.axes[axis],
                    )
                )
        return tuple(found)

    def _category(self, axis: int, word: str) -> int | None:
        level = self.table.domain.axes[axis].level
        codes, labels = level.codes, level.labels(self.table.layout.language)
        if word == TOTAL:
            return None
        for names in (codes, labels, [label.casefold() for label in labels]):
            matches = [i for i, name in enumerate(names) if name in (word, word.casefold())]
            if len(matches) == 1:
                return matches[0]
        raise InputError(
            say(
                "{axes} has no category {word}; it has {names}{value}.{meant}",
                axes=self.axes[axis],
                word=repr(word[:60]),
                names=", ".join(codes[:12]),
                value=" …" if len(codes) > 12 else "",
                meant=meant(word, [*codes, *labels]),
            )
        )

    def index(self, place: Place) -> tuple[int, ...]:
        """Where in the table's arrays a cell lies."""
        return tuple(
            len(self.table.domain.axes[i]) if at is None else at for i, at in enumerate(place)
        )

    def symbol(self, place: Place) -> int:
        """What a cell shows; InputError where nothing was published of it."""
        index = self.index(place)
        status = Status(int(self.table.status[index]))
        if status in _SYMBOLS:
            return _SYMBOLS[status]
        if not status.has_value:
            raise CannotConclude(
                say(
                    "{place} is {meaning}: nothing can be said of it.",
                    place=self.cell_label(place),
                    meaning=status.meaning,
                )
            )
        return int(self.table.values[index])

    def margin(self, place: Place) -> tuple[MarginLaw, int]:
        """What was added to the margin a cell lies in, and how many draws the cell has."""
        named = dict(zip(self.names, place, strict=True))
        try:
            part = self.law.margin(named)
        except LawError:
            raise CannotConclude(
                say(
                    "The law of this table says nothing of {place}. Ask about cells that it is of, "
                    "with a category of every axis.",
                    place=self.cell_label(place),
                )
            ) from None
        return part, part.at(named)

    def channel(self, place: Place, *, cut: bool = False) -> Channel:
        """The channel of one cell; `cut` as in `channel.channel`."""
        require_cells(self.law)
        part, summed = self.margin(place)
        law = None if part.source is None else self.law.sources[part.source].law
        if part.source is None or summed == 0:
            return channel(None)
        return channel(law, summed, self.treatment, cut=cut)

    # -- the whole --------------------------------------------------------------------------

    def evidence(self) -> Evidence:
        """The cells without totals."""
        require_cells(self.law)
        require_counts(self.table)
        inside = tuple(slice(0, n) for n in self.shape)
        status = self.table.status[inside].ravel()
        self._require_no_suppressed(status)
        released = self.table.values[inside].astype(np.int64).ravel()
        for mark, symbol in _SYMBOLS.items():
            released = np.where(status == mark, symbol, released)
        draws = self._draws().ravel()
        used = (status != Status.STRUCTURAL_ZERO) & (status != Status.NOT_RELEASED)
        used &= draws != 0
        part, _ = self.margin(tuple(0 for _ in self.shape))
        law = None if part.source is None else self.law.sources[part.source].law
        many, kinds = np.unique(draws[used], return_inverse=True)
        channels = tuple(channel(law, int(n), self.treatment) for n in many)
        return Evidence(
            released[used],
            kinds.astype(np.int64).ravel(),
            channels,
            used,
            self.shape,
            tuple(self._caveats(status)),
        )

    def _draws(self) -> Whole:
        part = self.law.margin(dict.fromkeys(self.names, 0))
        if isinstance(part.summed, int):
            return np.full(self.shape, part.summed, dtype=np.int64)
        order = [(part.axes or ()).index(name) for name in self.names]
        return np.transpose(part.summed.numbers, order)

    def _require_no_suppressed(self, status: Marks) -> None:
        (there,) = np.nonzero(status == Status.SUPPRESSED)
        if not len(there):
            return
        places = np.unravel_index(there, self.shape)
        touched = [sorted(set(at.tolist())) for at in places]
        left = [n - len(rows) for n, rows in zip(self.shape, touched, strict=True)]
        axis = int(np.argmax(left))
        rows, rest = touched[axis], left[axis]
        if rest < 2:
            raise CannotConclude(
                say(
                    "{many} of {many_2} cells are suppressed, and why a cell is suppressed depends "
                    "on its count, so they cannot simply be left out, and too little is without "
                    "them. Ask for a table with fewer, larger categories.",
                    many=len(there),
                    many_2=len(status),
                )
            )
        named = ", ".join(self.label(axis, row) for row in rows[:5])
        raise CannotConclude(
            say(
                "{many} of {many_2} cells are suppressed, and why a cell is suppressed depends on "
                "its count, so they cannot simply be left out. Ask for a table without {axes} "
                "{named}{value}: the other {rest} can be tested.",
                many=len(there),
                many_2=len(status),
                axes=self.axes[axis],
                named=named,
                value=" …" if len(rows) > 5 else "",
                rest=rest,
            )
        )

    def _caveats(self, status: Marks) -> list[str]:
        caveats: list[str] = []
        zeros = int((status == Status.STRUCTURAL_ZERO).sum())
        if zeros:
            caveats.append(say("{zeros} cells that cannot exist are left out.", zeros=zeros))
        hidden = int(np.isin(status, list(_SYMBOLS)).sum())
        if hidden:
            caveats.append(
                say(
                    "{hidden} of {many} cells show no number; what is known of them, that they "
                    "were small, is used.",
                    hidden=hidden,
                    many=len(status),
                )
            )
        if "additive" in self.table.extra:
            caveats.append(
                say(
                    "The additive column is a view made afterwards; the published numbers were "
                    "used."
                )
            )
        return caveats


def require_law(law: CellLaw) -> None:
    """Refuse a table that does not say what was added to it."""
    if law == CellLaw():
        raise CannotConclude(
            say(
                "This table carries no law of its noise, so nothing can be computed from it. Use "
                "the JSON-stat, CSV, Parquet or XLSX file that discreet wrote, or give the law "
                "(--law FILE)."
            )
        )
    if law.about.get("counts") == "synthetic records":
        raise CannotConclude(
            say(
                "These are counts of synthetic records, not of people: their agreement with one "
                "another comes from the model they were drawn from. Use the tables of the release "
                "itself."
            )
        )


def require_cells(law: CellLaw) -> None:
    """Refuse tables of which no cell has a law of its own: fitted, balanced, with mean weights."""
    if law.mean_weight:
        raise CannotConclude(
            say(
                "The noise of a weighted cell-key count depends on a mean weight that is not "
                "published, so it cannot be tested. Use the unweighted table; its stated "
                "intervals still hold."
            )
        )
    if not law.measured:
        raise CannotConclude(
            say(
                "These variables were never measured together: what this table shows of them "
                "follows from the model only, and nothing can be concluded. Ask for a table that "
                "was measured."
            )
        )
    if law.consistency != "none":
        raise CannotConclude(
            say(
                "The numbers of this table were fitted to several tables together "
                "({consistency}), so their noise is correlated and no cell has a law of its own. "
                "Use the measured tables.",
                consistency=law.consistency,
            )
        )
    if law.negatives == "balance":
        raise CannotConclude(
            say(
                "The numbers of this table were moved together so that none is below 0 and they "
                "add up (negatives: balance), so no cell has a law of its own. Ask for it with "
                "negatives keep or clip; its stated intervals still hold."
            )
        )


def require_counts(table: ProtectedTable) -> None:
    """Refuse weighted counts where chance is taken to be that of counts."""
    if table.law.unit != 1 or table.measure != "count":
        raise CannotConclude(
            say(
                "A weighted count does not vary like a count of people, so tests and rates do not "
                "apply. Use the unweighted table; noise intervals of single cells hold."
            )
        )


def _law_names(table: ProtectedTable) -> tuple[str, ...]:
    """The names the law has for the axes; a file may have had to name a column otherwise."""
    own = axis_names(table.domain)
    known = _names_in(table.law)
    if not known or set(own) <= known:
        return own
    free = [name for name in sorted(known) if name not in own]
    names = []
    for name in own:
        if name not in known:
            near = [one for one in free if _key(name) in map(_key, _spellings(one))]
            if len(near) != 1:
                raise CannotConclude(
                    say(
                        "The law of this table does not name its axis {name}; it names {names}. "
                        "Use the law of this very table.",
                        name=repr(name),
                        names=", ".join(sorted(known)),
                    )
                )
            free.remove(near[0])
            name = near[0]  # noqa: PLW2901 - the same axis, as the law calls it
        names.append(name)
    return tuple(names)


def _names_in(law: CellLaw) -> set[str]:
    names = {name for part in law.cells for name in part.axes or ()}
    if law.residual_variance is not None:
        nodes = law.residual_variance.nodes
        axes = [*law.residual_variance.axes, *([] if nodes is None else [nodes.axis])]
        names |= {axis.name for axis in axes if not axis.summed}
    return names


def _key(name: str) -> str:
    return re.sub(r"\W", "_", name.casefold())


def _spellings(name: str) -> Sequence[str]:
    level = name.rpartition(":")[2]
    return (name, name.replace(":", "_"), level, f"{level}_code", f"{name}_code")
