"""Pure ε = 1 on 75,300 cells (251 × 15 × 10 × 2) with all totals: plan, measure, fit.

    python -m bench.bench_noise

Prints milliseconds, best and median of 30. No bar: the parts
of what `dp_table` holds to one; this one has no store.
"""

from __future__ import annotations

import json
import statistics
import time

import numpy as np

from discreet.core.control import Control
from discreet.core.description import Description, Policy
from discreet.core.domain import AxisRef, variable
from discreet.core.family import Family
from discreet.core.loss import PureLoss
from discreet.core.question import Treatment
from discreet.core.text import Text
from discreet.core.true_values import Cells, seal
from discreet.methods.base import Facts
from discreet.methods.noise.method import NoiseMethod
from discreet.recipe import Question, TableSpec

SHAPE = {"area": 251, "cause": 15, "age": 10, "sex": 2}


def run(rounds: int = 30) -> dict[str, float]:
    variables = tuple(variable(n, [str(i) for i in range(k)]) for n, k in SHAPE.items())
    description = Description("bench", Text.of("Bench"), variables)
    policy = Policy(Family.DP, "noise", budget=PureLoss(10))
    facts = Facts(description, policy, "v1", "p1")
    spec = TableSpec(tuple(AxisRef(n, n) for n in SHAPE))
    question = Question("bench", (spec,), "noise", {"epsilon": "1"})
    domain = description.domain(spec.axes)
    counts = np.random.default_rng(1).poisson(7, domain.size).astype(np.int64)
    table = seal(domain, Cells(np.arange(domain.size), counts))
    method, control = NoiseMethod(), Control()
    times: dict[str, list[float]] = {"plan": [], "measure": [], "fit": []}
    totals = []
    for _ in range(rounds + 1):
        start = time.perf_counter()
        plan = method.plan(question, Treatment(), facts)
        planned = time.perf_counter()
        measured = method.measure(plan, [table], None, control)
        drawn = time.perf_counter()
        (out,) = method.fit(plan, measured, facts, control)
        done = time.perf_counter()
        for name, value in (
            ("plan", planned - start),
            ("measure", drawn - planned),
            ("fit", done - drawn),
        ):
            times[name].append(1000 * value)
        totals.append(int(out.values[-1, -1, -1, -1]) - int(counts.sum()))
    sd = float(np.sqrt(domain.size * float(plan.detail.scheme.measured[0].law.variance)))
    result = {}
    for name, values in times.items():
        result[f"{name}_ms_best"] = round(min(values[1:]), 2)
        result[f"{name}_ms_median"] = round(statistics.median(values[1:]), 2)
    result["mean_total_error_in_sd"] = round(float(np.mean(totals)) / (sd / len(totals) ** 0.5), 2)
    return result


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
