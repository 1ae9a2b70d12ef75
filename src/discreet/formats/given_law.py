"""A law given beside a table that does not carry one: what `--law FILE` may be.

Another file of the same table; a law as discreet writes it; or a few words of JSON:
{"name": "laplace", "parameters": {"epsilon": "0.5", "max_perturbation": 7}, "negatives": "clip"}.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core import law_builders, law_kinds
from ..core.cell_law import FORM, CellLaw, MarginLaw, Source, axis_names
from ..core.exact import exact
from ..core.gaussian import DiscreteGaussian
from ..core.noise_law import AnyLaw
from ..core.table import ProtectedTable
from ..errors import InputError, LawError, did_you_mean
from .law_files import read_laws

_PARAMETERS = {
    "laplace": ("epsilon", "max_perturbation", "sensitivity", "key_bits"),
    "normal": ("epsilon", "max_perturbation", "key_bits"),
    "gaussian": ("sigma2",),
    "max-entropy": ("variance", "max_perturbation", "key_bits"),
}
_NAMES = tuple(_PARAMETERS)
_TREATMENT = ("negatives", "threshold", "hidden_below", "display_floor")


def read_given_law(path: str | Path, table: ProtectedTable) -> CellLaw:
    """The law in a file, for the cells of this table; its totals stay without one."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {file}.")
    if file.suffix.lower() != ".json":
        return _of_table(file)
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise LawError(f"{file.name} is not JSON, so no law can be read from it.") from None
    if not isinstance(data, dict):
        raise LawError(f"{file.name} must hold one JSON object that says a law.")
    if data.get("form") == FORM:
        return CellLaw.from_json(data)
    if "extension" in data or data.get("class") == "collection":
        return _of_table(file)
    law = law_kinds.read(data) if "kind" in data else _by_name(data)
    return for_cells(law, table, data)


def for_cells(
    law: AnyLaw, table: ProtectedTable, treatment: Mapping[str, Any] | None = None
) -> CellLaw:
    """One draw of a law in every cell of a table, and what was done afterwards."""
    given = treatment or {}
    for name in given:
        if name not in _TREATMENT and (meant := did_you_mean(name, _TREATMENT)):
            raise LawError(
                f"A law is given with {', '.join(_TREATMENT)}; got {name[:40]!r}.{meant}"
            )
    said = {name: value for name, value in given.items() if name in _TREATMENT}
    negatives = said.setdefault("negatives", "threshold" if said.get("threshold") else "keep")
    if negatives not in ("keep", "clip", "threshold"):
        raise LawError(f"negatives must be keep, clip or threshold, got {str(negatives)[:40]!r}.")
    for name in _TREATMENT[1:]:
        value = said.get(name)
        if isinstance(value, bool) or not isinstance(value, int | None) or (value or 0) < 0:
            raise LawError(
                f"{name} must be a whole number that is not below 0, got {str(value)[:40]!r}."
            )
    if bool(said.get("threshold")) != (negatives == "threshold"):
        raise LawError(
            "A threshold goes with negatives: threshold, and with no other; give both, or the "
            "threshold alone."
        )
    return CellLaw(
        (Source("given", law),), (MarginLaw(axis_names(table.domain), 0),), shared="keys", **said
    )


def _of_table(file: Path) -> CellLaw:
    laws = read_laws(file)
    if len({law.digest for law in laws}) != 1:
        raise LawError(
            f"{file.name} holds {len(laws)} tables with different laws; give one of them."
        )
    return laws[0]


def _by_name(data: Mapping[str, Any]) -> AnyLaw:
    name = str(data.get("name", data.get("law", "")))
    parameters = data.get("parameters", {})
    if name not in _NAMES or not isinstance(parameters, Mapping):
        raise LawError(
            f"A law is given by its name, one of {', '.join(_NAMES)}, and its parameters; got "
            f"{name[:40]!r}.{did_you_mean(name, _NAMES)}"
        )
    known = _PARAMETERS[name]
    beside = ("name", "law", "parameters", "digest", *_TREATMENT)
    given = parameters if "parameters" in data else [one for one in data if one not in beside]
    for one in given:
        if one not in known:
            raise LawError(
                f"The law {name} is given with {', '.join(known)}; got {str(one)[:40]!r}."
                f"{did_you_mean(str(one), known)}"
            )
    try:
        law = _built(name, {one: data[one] for one in known if one in data} | dict(parameters))
    except (KeyError, TypeError, ValueError) as problem:
        raise LawError(f"The law {name} lacks or cannot use a parameter: {problem}.") from None
    if data.get("digest", law.digest) != law.digest:
        raise LawError("The law in this file is not the one of its digest.")
    return law


def _built(name: str, parameters: Mapping[str, Any]) -> AnyLaw:
    most = parameters.get("max_perturbation")
    if most is None and name in ("normal", "max-entropy"):
        raise LawError(f"The law {name} needs max_perturbation, its largest perturbation.")
    for one in ("max_perturbation", "sensitivity", "key_bits"):
        if (said := parameters.get(one)) is not None and not str(said).isdecimal():
            raise LawError(f"{one} must be a whole number above 0, got {str(said)[:40]!r}.")
    bits = int(parameters.get("key_bits") or 64)
    if name == "gaussian":
        return DiscreteGaussian.of(exact(str(parameters["sigma2"]), "sigma2"))
    if name == "max-entropy":
        return law_builders.max_entropy(int(most), str(parameters["variance"]), key_bits=bits)  # type: ignore[arg-type]
    epsilon = str(parameters["epsilon"])
    if name == "normal":
        return law_builders.normal(epsilon, int(most), key_bits=bits)  # type: ignore[arg-type]
    sensitivity = int(parameters.get("sensitivity") or 1)
    if most is None:
        return law_builders.laplace(epsilon, sensitivity=sensitivity)
    return law_builders.laplace(epsilon, int(most), sensitivity=sensitivity, key_bits=bits)
