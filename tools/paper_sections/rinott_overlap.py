"""rinott §7: standard deviations of overlapping tables, from a plan that spends nothing."""

from __future__ import annotations

from itertools import combinations

from .bench import Bench, Section, Verdict, compare, differs

NAMES = "abcd"


def section(bench: Bench) -> Section:
    """Six 2-way margins of four variables with ten categories each, ε = 1."""
    rows = [",".join(NAMES), *(",".join(f"{n}{i}" for n in NAMES) for i in range(10))]
    folder = bench.folder("four-way", rows)
    recipe = bench.scratch / "six.yaml"
    tables = "".join(
        f"  - {{rows: [{a}], columns: [{b}], totals: none}}\n" for a, b in combinations(NAMES, 2)
    )
    recipe.write_text(f'epsilon: "1"\ntables:\n{tables}', encoding="utf-8")
    words = ("release", str(folder), str(recipe), "-o", str(bench.scratch / "out"), "--dry-run")
    said = "discreet release four-way six.yaml --dry-run -o out"
    plans = {plan["name"]: plan for plan in bench.run(*words, said=said)["plans"]}

    def sd(name: str) -> float:
        return max(plans[name]["sd_continuous"].values())

    why = "d = 15 without the total; here the total is private, so it is measured too: d = 16"
    figures = (
        compare("SD from the interior", "14", sd("interior")),
        compare("SD measuring the six margins (d = 6)", "8.5", sd("wanted")),
        compare("d of the six margins", "6", plans["wanted"]["d"]),
        differs(
            "SD measuring everything (d = 15)",
            "21",
            f"{sd('everything'):.1f}",
            why,
            Verdict.DESIGN,
        ),
        compare("the best of the three", "wanted", _best(plans)),
    )
    return Section("rinott", "§7: overlapping cells", figures, bench.commands())


def _best(plans: dict[str, dict[str, object]]) -> str:
    return next(name for name, plan in plans.items() if plan["recommended"])
