"""What the cell-key method is and which settings it has.

The law and the keys are the policy's alone: cells answered under two laws are two readings of one
number. What is shown may be chosen by who asks, as far as the policy leaves it open.
"""

from __future__ import annotations

from ...core.family import Family
from ..declaration import Declaration, Part, Setting, Spends, one_of, whole, yes_or_no

KEYS = ("strong", "sadeghi", "r-cellkey", "ons-256", "ons-4096")
LAW_IS = ("public", "private")


def _policy(name: str, help: str, default: str = "none", part: Part = Part.MEASURED) -> Setting:
    return Setting(name, part, help, default=default, asked=False)


DECLARATION = Declaration(
    name="cell-key",
    family=Family.CELL_KEY,
    spends=Spends.NOTHING,
    home=(".cellkey.method", "CellKeyMethod"),
    summary="every cell perturbed by a key made of its records; the same numbers for ever",
    default=True,
    nothing_to_set="its law is set by the policy",
    settings=(
        _policy("max_perturbation", "a designed p-table: the largest perturbation", "5"),
        _policy("variance", "a designed p-table: the variance of a perturbation", "2"),
        _policy("blocked_below", "a designed p-table: results from 1 to this never happen", "0"),
        _policy("p_stay", "a designed p-table: how often a count stays as it is"),
        _policy("monotone", "a designed p-table: larger perturbations are rarer", "yes"),
        _policy("exact_variance", "a designed p-table: hold the variance exactly", "no"),
        _policy("epsilon", "one law for every count, from ε and δ"),
        _policy("delta", "one law for every count, from ε and δ"),
        _policy(
            "rule",
            "one law for every count: smallest (support, then variance) or sadeghi",
            "sadeghi",
        ),
        _policy("negatives", "one law for every count: allowed or clipped", "allowed"),
        _policy("ptable", "a p-table file inside the data set's folder"),
        _policy("dialect", "how that file is written", "found"),
        _policy("keys", f"how cell keys are made: {', '.join(KEYS)}", "strong"),
        _policy("key_bits", "how many bits a key has", "64"),
        _policy("big_n", "r-cellkey: the modulus of a sum of keys"),
        _policy(
            "sameness",
            "what gives a cell the same perturbation: participants, or participants and description",
            "participants",
        ),
        _policy("zeros", "whether empty cells are kept or perturbed", "as the p-table says"),
        Setting(
            "threshold",
            Part.TREATED,
            "protected counts below this are not shown; a policy's can be raised only",
            whole(1),
        ),
        Setting(
            "display_floor",
            Part.TREATED,
            "positive protected counts below this are shown as low; a policy's can be raised only",
            whole(2),
        ),
        Setting(
            "additive",
            Part.TREATED,
            "yes: also a view whose totals are sums",
            yes_or_no,
            "no",
            words=("yes", "no"),
        ),
        _policy("prior", "flat or geometric 0.8: for the odds in words", "flat", Part.POLICY),
        Setting(
            "law",
            Part.POLICY,
            "whether the rows of the p-table are published with tables: public or private",
            one_of(*LAW_IS),
            "public",
            asked=False,
            words=LAW_IS,
        ),
    ),
)
