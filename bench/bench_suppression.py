"""Suppression: the release of 10 × 10, 20 × 20 and 50 × 50 tables, and the paper's rule beside ours.

    python -m bench.bench_suppression [SIZE …]        for example `… 10 20`

Each table is a data set of its own on disk: public populations, three types of people, records drawn
from the prior. Timed is the whole question: plan, decisions, commit. Then nabar's Algorithm 3 as
printed, with tables drawn by our own sampler: for every cell n = T/δ · ln(T/δ) tables, released if at
most ln(T/δ)/2 of them are unsafe; which counts are unsafe both rules compute alike, once a cell.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import yaml

import discreet as dc
from bench.bars import measured
from discreet.core.table import Status
from discreet.methods.suppression.beliefs import Model
from discreet.methods.suppression.board import Board
from discreet.methods.suppression.cell_weights import CellPeople
from discreet.methods.suppression.decisions import Decided, Progress, Rule, decide
from discreet.methods.suppression.draws import Sampler
from discreet.methods.suppression.laws import risk
from discreet.methods.suppression.outlook import Outlook
from discreet.workspace import load

EPSILON, DELTA = 0.5, 0.2
TYPES = (0.3, 0.4, 0.5)
SIZES = {10: (100, 1.0), 20: (100, 5.0), 50: (250, 60.0)}
"""By side of a table: people a cell, and the seconds allowed."""


def people(random: np.random.Generator, size: int, a_cell: int) -> np.ndarray:
    """How many of each type, by row and column."""
    many = random.integers(a_cell * 4 // 5, a_cell * 6 // 5 + 1, (size, size))
    return random.multinomial(many, [1 / 3] * 3)


def data_set(folder: Path, many: np.ndarray, random: np.random.Generator) -> Path:
    """A loaded data set with these people."""
    size = len(many)
    places = np.argwhere(many >= 0)
    lines = [f"{i},{j},{k},{many[i, j, k]}" for i, j, k in places.tolist()]
    folder.mkdir(parents=True)
    (folder / "populations.csv").write_text("row,column,kind,population\n" + "\n".join(lines))
    prior = [f"{k},{p}" for k, p in enumerate(TYPES)]
    (folder / "prior.csv").write_text("kind,p\n" + "\n".join(prior))
    everybody = np.repeat(places, many.ravel(), axis=0)
    gene = random.random(len(everybody)) < np.array(TYPES)[everybody[:, 2]]
    records = np.column_stack([np.arange(len(everybody)), everybody, gene])
    with (folder.parent / "people.csv").open("w") as file:
        file.write("id,row,column,kind,gene\n")
        np.savetxt(file, records, fmt="%d", delimiter=",")
    (folder / "discreet.yaml").write_text(yaml.safe_dump(_described(size), sort_keys=False))
    load(folder)
    return folder


def _described(size: int) -> dict[str, object]:
    def variable(name: str, categories: int, **more: str) -> dict[str, object]:
        codes = {str(k): str(k) for k in range(categories)}
        return {"column": name, "status": "declared", "categories": codes, **more}

    return {
        "dataset": "people",
        "title": "People",
        "unit": "person",
        "id": "id",
        "source": {"file": "../people.csv"},
        "family": "suppression",
        "methods": {
            "suppression": {
                "epsilon": str(EPSILON),
                "delta": str(DELTA),
                "populations": {"file": "populations.csv", "source": "drawn"},
                "attributes": {
                    "gene": {"counts": ["1"], "prior": {"file": "prior.csv", "source": "drawn"}}
                },
            }
        },
        "variables": {
            "row": variable("row", size),
            "column": variable("column", size),
            "kind": variable("kind", 3),
            "gene": variable("gene", 2, role="private"),
        },
    }


def release(size: int) -> None:
    """The time of one question on disk."""
    a_cell, allowed = SIZES[size]
    random = np.random.default_rng(size)
    many = people(random, size, a_cell)
    with tempfile.TemporaryDirectory() as folder:
        place = data_set(Path(folder) / "people", many, random)
        with dc.open(place) as data:
            clock, wall = time.process_time(), time.perf_counter()
            table = data.table(rows="row", columns="column").release().protected
            took, waited = time.process_time() - clock, time.perf_counter() - wall
    stars = int((table.status == Status.SUPPRESSED).sum())
    what = f"suppression, {size} × {size}, {int(many.sum()):,} people"
    note = f"{waited:.2f} s by the clock; {stars} stars"
    measured(what, took, "s", at_most=allowed, note=note)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    measured(f"{what}: memory", used, "MB", at_most=600)


def beside_the_paper(size: int, tables: int = 5) -> None:
    """nabar's Algorithm 3 with draws, and ours, on the same tables."""
    random = np.random.default_rng(10 * size)
    ours, theirs, stars, drawn = 0.0, 0.0, [0, 0], 0
    for _ in range(tables):
        many = people(random, size, 100).reshape(-1, 3)
        cells = [
            CellPeople.of({(1 - p, p): int(n) for p, n in zip(TYPES, one, strict=True)})
            for one in many
        ]
        counts = random.binomial(many, TYPES).sum(axis=1)
        model, grid = Model.of(cells, EPSILON), counts.reshape(size, size)
        most = model.most.reshape(size, size)
        board = Board.of_grid(most, grid.sum(axis=1), grid.sum(axis=0))
        clock = time.process_time()
        progress = Progress(board.copy(), np.zeros(size**2, np.uint8), [0.0])
        decide(progress, [model], Rule(DELTA), counts.__getitem__)
        ours += time.process_time() - clock
        clock = time.process_time()
        starred, more = _algorithm_3(board, model, counts, random)
        theirs, drawn = theirs + time.process_time() - clock, drawn + more
        stars = [stars[0] + int((progress.decided == Decided.SUPPRESSED).sum()), stars[1] + starred]
    print(
        f"  {tables} tables of {size} × {size}: ours {ours / tables:.3f} s a table, {stars[0]} stars; "
        f"the paper's rule {theirs / tables:.3f} s, {drawn // tables:,} draws a table, {stars[1]} stars",
        flush=True,
    )


def _algorithm_3(
    board: Board, model: Model, counts: np.ndarray, random: np.random.Generator
) -> tuple[int, int]:
    """Stars and draws."""
    needed = (math.isqrt(len(counts)) + 1) ** 2 / DELTA
    tables, allowed = math.ceil(needed * math.log(needed)), math.log(needed) / 2
    stars, drawn = 0, 0
    for cell in range(len(counts)):
        board.implied()
        if board.known[cell] >= 0:
            continue
        outlook = Outlook(model, board)
        unsafe = risk(board, model, cell, outlook, DELTA, 1).unsafe
        draws = Sampler(board, model, outlook.tilted).draw(tables, random)
        values = draws.chosen(random, tables)[:, int(outlook.place[cell])]
        drawn += tables
        if int(unsafe[values].sum()) <= allowed:
            board.fix(cell, int(counts[cell]))
        else:
            stars += 1
    return stars, drawn


def main() -> None:
    for size in [int(one) for one in sys.argv[1:]] or list(SIZES):
        release(size)
    for size in (3, 5):
        beside_the_paper(size)


if __name__ == "__main__":
    main()
