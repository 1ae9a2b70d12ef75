"""What mbi makes of the noisy tables of a tree; run by `bench_topdown` in mbi's own environment.

Reads the noisy numbers from an .npz file and prints the mean absolute error of a cell, first over the
cells of a table, then over tables, and the seconds. A table of regions is given as sums over the areas
in them. Fractions stay as they are, which is to mbi's advantage.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass
from typing import Any

os.environ["JAX_ENABLE_X64"] = "1"  # with half the digits its estimates stall

import numpy as np
from mbi import Domain, LinearMeasurement, estimation


@dataclass(frozen=True)
class Summed:
    """The areas of a table summed to the nodes of a level; areas come first."""

    shape: tuple[int, ...]
    into: tuple[int, ...]
    nodes: int

    def op_norm_sq(self) -> float:
        """What mbi sets its first step by."""
        return float(np.bincount(self.into).max())

    def __call__(self, factor: Any) -> Any:
        sums = np.zeros((self.nodes, len(self.into)))
        sums[list(self.into), np.arange(len(self.into))] = 1.0
        return (sums @ factor.datavector().reshape(len(self.into), -1)).ravel()


def main() -> None:
    given = np.load(sys.argv[1])
    facts = json.loads(str(given["facts"]))
    shape, into = facts["shape"], facts["into"]
    domain = Domain(list(shape), list(shape.values()))
    measured = []
    for one in facts["measured"]:
        numbers = given[one["array"]].astype(float).ravel()
        level, finest = one["level"], len(into) - 1
        clique = (("area",) if level else ()) + tuple(one["axes"])
        more: dict[str, Any] = {}
        if 0 < level < finest:
            lengths = tuple(shape[name] for name in clique)
            more["query"] = Summed(lengths, tuple(into[level]), max(into[level]) + 1)
        if clique:
            measured.append(LinearMeasurement(numbers, clique, stddev=one["sd"], **more))
    total = float(max(given[one["array"]].sum() for one in facts["measured"] if not one["level"]))
    busy = time.process_time()
    model = estimation.MirrorDescent().estimate(domain, measured, known_total=total, iters=1000)
    errors = []
    for number, (axes, regions) in enumerate(zip(facts["asked"], facts["regions"], strict=True)):
        found = np.asarray(model.project(tuple(axes)).datavector())
        found = found.reshape([shape[name] for name in axes])
        if regions:
            place = axes.index("area")
            places = np.array(into[facts["region"]])
            sums = np.zeros((int(places.max()) + 1, *np.delete(found.shape, place)))
            np.add.at(sums, places, np.moveaxis(found, place, 0))
            found = np.moveaxis(sums, 0, place)
        errors.append(float(np.abs(found - given[f"true {number}"]).mean()))
    print(json.dumps({"error": float(np.mean(errors)), "cpu": time.process_time() - busy}))


main()
