"""Rules on protected values, judged after the fit: what is marked, and what is too sparse.

They see published numbers and nothing else, so they tell nothing about anybody that the numbers do
not. What was charged for a table stays charged whatever is decided here.

    reliable: {noise_sd_over_count: 1/4}
    rules:
      sparse: {least_mean: 5, small: 3, most_small: "60%", then: withhold}     # or then: warn
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from .core.description import Policy
from .core.exact import exact, plain, shown
from .core.table import ProtectedTable, Status
from .errors import DescriptionError, Refusal
from .languages import number, say, together

RELIABLE_KEYS = ("noise_sd_over_count",)
DEFAULT_RELIABLE = Fraction(1, 4)
SPARSE = "sparse"
SPARSE_KEYS = ("least_mean", "small", "most_small", "then")
_THEN = ("withhold", "warn")


def reliable_limit(policy: Policy) -> Fraction:
    """Above which noise sd ÷ released count a cell is marked unreliable (policy; default 1/4)."""
    value = policy.reliable.get("noise_sd_over_count")
    if value is None:
        return DEFAULT_RELIABLE
    return exact(value, "reliable.noise_sd_over_count", above=0, error=DescriptionError)


def mark(table: ProtectedTable, policy: Policy) -> ProtectedTable:
    """*Unreliable* where the noise is large beside the number.

    A cell with a number is marked where its noise sd exceeds the limit times its value, a value
    below ½ counting as ½: a count cannot be smaller than that without being 0. A negative number is
    as far off as a zero at least. Other statuses stay as the method set them.
    """
    if table.noise is None:
        return table
    sd = np.broadcast_to(table.noise.sd, table.shape)
    loud = sd > float(reliable_limit(policy)) * np.maximum(table.values, 0.5)
    loud &= table.status == Status.OK
    if not loud.any():
        return table
    return replace(table, status=np.where(loud, np.uint8(Status.UNRELIABLE), table.status))


# -- sparse tables --------------------------------------------------------------------------


@dataclass(frozen=True)
class Sparseness:
    """When a table is too sparse, and what happens then.

    Its cells are those that can exist, totals left out; one that is not shown counts as 0.
    """

    least_mean: Fraction | None = None
    small: int | None = None
    most_small: Fraction | None = None
    then: str = "withhold"

    @classmethod
    def read(cls, value: Any) -> Sparseness:
        """What a policy writes; bad values get one sentence."""
        if not isinstance(value, Mapping) or not set(value) <= set(SPARSE_KEYS):
            raise DescriptionError(
                f"rules.sparse has the keys {', '.join(SPARSE_KEYS)}, got {shown(value)}. Write "
                "sparse: {least_mean: 5}, say."
            )
        mean = value.get("least_mean")
        small, most = value.get("small"), value.get("most_small")
        if (small is None) != (most is None) or (mean is None and small is None):
            raise DescriptionError(
                "rules.sparse needs least_mean, or small with most_small, or all three. Write "
                'sparse: {small: 3, most_small: "60%"}, say.'
            )
        then = str(value.get("then", _THEN[0])).strip().casefold()
        if then not in _THEN:
            raise DescriptionError(
                f"rules.sparse.then must be one of {', '.join(_THEN)}, got {shown(then)}."
            )
        return cls(
            None if mean is None else _number(mean, "least_mean", above=0),
            None if small is None else _whole(small),
            None if most is None else _share(most),
            then,
        )

    def breach(self, table: ProtectedTable) -> str:
        """How a table is too sparse, in words; empty where it is not."""
        inside = tuple(slice(0, len(axis)) for axis in table.domain.axes)
        possible = table.status[inside] != Status.STRUCTURAL_ZERO
        values = table.values[inside][possible]
        if not inside or not values.size:
            return ""
        mean = Fraction(int(values.sum(dtype=object)), values.size)
        if self.least_mean is not None and mean < self.least_mean:
            return say(
                "its protected cells hold {mean} on average, less than {least_mean}",
                mean=number(f"{float(mean):.3g}"),
                least_mean=number(plain(self.least_mean)),
            )
        if self.small is None or self.most_small is None:
            return ""
        few = Fraction(int(np.count_nonzero(values < self.small)), values.size)
        if few <= self.most_small:
            return ""
        return say(
            "{few} of its protected cells are below {small}, more than {most_small} %",
            few=number(f"{float(few):.0%}"),
            small=self.small,
            most_small=number(plain(self.most_small * 100)),
        )


def sparse_limit(policy: Policy) -> Sparseness | None:
    """The policy's rule on sparse tables, where it has one."""
    value = policy.rules.get(SPARSE)
    return None if value is None else Sparseness.read(value)


def dense_enough(
    tables: Sequence[ProtectedTable],
    policy: Policy,
    as_policy_shows: Sequence[ProtectedTable],
    *,
    charged: bool,
) -> tuple[ProtectedTable, ...]:
    """The tables, warned of where that is the rule; refused where one of them is withheld.

    Judged as the policy itself would show them: no treatment that somebody asks for makes a sparse
    table pass.
    """
    limit = sparse_limit(policy)
    if limit is None:
        return tuple(tables)
    breaches = [limit.breach(table) for table in as_policy_shows]
    first = next((place for place, breach in enumerate(breaches) if breach), None)
    if first is None:
        return tuple(tables)
    if limit.then == "warn":
        return tuple(
            replace(
                table, notes=(*table.notes, say("This table is sparse: {breach}.", breach=breach))
            )
            if breach
            else table
            for table, breach in zip(tables, breaches, strict=True)
        )
    which = say("Table {n}", n=str(first + 1)) if len(tables) > 1 else say("This table")
    stays = say("What was charged for it stays charged.") if charged else ""
    instead = say("Ask for coarser levels or fewer variables.")
    if charged:
        instead = say(
            "Ask for coarser levels or fewer variables: what follows from these "
            "measurements costs nothing."
        )
    raise Refusal(
        together(
            say(
                "{which} is too sparse to be published: {breaches}.",
                which=which,
                breaches=breaches[first],
            ),
            stays,
        ),
        rule=SPARSE,
        alternatives=(instead,),
    )


def _number(value: Any, name: str, **bounds: int) -> Fraction:
    return exact(value, f"rules.sparse.{name}", error=DescriptionError, **bounds)


def _whole(value: Any) -> int:
    number = _number(value, "small", least=1)
    if number.denominator != 1:
        raise DescriptionError(f"rules.sparse.small must be a whole number, got {plain(number)}.")
    return int(number)


def _share(value: Any) -> Fraction:
    words = str(value).strip()
    share = _number(words.rstrip("% "), "most_small", least=0) / (100 if "%" in words else 1)
    if share >= 1:
        raise DescriptionError(
            f'rules.sparse.most_small must be below 100 %, got {shown(words)}. Write "60%" or 0.6.'
        )
    return share
