"""Recipes read and written: a *question*, a *treatment* and a *layout* (`core.question`).

Two ways to write one question give one canonical form: order, aliases, labels for codes, prefixes,
spellings and defaults do not matter (rule 4).

    rows: [region]            # variables, or levels of them; labels and prefixes are understood
    columns: [cause]
    layers: []
    where: {sex: [F]}
    totals: all               # or none
    method: noise             # default: what the policy says
    epsilon: "0.5"
"""

from ..core.names import find_axis
from ..core.question import Layout, Question, Recipe, TableSpec
from .parse import from_mapping
from .short_form import from_query, query_mapping
from .writing import query_of, to_mapping, to_query, to_yaml

__all__ = [
    "Layout", "Question", "Recipe", "TableSpec", "find_axis", "from_mapping", "from_query",
    "query_mapping", "query_of", "to_mapping", "to_query", "to_yaml",
]  # fmt: skip
