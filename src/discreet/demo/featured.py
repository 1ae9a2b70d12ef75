"""The tables the demo shows first, and the words above them.

Noise is drawn afresh in every demo, so a headline says only what no noise can change: differences
many times as large as what the law of its table can move.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Shown = tuple[str, str, Mapping[str, Any]]

KEYED: list[Shown] = [
    (
        "What people die of changes with age",
        "Between 15 and 24 about two deaths in three have an external cause; between 55 and 64 nearly "
        "half are cancers.",
        {"rows": ["cause"], "columns": ["age"], "percent": "columns", "decimals": "0"},
    ),
    (
        "Winter is hard on the lungs",
        "December has more than one and a half times as many deaths from diseases of the respiratory "
        "system as August.",
        {"rows": ["month"], "where": {"cause": ["J00-J99"]}},
    ),
    (
        "Most widowed people who die are women",
        "About seven in ten are, while about two in three of the married are men.",
        {"rows": ["marital"], "columns": ["sex"], "percent": "rows", "decimals": "0"},
    ),
    (
        "The South East has most deaths, London far from it",
        "It has over half as many again as London.",
        {"rows": ["region"], "sort": "total,down"},
    ),
]

PRIVATE: list[Shown] = [
    (
        "External causes take twice as many men as women",
        "Between 15 and 44 it is nearly three to one.",
        {
            "rows": ["age"],
            "columns": ["sex"],
            "where": {"cause": ["V01-Y98"]},
            "epsilon": "0.5",
        },
    ),
    (
        "After 85 the heart comes first",
        "Nearly three deaths in ten are of the circulatory system; at 65 to 74 cancers lead.",
        {
            "rows": ["cause"],
            "columns": ["age"],
            "percent": "columns",
            "decimals": "0",
            "method": "marginals",
            "epsilon": "1",
        },
    ),
    (
        "Regions whose areas add up",
        "Every region is the sum of its areas, and the South East leads in every month.",
        {"rows": ["region"], "columns": ["month"], "method": "topdown", "epsilon": "1"},
    ),
]
