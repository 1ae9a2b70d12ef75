"""ons §4 method 1: the tables of the pilot and their budget, on the synthetic deaths of the demo."""

from __future__ import annotations

import discreet as dc

from .bench import Bench, Section, compare, differs

CATEGORIES = {
    "region": "13",
    "ccg": "251",
    "sex": "2",
    "age": "10",
    "marital": "6",
    "month": "12",
    "cause": "15",
}
TABLE_8 = (
    *(965, 28075, 71299, 51692, 45015, 54562, 56406),
    *(50541, 81052, 56667, 13, 170, 33198),
)


def section(bench: Bench) -> Section:
    """Tables 4 and 5, and the even split of a budget of ε = 10."""
    folder, recipe = bench.demo / "deaths-dp", bench.demo / "recipes" / "pilot.yaml"
    words = ("release", str(folder), str(recipe), "-o", str(bench.scratch / "pilot"), "--dry-run")
    said = "discreet release demo/deaths-dp demo/recipes/pilot.yaml --dry-run -o out"
    seen = bench.run(*words, said=said)
    wanted = next(plan for plan in seen["plans"] if plan["name"] == "wanted")
    shares = set(wanted["shares"].values())
    with dc.open(folder) as deaths:
        found = {name: len(deaths.categories(name)) for name in CATEGORIES}
    figures = [
        compare("Table 4: frequency tables", "14", len(seen["errors"])),
        *(
            compare(f"Table 5: categories of {name}", printed, found[name])
            for name, printed in CATEGORIES.items()
        ),
        compare("§1: share of the budget of each of 14 tables", "1/14", " ".join(sorted(shares))),
        differs(
            "Table 8: deaths",
            "about 541,000",
            f"{sum(TABLE_8):,}",
            "what the printed regions add up to; the demo has as many",
        ),
    ]
    return Section("ons", "§4 method 1: the pilot", tuple(figures), bench.commands())
