"""The demo genes: hair × eye colour, and whether a person carries a gene that is nobody's business.

After the example of nabar §6: the number of people in each cell is public, carrying the gene is
private, and it depends on hair colour (blonde 0.5, black 0.4, brown 0.3). Synthetic.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ..workspace.draft import CategoryDraft, Draft, LevelDraft, VariableDraft
from .draws import Draws

SEED = 20_080_701

HAIR = (("blonde", "Blonde"), ("brown", "Brown"), ("black", "Black"))
EYES = (("blue", "Blue"), ("brown", "Brown"), ("green", "Green"))
GENE = (("no", "Does not carry the gene"), ("yes", "Carries the gene"))
PEOPLE = ((160, 120, 90), (110, 200, 140), (80, 100, 130))
"""How many people each cell holds, hair by eye colour: public."""

_CARRIERS = ((50, 50), (70, 30), (60, 40))

COLUMNS = ("person", "hair", "eyes", "gene")


def table() -> Any:
    """The records as an Arrow table."""
    pa: Any = importlib.import_module("pyarrow")

    people = np.array(PEOPLE, dtype=np.int64)
    hair = np.repeat(np.arange(3), people.sum(axis=1))
    eyes = np.concatenate([np.repeat(np.arange(3), row) for row in people])
    draws = Draws(SEED)
    gene = draws.choose(hair, _CARRIERS)
    order = draws.order(len(hair))
    made = {"person": pa.array(np.arange(len(hair), dtype=np.int64) + 1)}
    for name, places, words in (("hair", hair, HAIR), ("eyes", eyes, EYES), ("gene", gene, GENE)):
        made[name] = pa.DictionaryArray.from_arrays(
            pa.array(places[order].astype(np.int8)), pa.array([code for code, _ in words])
        )
    return pa.table(made)


def labels() -> dict[str, dict[str, str]]:
    """The label of every code, level by level."""
    return {"hair": dict(HAIR), "eyes": dict(EYES), "gene": dict(GENE)}


def draft(name: str, source: dict[str, str]) -> Draft:
    """The description as shipped."""
    people = np.array(PEOPLE)
    variables = []
    for variable, label, words, sums in (
        ("hair", "Hair colour", HAIR, people.sum(axis=1)),
        ("eyes", "Eye colour", EYES, people.sum(axis=0)),
    ):
        categories = [
            CategoryDraft(code, text, population=int(n))
            for (code, text), n in zip(words, sums, strict=True)
        ]
        variables.append(
            VariableDraft(
                variable, [LevelDraft(variable, variable, categories)], label, declared=True
            )
        )
    variables.append(
        VariableDraft(
            "gene",
            [LevelDraft("gene", "gene", [CategoryDraft(*one) for one in GENE])],
            "Carries the gene",
            declared=True,
            role="private",
        )
    )
    return Draft(
        dataset=name,
        title="Synthetic hair, eyes and a gene",
        source=source,
        variables=variables,
        synthetic=True,
        population="Invented people",
        licence="CC0-1.0",
        attribution="Synthetic, after the example of Nabar and Mishra",
        notes=["Synthetic data: no real person is in it."],
        records=int(people.sum()),
        id="person",
        family="suppression",
        method="suppression",
    )
