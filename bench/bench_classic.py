"""Classic suppression beside simulatable suppression and τ-ARGUS (pytauargus), on the same tables.

    python -m bench.bench_classic [--tables N]

For each kind of table, means over some draws from its prior: small counts, cells hidden by us and by
pytauargus (in an environment of its own, as many tries as it has costs, the fewest taken), seconds,
what the attack recovers, how many people a reader with the prior knows beyond ε = 0.5 from the classic
table, and what simulatable suppression does at ε = 0.5, δ = 0.2. Ours protects every small count by at
least as much as asked of pytauargus. Counts of 0 are published by both.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.bars import measured
from bench.peers import PYTAUARGUS
from discreet.errors import Refusal
from discreet.methods.classic.secondary import Hidden, hide
from discreet.methods.shared.suppression_attack import attack
from discreet.methods.suppression.beliefs import Model
from discreet.methods.suppression.board import Board
from discreet.methods.suppression.cell_weights import CellPeople
from discreet.methods.suppression.decisions import Decided, Rule
from discreet.methods.suppression.exact_law import Undecided, effort, marginals, parts
from discreet.methods.suppression.laws import beliefs_off
from discreet.methods.suppression.outlook import Outlook
from discreet.methods.suppression.past import Past
from discreet.methods.suppression.table_plan import TablePlan, margin_charges

EPSILON, DELTA = 0.5, 0.2
FIGURE_3 = np.array([[101, 23, 22], [32, 95, 24], [45, 38, 70]])
FIGURE_3_PEOPLE = np.array([[200, 80, 100], [80, 200, 100], [100, 100, 200]])
ARGUS = """
import json, os, sys, tempfile, time
from pytauargus import protect
os.chdir(tempfile.mkdtemp())  # it leaves logs where it runs
answers = []
for grid, threshold, percent in json.loads(sys.argv[1]):
    data = {"row": [], "col": [], "one": []}
    for i, line in enumerate(grid):
        for j, n in enumerate(line):
            data["row"] += ["r%02d" % i] * n
            data["col"] += ["c%02d" % j] * n
            data["one"] += [1.0] * n
    best = None
    for cost in ("-1", "-2", None):
        clock = time.perf_counter()
        done = protect(
            data, ["row", "col"], response="one", cost_var=cost,
            safety_rules="FREQ(%d,%d)" % (threshold + 1, percent), suppress="OPT(1)",
        )
        status = done.tables[0].status()
        hidden = sum(one not in ("S", "Z", "") for one in status)
        took = time.perf_counter() - clock
        if best is None or hidden < best[0]:
            best = [hidden, took]
    answers.append(best)
