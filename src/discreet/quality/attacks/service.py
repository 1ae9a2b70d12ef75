"""Attacks on the service around a method: many users, repeated questions, updated data.

They run on a workspace of made-up people in a folder of its own that goes away, through the very
flow that answers analysts.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ... import recipe as recipes
from ... import release, workspace
from ...core.control import Control
from ...core.pure_laplace import PureLaplace
from ...core.table import ProtectedTable, Status
from ...durable import OWN, replace_text
from ...errors import BudgetExceeded
from ...file_names import ARRAYS, CACHE, DATA, DESCRIPTION
from ...languages import counted, number, say
from ...workspace import DataSet
from .findings import Finding, not_applied
from .twin import Twin

USERS = 16
TOWNS, JOBS = ("north", "south", "east", "west"), ("baker", "clerk", "nurse", "smith", "tailor")
PEOPLE = 300
CAP = Fraction(2)
SPELLINGS: tuple[dict[str, Any], ...] = (
    {"rows": ["town"], "columns": ["job"]},
    {"rows": ["job"], "columns": ["town"]},
    {"rows": ["Town", "job"]},
    {"columns": ["JOB", "town"]},
)
"""One table, asked for in several ways."""
RARE, NEVER = ("east", "smith"), ("west", "tailor")
IMPOSSIBLE = """
structural_zeros:
  - where: {town: [west], job: [tailor]}
    reason: nobody in the west is a tailor
