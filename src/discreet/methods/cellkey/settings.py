"""The parameters a policy gives the cell-key method, read and checked.

`declaration.py` lists them. The law is one of three: a designed p-table (max_perturbation and
variance, if wanted blocked_below, p_stay, monotone, exact_variance), one law for every count from
epsilon and delta (by sadeghi III-D or the smallest), or a p-table file, by its text or its path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from ...core.design import design as design_law
from ...core.exact import exact
from ...core.law import check_key_bits
from ...errors import LawError, Refusal, did_you_mean
from ...languages import say
from ..declaration import Part, one_of, yes_or_no
from .declaration import DECLARATION, KEYS, LAW_IS
from .design import design
from .dialects import check_dialect, read
from .keys import BIG_N, Classical, classical
from .ptable import PTable, check_choice
from .risk import SAMENESS, Prior

DEFAULT_MAX_PERTURBATION, DEFAULT_VARIANCE = "5", "2"

_DESIGN = ("max_perturbation", "variance", "blocked_below", "p_stay", "monotone", "exact_variance")
_LAW = ("epsilon", "delta", "rule", "negatives")
_FILE = ("ptable", "dialect")


@dataclass(frozen=True)
class Settings:
    """A checked policy: the p-table that is looked up, how keys are made, what is shown."""

    table: PTable = field(repr=False)
    scheme: Classical | None
    """None for strong keys."""
    sameness: str = SAMENESS[0]
    prior: Prior = field(default_factory=Prior)
    epsilon: Fraction | None = None
    """What one law for every count was asked to keep; None for designed and read tables."""
    notes: tuple[str, ...] = ()
    law_is_public: bool = True
    """Whether the rows of the p-table travel with tables; risks always assume that they do."""

    @cached_property
    def law_version(self) -> str:
        """What the noise of a cell depends on besides keys: another version answers cells anew."""
        scheme = "strong" if self.scheme is None else repr(self.scheme)
        form = json.dumps([self.table.digest, scheme, self.sameness])
        return hashlib.sha256(form.encode()).hexdigest()


@dataclass(frozen=True)
class Treatment:
    """What is shown of the perturbed values; a function of them alone, so it changes at will."""

    threshold: int | None = None
    display_floor: int | None = None
    additive: bool = False

    @classmethod
    def of(cls, policy: Mapping[str, Any], asked: Mapping[str, str]) -> Treatment:
        """As asked, or as the policy says, whose limits can be raised and not lowered."""
        known = DECLARATION.by_name
        written = {
            name: known[name].read(value, name, LawError)
            for name, value in policy.items()
            if name in known and known[name].part is Part.TREATED and value is not None
        }
        names = ("threshold", "display_floor")
        # two limits below the policy's own would tell apart what it hides, one limit after another
        least = max((int(written[name]) for name in names if name in written), default=0)
        for name in names:
            if name in asked and int(asked[name]) < least:
                raise Refusal(
                    say(
                        "The policy hides counts below {least}: {name} can be raised and not lowered, "
                        "got {asked}.",
                        least=least,
                        name=name,
                        asked=asked[name],
                    ),
                    rule="treatment",
                    alternatives=(
                        say(
                            "Ask with {name} {least} or more, or leave it out.",
                            name=name,
                            least=least,
                        ),
                    ),
                )
        said = {**written, **asked}
        limits = {n: int(said[n]) for n in ("threshold", "display_floor") if n in said}
        return cls(additive=said.get("additive") == "yes", **limits)

    @property
    def canonical(self) -> dict[str, str]:
        """In canonical text, defaults filled in."""
        limits = {"threshold": self.threshold, "display_floor": self.display_floor}
        return {name: str(limit or "none") for name, limit in limits.items()} | {
            "additive": "yes" if self.additive else "no"
        }

    @property
    def hides(self) -> bool:
        """Whether it hides any value."""
        return self.threshold is not None or self.display_floor is not None


def read_settings(parameters: Mapping[str, Any]) -> Settings:
    """The settings of a policy, or one sentence that says what is wrong."""
    known = tuple(DECLARATION.by_name)
    for name in parameters:
        if name not in known:
            raise LawError(
                f"cell-key has no parameter {name}.{did_you_mean(str(name), known)} "
                f"Allowed are {', '.join(known)}."
            )
    Treatment.of(parameters, {})
    given = {name: value for name, value in parameters.items() if value is not None}
    _check_one_law(given)
    scheme_name = str(given.get("keys", "strong"))
    if scheme_name not in KEYS:
        classical(scheme_name)  # refuses with the names that are known
    bits = _key_bits(given, scheme_name)
    scheme = (
        None
        if scheme_name == "strong"
        else classical(scheme_name, key_bits=bits, big_n=given.get("big_n", BIG_N))
    )
    keys = 1 << bits if scheme is None else scheme.keys
    table, epsilon = _table(given, keys)
    notes: list[str] = []
    if scheme is None and table.key_bits is None:
        table = table.requantised(1 << 64, "cumulative")
        notes.append(
            say(
                "The fractions of the p-table were cut into 2^64 keys; every figure is of that "
                "table."
            )
        )
    if scheme is not None and table.keys != scheme.keys:
        raise LawError(
            f"The p-table has {table.keys} keys and the data set's keys are {scheme.name}, "
            f"{scheme.keys} of them. Use a p-table of {scheme.keys} keys, or strong keys."
        )
    table = _with_zeros(table, given)
    return Settings(
        table=table,
        scheme=scheme,
        sameness=check_choice(str(given.get("sameness", SAMENESS[0])), "sameness", SAMENESS),
        prior=_prior(str(given.get("prior", "flat"))),
        epsilon=epsilon,
        notes=tuple(notes),
        law_is_public=one_of(*LAW_IS)(given.get("law", "public"), "law", LawError) == "public",
    )


def _check_one_law(given: Mapping[str, Any]) -> None:
    kinds = {
        "a designed p-table": [name for name in _DESIGN if name in given],
        "a law from epsilon and delta": [name for name in _LAW if name in given],
        "a p-table file": [name for name in _FILE if name in given],
    }
    said = {kind: names for kind, names in kinds.items() if names}
    if len(said) > 1:
        (one, first), (other, second) = list(said.items())[:2]
        raise LawError(
            f"cell-key takes {one} or {other}, got {first[0]} and {second[0]}. Keep one of them."
        )
    for needed, names in (
        (("max_perturbation", "variance"), kinds["a designed p-table"]),
        (("epsilon", "delta"), kinds["a law from epsilon and delta"]),
        (("ptable",), kinds["a p-table file"]),
    ):
        missing = [name for name in needed if names and name not in given]
        if missing:
            raise LawError(f"cell-key with {names[0]} also needs {missing[0]}.")


def _key_bits(given: Mapping[str, Any], scheme: str) -> int:
    if "key_bits" not in given:
        return 32 if scheme == "sadeghi" else 64
    if scheme not in ("strong", "sadeghi"):
        raise LawError(f"key_bits is not for keys {scheme}, whose number of keys is fixed.")
    number = exact(given["key_bits"], "key_bits", error=LawError)
    return check_key_bits(int(number) if number.denominator == 1 else given["key_bits"])


def _table(given: Mapping[str, Any], keys: int) -> tuple[PTable, Fraction | None]:
    if "ptable" in given:
        source = given["ptable"]
        if isinstance(source, PTable):
            return source, None
        dialect = given.get("dialect")
        return read(_text(str(source)), None if dialect is None else check_dialect(dialect)), None
    if "epsilon" in given:
        law_bits = keys.bit_length() - 1
        if 1 << law_bits != keys:
            raise LawError(
                f"A law from epsilon and delta needs a power of two of keys, got {keys}. "
                "Use strong or sadeghi keys."
            )
        # without a rule the paper's, by which tables were published before there was another
        rule = str(given.get("rule", "sadeghi"))
        law = design_law(given["epsilon"], given["delta"], rule=rule, key_bits=law_bits).law
        zeros = check_choice(str(given.get("zeros", "perturbed")), "zeros", ("perturbed", "kept"))
        negatives = str(given.get("negatives", "allowed"))
        table = PTable.from_law(law, zeros=zeros, negatives=negatives)
        return table, exact(given["epsilon"], "epsilon", above=0, error=LawError)
    return (
        design(
            given.get("max_perturbation", DEFAULT_MAX_PERTURBATION),
            given.get("variance", DEFAULT_VARIANCE),
            given.get("blocked_below", 0),
            given.get("p_stay"),
            yes_or_no(given.get("monotone", "yes"), "monotone", LawError) == "yes",
            yes_or_no(given.get("exact_variance", "no"), "exact_variance", LawError) == "yes",
            keys=keys,
        ),
        None,
    )


def _with_zeros(table: PTable, given: Mapping[str, Any]) -> PTable:
    """Hold what the policy says about zeros against what the table does with them."""
    if "zeros" not in given:
        return table
    zeros = check_choice(str(given["zeros"]), "zeros", ("perturbed", "kept"))
    if zeros == "perturbed" and table.zeros_kept:
        raise LawError(
            "zeros: perturbed needs a law for empty cells, and this p-table leaves them at 0: a "
            "mean of 0 without negative results allows nothing else. Use epsilon and delta, a "
            "p-table with a row for 0, or zeros: kept."
        )
    if zeros == "kept" and not table.zeros_kept:
        return table.keeping_zeros()
    return table


def _text(source: str) -> str:
    if "\n" in source:
        return source
    try:
        return Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        why = "is not text" if isinstance(problem, UnicodeDecodeError) else "cannot be read"
        raise LawError(
            f"The p-table file {source[-60:]} {why}. Give the path of a p-table file."
        ) from None


def file_mark(source: object) -> tuple[int, int] | None:
    """What changes when a p-table file does: time and size; None where there is no file."""
    if not isinstance(source, str) or "\n" in source:
        return None
    try:
        found = Path(source).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _prior(text: str) -> Prior:
    words = text.split()
    if words == ["flat"]:
        return Prior()
    if len(words) == 2 and words[0] == "geometric":
        return Prior(exact(words[1], "prior", above=0, below=1, error=LawError))
    raise LawError(f"prior must be flat or geometric with a ratio such as 0.8, got {text[:40]}.")
