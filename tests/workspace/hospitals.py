"""Stays in hospitals of a ragged tree: trusts that some regions do not have, and another hierarchy."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

HOSPITALS = {
    "h1": ("t1", "N", "acute"),
    "h2": ("t1", "N", "clinic"),
    "h3": ("t2", "N", "acute"),
    "h4": ("", "N", "clinic"),  # directly under a region that has trusts
    "h5": ("", "I", "acute"),  # a region without trusts
    "h6": ("", "I", "acute"),
    "h7": ("t3", "S", "clinic"),  # a chain of one
}


def page(family: str = "cell-key", **hospitals: tuple[str, str, str]) -> dict[str, Any]:
    """A description of hospitals in trusts in regions, and by kind."""
    known = {**HOSPITALS, **hospitals}
    trusts = {t: r for t, r, _ in known.values() if t}
    categories = {
        h: {"label": f"Hospital {h}", "parent": {"trust": t or r, "kind": k}}
        for h, (t, r, k) in known.items()
    }
    return {
        "dataset": "stays",
        "title": "Stays",
        "source": {"file": "../stays.csv", "header": "yes", "delimiter": ","},
        "unit": "stay",
        "family": family,
        "method": "cell-key" if family == "cell-key" else "noise",
        **({"budget": {"epsilon": "1000"}} if family == "dp" else {}),
        "methods": {"noise": {"epsilon": "100"}} if family == "dp" else {},
        "variables": {
            "place": {
                "status": "declared",
                "levels": {
                    "hospital": {"column": "hospital", "categories": categories},
                    "trust": {
                        "column": "trust",
                        "categories": {
                            t: {"label": f"Trust {t}", "parent": r}
                            for t, r in sorted(trusts.items())
                        },
                    },
                    "region": {
                        "column": "region",
                        "categories": {"N": "North", "S": "South", "I": "Isles"},
                    },
                    "kind": {
                        "of": "hospital",
                        "column": "kind",
                        "categories": {"acute": "Acute", "clinic": "Clinic"},
                    },
                },
            },
            "sex": {
                "status": "declared",
                "column": "sex",
                "categories": {"f": "Women", "m": "Men"},
            },
        },
    }


def write(folder: Path, description: dict[str, Any], records: int = 700, seed: int = 1) -> Path:
    random_ = random.Random(seed)
    places = description["variables"]["place"]["levels"]["hospital"]["categories"]
    lines = ["hospital,trust,region,kind,sex"]
    regions = {
        t: entry["parent"]
        for t, entry in description["variables"]["place"]["levels"]["trust"]["categories"].items()
    }
    for _ in range(records):
        h = random_.choice(list(places))
        trust, kind = places[h]["parent"]["trust"], places[h]["parent"]["kind"]
        region = regions.get(trust, trust)
        lines.append(
            f"{h},{trust if trust in regions else ''},{region},{kind},{random_.choice('fm')}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    (folder.parent / "stays.csv").write_text("\n".join(lines) + "\n")
    (folder / "discreet.yaml").write_text(yaml.safe_dump(description, sort_keys=False))
    return folder


def brute(folder: Path) -> dict[str, Counter[str]]:
    """Counts by level from the file itself."""
    head, *rows = (folder.parent / "stays.csv").read_text().split()
    found: dict[str, Counter[str]] = {name: Counter() for name in head.split(",")}
    for row in rows:
        cells = dict(zip(head.split(","), row.split(","), strict=True))
        cells["trust"] = cells["trust"] or cells["region"]
        for name, code in cells.items():
            found[name][code] += 1
    return found


def brute_pairs(folder: Path, *names: str) -> Counter[tuple[str, ...]]:
    """Counts of combinations from the file itself, with totals."""
    head, *rows = (folder.parent / "stays.csv").read_text().split()
    found: Counter[tuple[str, ...]] = Counter()
    for row in rows:
        cells = dict(zip(head.split(","), row.split(","), strict=True))
        cells["trust"] = cells["trust"] or cells["region"]
        found.update(itertools.product(*((cells[name], "_T") for name in names)))
    return found
