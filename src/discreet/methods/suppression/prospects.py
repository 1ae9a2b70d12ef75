"""What to expect of a table before anything is read, in words: from public facts alone."""

from __future__ import annotations

import numpy as np

from ...core.control import Control
from ...languages import number, say
from .decisions import Decided
from .groups import axis_mass, median_groups
from .margins import draw
from .planning import expected, extreme_laws, people_needed, prior_room
from .table_plan import TablePlan

_DRAWS = ((40, 8), (120, 3))
"""Tables of up to so many cells are tried so often; larger ones take too long."""
_RARELY = 1e-3


def outlook(table: TablePlan) -> str:
    """Stars to expect and δ to be spent, in a sentence.

    The look-ahead knows no count that comes out: each one moves the chances of the others, mostly up.
    """
    totals = max(table.margin_charges)
    left = table.rule.delta - max(table.past.spent) - totals
    if table.bins:
        return _binned(table, left)
    guess = expected(table.people[0], table.shape, table.epsilon, left)
    return say(
        "exact or a star; about {stars} of {cells} cells will be stars, and about {totals} of "
        "δ = {delta} will be spent, more or less as counts come out",
        stars=guess.stars,
        cells=guess.cells,
        totals=number(f"{totals + guess.spent:.2g}"),
        delta=number(f"{table.rule.delta:.3g}"),
    )


def _binned(table: TablePlan, left: float) -> str:
    sizes = zip(range(len(table.shape)), table.bins, strict=True)
    mass = table.people[0], table.shape
    most = table.grouped(tuple(median_groups(axis_mass(*mass, axis), n) for axis, n in sizes))
    guess = expected(most.people[0], most.shape, table.epsilon, left)
    return say(
        "exact or a star; categories are joined to at most {bins} bins, split while δ = {delta} "
        "lasts; with that many about {stars} of {cells} cells would be stars",
        bins=" × ".join(str(n) for n in most.shape),
        delta=number(f"{table.rule.delta:.3g}"),
        stars=guess.stars,
        cells=guess.cells,
    )


def warnings(table: TablePlan) -> tuple[str, ...]:
    """What the asker should know before anything comes out."""
    spent = max(table.past.spent)
    said = [
        say(
            "Earlier releases have spent {spent} of δ = {delta}.",
            spent=number(f"{spent:.3g}"),
            delta=number(f"{table.rule.delta:.3g}"),
        )
    ]
    return (*(said if spent else ()), _room_of_the_prior(table), *_people_needed(table))


def _room_of_the_prior(table: TablePlan) -> str:
    rooms = [prior_room(cells, table.epsilon, table.rule.delta) for cells in table.people]
    low, high = min(room.low for room in rooms), max(room.high for room in rooms)
    mean: str = number(f"{rooms[0].mean:.3g}")
    if len(rooms) > 1:
        last = number(f"{rooms[-1].mean:.3g}")
        mean = say("{low} to {high}", low=mean, high=last)
    return say(
        "The prior may be off: on average {mean} is assumed; were it below {low} or "
        "above {high} in truth, the grand total alone would move beliefs by more than "
        "ε with a chance above δ = {delta}.",
        mean=mean,
        low=number(f"{low:.3g}"),
        high=number(f"{high:.3g}"),
        delta=number(f"{table.rule.delta:.3g}"),
    )


def _people_needed(table: TablePlan) -> list[str]:
    """How many people a cell needs, of the type that needs most."""
    laws = extreme_laws([cell for cells in table.people for cell in cells])
    if not laws:
        return []
    values = {"epsilon": number(f"{table.epsilon:.3g}"), "p": number(f"{laws[-1][1]:.3g}")}
    many = people_needed(laws[-1], table.epsilon, _RARELY)
    if many is None:
        return [
            say(
                "At ε = {epsilon} no cell of people with a prior of {p} is large enough to be "
                "released as a matter of course.",
                **values,
            )
        ]
    return [
        say(
            "At ε = {epsilon} a cell of people with a prior of {p} needs about {many} of them: with "
            "fewer, its count alone would move beliefs by more than ε in more than 1 of 1,000 tables.",
            many=many,
            **values,
        )
    ]


def forecast(table: TablePlan, control: Control) -> str:
    """How tables drawn from the prior come out, in a sentence; empty where none is tried.

    Decided as the true one will be. The draws are the same each time.
    """
    cells = len(table.people[0])
    draws = next((many for most, many in _DRAWS if cells <= most), 0)
    if not draws or not table.with_cells or table.bins or table.past.earlier is not None:
        return ""
    middle = len(table.people) // 2
    shifts = table.models()[middle].shifts
    stars, spent = [], []
    for done, counts in enumerate(draw(np.random.default_rng(0), table.people[middle], draws)):
        control.step(done / draws, "trying")
        result = table.run(counts + shifts, control.part(done / draws, (done + 1) / draws))
        inner = tuple(slice(0, n) for n in table.shape)
        stars.append(int((result.decided[inner] == Decided.SUPPRESSED).sum()))
        spent.append(max(result.charged))
    return say(
        "Of {draws} tables drawn from the prior, {low} to {high} of {cells} cells were stars, "
        "{mean} on average, and {spent} of δ = {delta} was spent.",
        draws=draws,
        low=min(stars),
        high=max(stars),
        cells=cells,
        mean=number(f"{np.mean(stars):.3g}"),
        spent=number(f"{np.mean(spent):.2g}"),
        delta=number(f"{table.rule.delta:.3g}"),
    )