print(json.dumps({"tables": answers}))
"""


@dataclass(frozen=True)
class Kind:
    """A kind of table: its side, people a cell, prior, threshold and protection."""

    name: str
    side: int
    people: tuple[int, int]
    prior: tuple[float, float]
    threshold: int
    protection: int = 1

    def table(self, random: np.random.Generator) -> tuple[list[CellPeople], np.ndarray]:
        """One drawn table: its people and its counts."""
        if self.side == 3:
            many, p = FIGURE_3_PEOPLE.ravel(), np.tile([0.5, 0.4, 0.3], 3)
            counts = FIGURE_3.ravel()
        else:
            many = random.integers(self.people[0], self.people[1] + 1, self.side**2)
            p = random.uniform(*self.prior, self.side**2)
            counts = random.binomial(many, p)
        cells = [CellPeople.of({(1 - q, q): int(b)}) for q, b in zip(p.tolist(), many, strict=True)]
        return cells, counts.reshape(self.side, self.side)


KINDS = (
    Kind("4 × 4, 5–40 a cell, p 0.1–0.3, threshold 3", 4, (5, 40), (0.1, 0.3), 3),
    Kind("5 × 5, 20–60 a cell, p 0.05–0.2, threshold 4", 5, (20, 60), (0.05, 0.2), 4),
    Kind("4 × 4, 60–150 a cell, p 0.3–0.5, threshold 30", 4, (60, 150), (0.3, 0.5), 30),
    Kind("nabar Figure 3, threshold 5", 3, (0, 0), (0, 0), 5),
    Kind("nabar Figure 3, threshold 22", 3, (0, 0), (0, 0), 22),
    Kind("10 × 10, 80–120 a cell, p 0.3–0.5, threshold 28, ± 5", 10, (80, 120), (0.3, 0.5), 28, 5),
)


def hidden_of(kind: Kind, table: np.ndarray) -> Hidden:
    return hide(table, (table <= kind.threshold) & (table > 0), kind.protection, 60)


def known_people(cells: list[CellPeople], table: np.ndarray, hidden: np.ndarray) -> tuple[int, int]:
    """People known beyond ε: in cells that are shown, and in hidden ones by totals alone."""
    model = Model.of(cells, EPSILON)
    counts, mask = table.ravel(), hidden.ravel()
    shown = sum(
        cells[k].size for k in np.flatnonzero(~mask).tolist() if not model.safe[k][counts[k]]
    )
    board = Board.of_grid(model.most.reshape(table.shape), table.sum(axis=1), table.sum(axis=0))
    for cell in np.flatnonzero(~mask).tolist():
        board.fix(cell, int(counts[cell]))
    behind = sum(cells[c].size for c, n in board.implied().items() if not model.safe[c][n])
    for part in parts(board, board.unknown):
        for cell, off in _offs(model, board, part):
            behind += cells[cell].size * (off > EPSILON)
    return shown, int(behind)


def _offs(model: Model, board: Board, part: np.ndarray) -> list[tuple[int, float]]:
    if effort(board, part) < 2e8:
        try:
            laws = marginals(board, part, model.laws, model.cumulants)
            return [(cell, model.off(cell, law)) for cell, law in laws.items()]
        except Undecided:
            pass
    outlook = Outlook(model, board)
    offs = beliefs_off(model, board, outlook.tilted)
    return [(int(cell), float(offs[outlook.place[cell]])) for cell in part]


def simulatable(cells: list[CellPeople], table: np.ndarray) -> int | None:
    """Stars by simulatable suppression; None where the table is refused."""
    try:
        charges, how = margin_charges([cells], table.shape, EPSILON, DELTA, (0.0,))
    except Refusal:
        return None
    plan = TablePlan(table.shape, [cells], EPSILON, Rule(DELTA), Past((0.0,)), True, charges, how)
    return int((plan.run(table.ravel().astype(np.int64)).decided == Decided.SUPPRESSED).sum())


def reported(kind: Kind, tables: int) -> tuple[dict[str, Any], list[Any]]:
    """The figures of one kind, and what pytauargus is to be asked."""
    random = np.random.default_rng(len(kind.name))
    rows, asked = [], []
    for _ in range(1 if kind.side == 3 else tables):
        cells, table = kind.table(random)
        clock = time.process_time()
        hidden = hidden_of(kind, table)
        took = time.process_time() - clock
        grid = np.where(hidden.cells, -1, table)
        found = attack(
            grid, table.sum(axis=1), table.sum(axis=0), lambda t: hidden_of(kind, t).cells
        )
        ends = found.by_rule()
        by_rule = math.nan if ends is None else float((ends[0] == ends[1]).sum())
        shown, behind = known_people(cells, table, hidden.cells)
        small = int(((table <= kind.threshold) & (table > 0)).sum())
        many, stars = sum(cell.size for cell in cells), simulatable(cells, table)
        rows.append(
            (
                *(small, hidden.cells.sum(), took, hidden.gap, found.exact, by_rule),
                *(shown, behind, many, stars is None, math.nan if stars is None else stars),
            )
        )
        percent = 100 * kind.protection // kind.threshold
        asked.append([table.tolist(), kind.threshold, percent])
    names = ("small", "hidden", "seconds", "gap", "exact", "by rule", "shown", "behind")
    columns = np.array(rows, dtype=float).T
    figures = dict(zip((*names, "people", "refused", "stars"), columns, strict=True))
    return figures, asked


def said(numbers: np.ndarray) -> str:
    known = numbers[~np.isnan(numbers)]
    return f"{known.mean():.3g}" if len(known) else "–"


def main() -> None:
    parser = argparse.ArgumentParser(description="Classic beside simulatable suppression.")
    parser.add_argument("--tables", type=int, default=6)
    tables = parser.parse_args().tables
    print(
        "| table | small | hidden | s | τ-ARGUS hidden | s | known exactly: totals, rule | "
        "people beyond ε: shown, hidden | simulatable: refused, stars |\n|" + "---|" * 9
    )
    ours = theirs = 0.0
    more = 0
    for kind in KINDS:
        figures, asked = reported(kind, tables)
        answer = PYTAUARGUS.run(ARGUS, json.dumps(asked))
        peer = np.array(answer["tables"] if answer else [[math.nan] * 2])
        if answer:
            ours, theirs = ours + figures["hidden"].sum(), theirs + peer[:, 0].sum()
            more += int((figures["hidden"] > peer[:, 0]).sum())
        share = {k: figures[k].sum() / figures["people"].sum() * 100 for k in ("shown", "behind")}
        print(
            f"| {kind.name} | {said(figures['small'])} | {said(figures['hidden'])} "
            f"| {said(figures['seconds'])} | {said(peer[:, 0])} | {said(peer[:, 1])} "
            f"| {said(figures['exact'])}, {said(figures['by rule'])} "
            f"| {share['shown']:.0f} %, {share['behind']:.0f} % "
            f"| {figures['refused'].mean() * 100:.0f} %, {said(figures['stars'])} |",
            flush=True,
        )
    measured(
        "cells hidden ÷ those of pytauargus", ours / theirs if theirs else None, "×", at_most=1,
        note=f"{ours:.0f} and {theirs:.0f} over all tables",
    )  # fmt: skip
    what = "tables in which more cells are hidden than by pytauargus"
    measured(what, more if theirs else None, at_most=0)


if __name__ == "__main__":
    main()
