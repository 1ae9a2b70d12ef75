"""Attacks on the service around a method: many users, repeated questions, updated data.

They run on a workspace of made-up people in a folder of its own that goes away, through the very
flow that answers analysts.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ... import recipe as recipes
from ... import release, workspace
from ...core.control import Control
from ...core.pure_laplace import PureLaplace
from ...errors import BudgetExceeded
from ...workspace import DataSet
from .findings import Finding
from .twin import Twin

USERS = 16
TOWNS, JOBS = ("north", "south", "east", "west"), ("baker", "clerk", "nurse", "smith", "tailor")
PEOPLE = 300
CAP = Fraction(2)


def composition(twin: Twin) -> Finding:
    """Sixteen users together spend one budget, or ask the same cells in as many ways (A17)."""
    about = f"{USERS} users ask different tables at once, each as if the others were not there."
    if twin.method == "cell-key":
        why = (
            "Cell keys spend nothing: users together have what one has, the same numbers for ever."
        )
        return Finding("many users", about, 1.0, 1.0, 0.0, None, None, False, why, USERS)
    with _people("dp") as data:
        asked = answered = 0
        alone = Fraction(0)
        for user in range(USERS):
            for words in (["town"], ["job"], ["town", "job"]):
                asked += 1
                epsilon = f"0.{user + 11}"
                alone += Fraction(epsilon)
                answered += _answered(data, {"rows": words, "epsilon": epsilon}, f"user-{user}")
        spent = data.ledger().spent()
        total = getattr(spent, "epsilon", Fraction(0))
    over = total > CAP
    return Finding(
        "many users", about, float(alone > CAP), 1.0, float(total / CAP), None, 1.0, over,
        f"{answered} of {asked} tables were answered before the budget of the data set, ε = {CAP}, "
        f"was spent ({float(total):.4g}); the rest was refused, whoever asked.", asked,
    )  # fmt: skip


def _answered(data: DataSet, mapping: dict[str, Any], user: str) -> bool:
    read = recipes.from_mapping(mapping, data.description, data.policy)
    try:
        release.ask(data, read, release.Payer(user)).release()
    except BudgetExceeded:
        return False
    return True


def repetition(twin: Twin, times: int = 20) -> Finding:
    """One table asked again and again, in every spelling, hoping for fresh noise (A5, A6)."""
    about = "Ask one table again and again: turned, by labels, in other letters, by other users."
    family = "cell-key" if twin.method == "cell-key" else "dp"
    with _people(family) as data:
        more = {} if family == "cell-key" else {"epsilon": "0.5"}
        spellings: list[dict[str, Any]] = [
            {"rows": ["town"], "columns": ["job"]},
            {"rows": ["job"], "columns": ["town"]},
            {"rows": ["Town", "job"]},
            {"columns": ["JOB", "town"]},
        ]
        seen: set[bytes] = set()
        for number in range(times):
            mapping = {**spellings[number % len(spellings)], **more}
            read = recipes.from_mapping(mapping, data.description, data.policy)
            asked = release.ask(data, read, release.Payer(f"user-{number % 3}"))
            (table,) = asked.release().tables
            names = [axis.variable.name for axis in table.domain.axes]
            seen.add(np.ascontiguousarray(table.values.transpose(np.argsort(names))).tobytes())
        charged = 0
        if family == "dp":
            charged = sum(entry.kind == "charge" for entry in data.ledger().entries())
    fresh = len(seen) - 1
    drawn = PureLaplace.of("0.5").draw(30 * times).reshape(times, -1)
    baseline = (len({row.tobytes() for row in drawn}) - 1) / (times - 1)  # noise that is fresh
    over = fresh > 0 or charged > 1
    paid = "" if family == "cell-key" else ", charged once"
    return Finding(
        "repetition", about, baseline, 0.9, fresh / (times - 1), 0.0, 0.0, over,
        f"{times} ways to ask one table gave {len(seen)} answer{'s' if fresh else ''}{paid}.", times,
    )  # fmt: skip


def update(twin: Twin) -> Finding:
    """The same table before and after one record arrives (A18)."""
    about = "Ask one table before and after the data are loaded with one record more."
    if twin.method == "cell-key":
        why = (
            "With cell keys the difference of both tables is that of differencing: the cell that moved "
            "is the person's. Publish versions rarely and many records at a time."
        )
        return Finding("update", about, 1.0, 1.0, None, None, None, False, why, 1)
    with _people("dp") as data:
        _answered(data, {"rows": ["town"], "epsilon": "0.5"}, "ana")
        before = data.ledger().spent()
        folder = data.folder
        data.close()
        _write(folder.parent / "people.csv", PEOPLE + 1)
        workspace.load(folder)
        with DataSet.open(folder) as later:
            kept = later.ledger().spent() == before
            _answered(later, {"rows": ["town"], "epsilon": "0.5"}, "ana")
            after = getattr(later.ledger().spent(), "epsilon", Fraction(0))
    return Finding(
        "update", about, 1.0, 1.0, 0.0 if kept else 1.0, 0.0, 0.0, not kept or after != 1,
        f"A new version inherits what was spent: after both tables ε = {float(after):g} is spent on "
        "the same people.", 2,
    )  # fmt: skip


@contextmanager
def _people(family: str) -> Iterator[DataSet]:
    """A data set of made-up people in a folder that goes away."""
    budget = {"epsilon": str(CAP)} if family == "dp" else None
    before = os.environ.get("DISCREET_ANCHORS")
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_ANCHORS"] = str(Path(name) / "anchors")
        try:
            source, folder = Path(name) / "people.csv", Path(name) / "people"
            _write(source, PEOPLE)
            unit = workspace.UnitChoice(unit="person", id="person")
            workspace.init(source, folder, Control(), family=family, budget=budget, unit=unit)
            workspace.declare(folder)
            with DataSet.open(folder) as data:
                yield data
        finally:
            if before is None:
                del os.environ["DISCREET_ANCHORS"]
            else:
                os.environ["DISCREET_ANCHORS"] = before


def _write(path: Path, people: int) -> None:
    rows = [f"p{n},{TOWNS[n % 7 % 4]},{JOBS[n % 11 % 5]}" for n in range(people)]
    path.write_text("\n".join(["person,town,job", *rows]) + "\n", encoding="utf-8")
