"""What mbi makes of noisy margins; run by `bench_marginals` in mbi's own environment.

Reads draws of noisy numbers from an .npz file and prints, for each, the mean absolute error of a
cell of all 2-way margins and the seconds: fitted to *the same* numbers as ours, and to its usual ones,
the 2-way tables themselves. Margins stay fractions here, which is to mbi's advantage; the first fit
compiles and is timed apart.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

began = time.perf_counter()
from mbi import Domain, LinearMeasurement, estimation  # noqa: E402 - how long this takes is measured

IMPORTED = time.perf_counter() - began


@dataclass(frozen=True)
class Contrasts:
    """Some axes of a margin as first minus second, the others as they are."""

    axes: int
    contrast: tuple[int, ...]

    def op_norm_sq(self) -> float:
        """What mbi sets its first step by; it cannot work it out for sums of signs itself."""
        return float(2 ** len(self.contrast))

    def __call__(self, factor: Any) -> Any:
        table = factor.datavector().reshape((2,) * self.axes)
        for place in self.contrast:
            first, second = (table.take(np.array([side]), axis=place) for side in (0, 1))
            table = first - second
        return table.ravel()


def main() -> None:
    given = np.load(sys.argv[1])
    k, total, true = int(given["k"]), float(given["total"]), given["true"]
    domain = Domain([str(i) for i in range(k)], [2] * k)
    pairs = list(itertools.combinations(range(k), 2))
    said = json.loads(str(given["said"]))
    table_sd = float(given["table_sd"])

    def fitted(measured: list[Any]) -> tuple[float, float, float]:
        began, busy = time.perf_counter(), time.process_time()
        model = estimation.MirrorDescent().estimate(domain, measured, known_total=total, iters=1000)
        found = [np.asarray(model.project((str(a), str(b))).datavector()) for a, b in pairs]
        error = float(np.abs(np.array(found) - true).mean())
        return error, time.perf_counter() - began, time.process_time() - busy

    def same(draw: int) -> list[Any]:
        return [
            LinearMeasurement(
                given[f"numbers {draw} {i}"],
                tuple(str(axis) for axis in margin),
                stddev=sd,
                query=Contrasts(len(margin), tuple(margin.index(axis) for axis in contrast)),
            )
            for i, (margin, contrast, sd) in enumerate(said)
        ]

    def tables(draw: int) -> list[Any]:
        noisy = given[f"tables {draw}"]
        return [
            LinearMeasurement(numbers, (str(a), str(b)), stddev=table_sd)
            for (a, b), numbers in zip(pairs, noisy, strict=True)
        ]

    out: dict[str, Any] = {"import": IMPORTED}
    for name, measured in (("same", same), ("tables", tables)):
        first = fitted(measured(0))
        rest = [fitted(measured(draw)) for draw in range(int(given["draws"]))]
        error, seconds, busy = (float(np.mean(column)) for column in zip(*rest, strict=True))
        out[name] = {"error": error, "seconds": seconds, "cpu": busy, "first": first[1]}
    print(json.dumps(out))


main()