"""


def composition(twin: Twin) -> Finding:
    """Sixteen users together spend one budget, or ask the same cells in as many ways (A17)."""
    about = say(
        "{users} users ask different tables at once, each as if the others were not there.",
        users=USERS,
    )
    if twin.method == "cell-key":
        why = say(
            "Cell keys spend nothing: users together have what one has, the same numbers for ever."
        )
        return Finding(say("many users"), about, 1.0, 1.0, 0.0, None, None, False, why, USERS)
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
        say("many users"), about, float(alone > CAP), 1.0, float(total / CAP), None, 1.0, over,
        say(
            "{answered} of {asked} tables were answered before the budget of the data set, ε = {cap}, was "
            "spent ({spent}); the rest was refused, whoever asked.",
            answered=answered, asked=asked, cap=str(CAP), spent=number(f"{float(total):.4g}"),
        ), asked,
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
    about = say(
        "Ask one table again and again: turned, by labels, in other letters, by other users."
    )
    family = "cell-key" if twin.method == "cell-key" else "dp"
    with _people(family) as data:
        more = {} if family == "cell-key" else {"epsilon": "0.5"}
        seen: set[bytes] = set()
        for turn in range(times):
            mapping = {**SPELLINGS[turn % len(SPELLINGS)], **more}
            read = recipes.from_mapping(mapping, data.description, data.policy)
            asked = release.ask(data, read, release.Payer(f"user-{turn % 3}"))
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
    words = (
        counted(
            "{times} ways to ask one table gave {n} answer.",
            "{times} ways to ask one table gave {n} answers.",
            len(seen),
            times=times,
        )
        if family == "cell-key"
        else counted(
            "{times} ways to ask one table gave {n} answer, charged once.",
            "{times} ways to ask one table gave {n} answers, charged once.",
            len(seen),
            times=times,
        )
    )
    return Finding(
        say("repetition"), about, baseline, 0.9, fresh / (times - 1), 0.0, 0.0, over,
        words, times,
    )  # fmt: skip


def update(twin: Twin) -> Finding:
    """The same table before and after one record arrives (A18)."""
    about = say("Ask one table before and after the data are loaded with one record more.")
    if twin.method == "cell-key":
        why = say(
            "With cell keys the difference of both tables is that of differencing: the cell that moved "
            "is the person's. Publish versions rarely and many records at a time."
        )
        return Finding(say("update"), about, 1.0, 1.0, None, None, None, False, why, 1)
    with _people("dp") as data:
        _answered(data, {"rows": ["town"], "epsilon": "0.5"}, "ana")
        before = data.ledger().spent()
        folder = data.folder
        data.close()
        _write(folder.parent / "people.csv", _rows(PEOPLE + 1))
        workspace.load(folder)
        with DataSet.open(folder) as later:
            kept = later.ledger().spent() == before
            _answered(later, {"rows": ["town"], "epsilon": "0.5"}, "ana")
            after = getattr(later.ledger().spent(), "epsilon", Fraction(0))
    return Finding(
        say("update"), about, 1.0, 1.0, 0.0 if kept else 1.0, 0.0, 0.0, not kept or after != 1,
        say(
            "A new version inherits what was spent: after both tables ε = {epsilon} is spent on the same "
            "people.", epsilon=number(f"{float(after):g}"),
        ), 2,
    )  # fmt: skip


def impossible(twin: Twin) -> Finding:
    """Which cells are said to be impossible, on two data sets of which one has somebody more (A9)."""
    about = say(
        "Read off which cells are marked impossible or left out whether a rare cell has somebody."
    )
    family = "cell-key" if twin.method == "cell-key" else "dp"
    seen = []
    for rare in (False, True):
        with _people(family, _with_rare(rare), IMPOSSIBLE) as data:
            asked = _asked(data, {"rows": ["town"], "columns": ["job"]}, "0.5")
            said = str(asked.to_json(look_back=False)), str(asked.options(data.description))
            (table,) = asked.release().tables
            seen.append((*said, table.domain.shape, _marked(table)))
    differ = float(seen[0] != seen[1])
    marked = seen[0][-1]
    found_in_data = [{row[1:] for row in _with_rare(rare)} for rare in (False, True)]
    return Finding(
        say("impossible cells"), about, float(found_in_data[0] != found_in_data[1]), 1.0, differ, 0.0, 0.0,
        differ > 0,
        counted(
            "{n} cell is marked impossible, because the description says so; what is said before and "
            "beside the numbers is the same whether the rare cell has somebody or not.",
            "{n} cells are marked impossible, because the description says so; what is said before and "
            "beside the numbers is the same whether the rare cell has somebody or not.", marked,
        ), 2,
    )  # fmt: skip


def consistency(twin: Twin) -> Finding:
    """Fits made again where no record can be read: a step that used one would differ (A15)."""
    about = say(
        "Look for a true value that a consistency step held on to: fit the stored noisy counts again "
        "after every record was erased."
    )
    if twin.method == "cell-key":
        why = say("Cell keys have no consistency step: every cell is published by its own key.")
        return not_applied(say("consistency"), about, 1.0, 1.0, why)
    questions: list[dict[str, Any]] = [
        {"rows": ["town"], "columns": ["job"], "consistency": "integers"},
        {"rows": ["town"], "columns": ["job"], "method": "marginals"},
        {"rows": ["town"], "columns": ["job"], "method": "topdown"},
    ]
    with _people("dp") as data:
        before = [_values(_asked(data, mapping, "0.4").release()) for mapping in questions]
        spent, folder = data.ledger().spent(), data.folder
        data.close()
        for path in (*folder.rglob(DATA), *folder.rglob(ARRAYS)):
            path.chmod(OWN)
            path.write_bytes(bytes(path.stat().st_size))
        (folder.parent / "people.csv").unlink()
        (folder / CACHE).unlink(missing_ok=True)
        with DataSet.open(folder) as later:
            after = [_values(_asked(later, mapping, "0.4").release()) for mapping in questions]
            free = later.ledger().spent() == spent
    differ = sum(one != two for one, two in zip(before, after, strict=True))
    return Finding(
        say("consistency"), about, 1.0, 1.0, differ / len(questions), 0.0, 0.0, differ > 0 or not free,
        say(
            "{fits} fits made again without any record gave the same tables, at no cost: they use nothing "
            "but the noisy counts.", fits=len(questions),
        ) if not differ else say(
            "{differ} of {fits} fits came out otherwise without the records.",
            differ=differ, fits=len(questions),
        ), len(questions),
    )  # fmt: skip


def _asked(data: DataSet, mapping: dict[str, Any], epsilon: str) -> release.Asked:
    said = mapping if data.policy.budget is None else {**mapping, "epsilon": epsilon}
    return release.ask(data, recipes.from_mapping(said, data.description, data.policy))


def _values(made: release.Release) -> list[bytes]:
    return [np.ascontiguousarray(table.values).tobytes() for table in made.tables]


def _marked(table: ProtectedTable) -> int:
    return int((table.status == Status.STRUCTURAL_ZERO).sum())


def _with_rare(rare: bool) -> list[tuple[str, str, str]]:
    """People without the impossible combination, with or without one in the rare one."""
    rows = [row for row in _rows(PEOPLE) if row[1:] not in (RARE, NEVER)]
    return [*rows, ("victim", *RARE)] if rare else rows


@contextmanager
def _people(
    family: str, rows: Sequence[tuple[str, str, str]] = (), more: str = ""
) -> Iterator[DataSet]:
    """A data set of made-up people in a folder that goes away; `more` is added to its description."""
    budget = str(CAP) if family == "dp" else ""
    before = os.environ.get("DISCREET_ANCHORS")
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_ANCHORS"] = str(Path(name) / "anchors")
        try:
            folder = Path(name) / "people"
            make_people(folder, family, budget, rows)
            if more:
                path = folder / DESCRIPTION
                replace_text(path, path.read_text("utf-8") + more)
            with DataSet.open(folder) as data:
                yield data
        finally:
            if before is None:
                del os.environ["DISCREET_ANCHORS"]
            else:
                os.environ["DISCREET_ANCHORS"] = before


def make_people(
    folder: Path, family: str, budget: str = "", rows: Sequence[tuple[str, str, str]] = ()
) -> None:
    """A data set of made-up people, its source beside it."""
    source = folder.parent / "people.csv"
    _write(source, rows or _rows(PEOPLE))
    unit = workspace.UnitChoice(unit="person", id="person")
    allowed = {"epsilon": budget} if budget else None
    workspace.init(source, folder, Control(), family=family, budget=allowed, unit=unit)
    workspace.declare(folder)


def _rows(people: int) -> list[tuple[str, str, str]]:
    return [(f"p{n}", TOWNS[n % 7 % 4], JOBS[n % 11 % 5]) for n in range(people)]


def _write(path: Path, rows: Sequence[tuple[str, str, str]]) -> None:
    lines = [",".join(row) for row in rows]
    path.write_text("\n".join(["person,town,job", *lines]) + "\n", encoding="utf-8")
