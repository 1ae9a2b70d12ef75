"""A data set on disk whose private attribute is counted by suppression: people by eyes and hair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from discreet.workspace import load

EYES, HAIR = ("blue", "black", "brown"), ("blonde", "black", "brown")
POPULATIONS = (200, 80, 100, 80, 200, 100, 100, 100, 200)
"""nabar, Figure 3, with the ninth that fits its print best."""
PRIOR = {"blonde": "0.5", "black": "0.4", "brown": "0.3"}


def records(seed: int = 0, populations: tuple[int, ...] = POPULATIONS) -> list[str]:
    """Lines of a CSV: everybody's eyes, hair, half of the town and gene."""
    random = np.random.default_rng(seed)
    lines, people = ["id,eyes,hair,half,gene"], 0
    for cell, many in enumerate(populations):
        eyes, hair = EYES[cell // 3], HAIR[cell % 3]
        for k in range(many):
            gene = "yes" if random.random() < float(PRIOR[hair]) else "no"
            lines.append(f"{people},{eyes},{hair},{'ns'[k % 2]},{gene}")
            people += 1
    return lines


def public(populations: tuple[int, ...] = POPULATIONS) -> str:
    """The public populations."""
    lines = ["eyes,hair,half,population"]
    for cell, many in enumerate(populations):
        for half, of_half in (("n", (many + 1) // 2), ("s", many // 2)):
            lines.append(f"{EYES[cell // 3]},{HAIR[cell % 3]},{half},{of_half}")
    return "\n".join(lines) + "\n"


def described(**suppression: Any) -> dict[str, Any]:
    """discreet.yaml as plain values; `suppression` changes its method's parameters."""
    parameters = {
        "epsilon": "0.5",
        "delta": "0.2",
        "populations": {"file": "populations.csv", "source": "a census"},
        "attributes": {
            "gene": {
                "counts": ["yes"],
                "prior": {"file": "prior.csv", "source": "a textbook"},
            }
        },
    }
    plain = {"status": "declared"}
    return {
        "dataset": "people",
        "title": "People",
        "unit": "person",
        "id": "id",
        "source": {"file": "../people.csv"},
        "family": "suppression",
        "methods": {"suppression": {**parameters, **suppression}},
        "variables": {
            "eyes": {**plain, "column": "eyes", "categories": {e: e for e in EYES}},
            "hair": {
                **plain,
                "levels": {
                    "hair": {
                        "column": "hair",
                        "categories": {
                            h: {"label": h, "parent": "light" if h == "blonde" else "dark"}
                            for h in HAIR
                        },
                    },
                    "tone": {"categories": {"light": "light", "dark": "dark"}},
                },
            },
            "half": {**plain, "column": "half", "categories": {"n": "North", "s": "South"}},
            "gene": {
                **plain,
                "role": "private",
                "column": "gene",
                "categories": {"no": "no", "yes": "yes"},
            },
        },
    }


def make(into: Path, lines: list[str] | None = None, **suppression: Any) -> Path:
    """A loaded data set in the folder `into`."""
    folder = into / "people"
    folder.mkdir(parents=True, exist_ok=True)
    (into / "people.csv").write_text("\n".join(lines or records()) + "\n")
    (folder / "populations.csv").write_text(public())
    rows = "".join(f"{hair},{p}\n" for hair, p in PRIOR.items())
    (folder / "prior.csv").write_text("hair,p\n" + rows)
    write(folder, **suppression)
    load(folder)
    return folder


def make_towns(into: Path, towns: int, times: int = 3, **suppression: Any) -> Path:
    """The same people `times` over in each of so many towns, which are other people each."""
    codes = [f"t{k}" for k in range(towns)]
    random = np.random.default_rng(towns)
    lines, public_lines = ["id,eyes,hair,half,gene"], ["eyes,hair,half,population"]
    for town in codes:
        for cell, many in enumerate(POPULATIONS):
            eyes, hair = EYES[cell // 3], HAIR[cell % 3]
            public_lines.append(f"{eyes},{hair},{town},{times * many}")
            for gene in random.random(times * many) < float(PRIOR[hair]):
                lines.append(f"{len(lines)},{eyes},{hair},{town},{'yes' if gene else 'no'}")
    folder = into / "people"
    folder.mkdir(parents=True)
    (into / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "populations.csv").write_text("\n".join(public_lines) + "\n")
    rows = "".join(f"{hair},{p}\n" for hair, p in PRIOR.items())
    (folder / "prior.csv").write_text("hair,p\n" + rows)
    said = described(**suppression)
    said["variables"]["half"]["categories"] = {town: town for town in codes}
    (folder / "discreet.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    load(folder)
    return folder


def write(folder: Path, **suppression: Any) -> None:
    """Write discreet.yaml with these parameters of the method."""
    text = yaml.safe_dump(described(**suppression), sort_keys=False)
    (folder / "discreet.yaml").write_text(text)
