"""Recipes: a *question*, which has a canonical form and a hash, and a *layout*, which has neither.

A question is what is asked of a data set: tables over variables at levels, filters, totals,
method, law, ε. Two ways to write one question give one canonical form: order, aliases, labels
for codes, prefixes and layout do not matter. With data version and policy version the hash is
what the ledger knows an answer by (rule 4).

    rows: [region]            # variables, or levels of them; labels and prefixes are understood
    columns: [cause]
    layers: []
    where: {sex: [F]}
    totals: all               # or none
    method: noise             # default: what the policy says
    epsilon: "0.5"
"""

from ..core.names import find_axis, find_code
from ..core.question import Layout, Question, Recipe, TableSpec
from .parse import from_mapping, make
from .short_form import from_query, query_mapping
from .writing import to_mapping, to_query, to_yaml

__all__ = [
    "Layout",
    "Question",
    "Recipe",
    "TableSpec",
    "find_axis",
    "find_code",
    "from_mapping",
    "from_query",
    "make",
    "query_mapping",
    "to_mapping",
    "to_query",
    "to_yaml",
]
