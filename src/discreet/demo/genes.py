"""The demo genes: 4,352 invented people by town, eyes and hair, and who of them has a gene.

Each of two towns holds the people of nabar's Figure 3 (blue, black and brown eyes; blonde, black and
brown hair) under the figure's prior (half of the blonde, 40 % of the black-haired, 30 % of the
brown-haired), and besides people with red hair, of whom 20 % are thought to have the gene, and with green
eyes. In Northby few of the green-eyed have brown or red hair. Their two counts, once everything around
them is out, would tell too much with a chance of 0.24: more than δ, so they stay stars, and so do two
counts that would give them away. In Southby there are more of them and every count is exact. What one
town spends of δ changes no star of the other; both together are refused once one is out.
"""

from __future__ import annotations

import random
from pathlib import Path

from ..core.control import Control
from ..durable import make_folder, replace_text
from ..file_names import DESCRIPTION
from ..workspace import loading, versions
from ..workspace.dataset import DataSet

NAME = "genes"
SEED = 20_100_410
"""Most seeds leave stars in Northby; this one leaves four, the fewest that totals leave open."""
TOWNS = (("north", "Northby"), ("south", "Southby"))
EYES = ("blue", "black", "brown", "green")
HAIR = (("blonde", "0.5"), ("black", "0.4"), ("brown", "0.3"), ("red", "0.2"))
_BOTH = ((200, 80, 100, 200), (80, 200, 100, 200), (100, 100, 200, 200))
POPULATIONS = {"north": (*_BOTH, (80, 60, 24, 28)), "south": (*_BOTH, (120, 120, 200, 200))}
"""By town, eyes and hair; the ninth of the figure, which the paper does not print, fits its table best."""

_TEXT = """\
dataset: genes
title: Synthetic people with a gene
synthetic: yes
population: invented people of two towns
unit: person
id: id
source:
  file: source/records.csv
notes:
  - Synthetic data, no real person.

# Suppression: a count is exact or a star, and that it is a star tells nothing (docs/concepts/suppression.md).
family: suppression
methods:
  suppression:
    epsilon: "0.5"
    delta: "0.2"
    populations:
      file: populations.csv
      source: an invented census
    attributes:
      gene:
        counts: ["yes"]
        prior:
          file: prior.csv
          source: an invented textbook

variables:
  town:
    label: Town
    status: declared
    column: town
    categories: {north: Northby, south: Southby}
  eyes:
    label: Eyes
    status: declared
    column: eyes
    categories: {blue: Blue, black: Black, brown: Brown, green: Green}
  hair:
    label: Hair
    status: declared
    column: hair
    categories: {blonde: Blonde, black: Black, brown: Brown, red: Red}
  gene:
    label: Gene
    status: declared
    role: private
    column: gene
    categories: {"no": does not have it, "yes": has it}

featured:
  - title: An exact count, or a star
    says: >-
      Four of these sixteen counts are withheld, all others are exact. Which four was decided without
      looking at them, so a star tells nothing about anybody.
    recipe: {rows: [eyes], columns: [hair], where: {town: [north]}}
"""


def records() -> str:
    """The people as CSV, the same on every machine."""
    draws = random.Random(SEED)
    lines = ["id,town,eyes,hair,gene"]
    for town, _ in TOWNS:
        for eyes, row in zip(EYES, POPULATIONS[town], strict=True):
            for (hair, p), many in zip(HAIR, row, strict=True):
                for _ in range(many):
                    gene = "yes" if draws.random() < float(p) else "no"
                    lines.append(f"{len(lines)},{town},{eyes},{hair},{gene}")
    return "\n".join(lines) + "\n"


def populations() -> str:
    """The public populations."""
    lines = ["town,eyes,hair,population"]
    for town, _ in TOWNS:
        for eyes, row in zip(EYES, POPULATIONS[town], strict=True):
            lines += [f"{town},{eyes},{hair},{n}" for (hair, _), n in zip(HAIR, row, strict=True)]
    return "\n".join(lines) + "\n"


def make(folder: Path, control: Control) -> None:
    """Make the data set; one that is there and whole is kept as it is."""
    if (folder / DESCRIPTION).is_file() and versions.current(folder) is not None:
        DataSet.open(folder).close()
        control.step(1.0, "made before")
        return
    make_folder(folder / "source")
    replace_text(folder / "source" / "records.csv", records())
    replace_text(folder / "populations.csv", populations())
    replace_text(folder / "prior.csv", "hair,p\n" + "".join(f"{h},{p}\n" for h, p in HAIR))
    replace_text(folder / DESCRIPTION, _TEXT)
    loading.load(folder, control)
