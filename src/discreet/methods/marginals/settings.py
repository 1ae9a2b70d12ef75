"""What a policy allows and what a question asks of this method, read and checked.

| name | what | default |
|---|---|---|
| `epsilon` | what the whole question costs | none: must be said in policy or question |
| `mode` | modern, or classic: barak as written | modern |
| `objective` | classic only: largest, total or hybrid; "in margins" after it: over cells of margins; "non-fourier" after it: noise on the margins themselves | largest; with a single margin, largest non-fourier |
| `one_way_share` | share of ε for one-way margins of their own | a quarter if an axis has > 8 categories |
| `records_about` | roughly how many records, if public: thin tables are then left out | not known |
| `published` | policy only: one margin that is public already, kept exactly | none |
| `epsilon_most` | policy only: the most a question may ask | none |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...core.exact import exact, plain
from ...errors import InputError, RecipeError, Refusal, did_you_mean
from .classic import OBJECTIVES, Objective

ASKED = ("epsilon", "mode", "objective", "one_way_share", "records_about")
POLICY = (*ASKED, "epsilon_most", "published")
MODES = ("modern", "classic")
_OTHER_BUDGETS = {"rho", "delta", "law", "max_perturbation"}


@dataclass(frozen=True)
class Settings:
    """Everything that shapes a plan, from policy and question together."""

    epsilon: Fraction | None = None
    mode: str = "modern"
    objective: Objective = "largest"
    in_margins: bool = False
    """Classic: distances are taken over cells of margins instead of coefficients."""
    fourier: bool | None = None
    """Classic: noise on Fourier coefficients, or on the margins' cells (§4.2); None: not said."""
    one_way_share: Fraction | None = None
    records_about: int | None = None
    epsilon_most: Fraction | None = None
    published: Any = None
    """A margin that is public already; checked against the description when a question is planned."""

    def for_margins(self, margins: int) -> Settings:
        """With the noise chosen where no objective says it: on coefficients (§3), but on the cells
        of a *single* margin, which is where (13) is tighter than (12) (remark after Theorem 8).

        >>> Settings(mode="classic").for_margins(1).fourier, Settings().for_margins(3).fourier
        (False, True)
        """
        if self.fourier is not None:
            return self
        return replace(self, fourier=margins > 1, in_margins=margins == 1)


def from_policy(parameters: Mapping[str, Any]) -> Settings:
    """The settings a policy writes for this method; bad ones get one clear sentence.

    >>> from_policy({"epsilon": "0.5", "mode": "classic", "objective": "total in margins"}).in_margins
    True
    """
    return _read(parameters, POLICY, InputError)


def for_question(policy: Mapping[str, Any], asked: Mapping[str, Any]) -> Settings:
    """Policy and question together: what is asked goes before what the policy says."""
    from_policy(policy)
    base = dict(policy)
    if str(asked.get("mode", base.get("mode", "modern"))) != "classic":
        base.pop("objective", None)
    settings = _read({**base, **_known(asked, ASKED, RecipeError)}, POLICY, RecipeError)
    if settings.epsilon is None:
        raise RecipeError(
            "This question has no epsilon. Set epsilon: 1, say; it pays for all its tables together."
        )
    if settings.epsilon_most is not None and settings.epsilon > settings.epsilon_most:
        raise Refusal(
            f"epsilon {plain(settings.epsilon)} is more than the {plain(settings.epsilon_most)} "
            "the policy allows for one question.",
            rule="most-per-question",
            alternatives=(f"Ask with epsilon {plain(settings.epsilon_most)}.",),
        )
    return settings


def _known(
    given: Mapping[str, Any], names: tuple[str, ...], fails: type[InputError]
) -> Mapping[str, Any]:
    for name in given:
        if name in _OTHER_BUDGETS:
            raise fails(
                f"The marginals method spends pure epsilon only, with untruncated Laplace noise: "
                f"{name} has no place. Set epsilon."
            )
        if name not in names:
            raise fails(
                f"The marginals method has no setting {name}.{did_you_mean(name, names)} "
                f"It has {', '.join(names)}."
            )
    return given


def _read(given: Mapping[str, Any], names: tuple[str, ...], fails: type[InputError]) -> Settings:
    _known(given, names, fails)
    mode = str(given.get("mode", "modern")).strip().lower()
    if mode not in MODES:
        raise fails(f"mode must be modern or classic, got {mode[:40]}.{did_you_mean(mode, MODES)}")
    objective, in_margins, fourier = _objective(given, mode, fails)
    about = _number(given, "records_about", fails)
    if about is not None and about.denominator != 1:
        raise fails(f"records_about must be a whole number, got {plain(about)}.")
    share = given.get("one_way_share")
    return Settings(
        epsilon=_number(given, "epsilon", fails, most=100),
        mode=mode,
        objective=objective,
        in_margins=in_margins,
        fourier=fourier,
        one_way_share=None
        if share is None
        else exact(share, "one_way_share", least=0, below=1, error=fails),
        records_about=None if about is None else int(about),
        epsilon_most=_number(given, "epsilon_most", fails),
        published=given.get("published"),
    )


def _objective(
    given: Mapping[str, Any], mode: str, fails: type[InputError]
) -> tuple[Objective, bool, bool | None]:
    if given.get("objective") is None:
        return "largest", False, None
    if mode != "classic":
        raise fails("objective is for mode classic only. Set mode: classic, or leave it out.")
    words = " ".join(str(given["objective"]).lower().split())
    fourier, in_margins = True, False
    if words.endswith(" non-fourier"):
        words, fourier, in_margins = words.removesuffix(" non-fourier"), False, True
    elif words.endswith(" in margins"):
        words, in_margins = words.removesuffix(" in margins"), True
    for known in OBJECTIVES:
        if words == known:
            return known, in_margins, fourier
    raise fails(
        f"objective must be one of {', '.join(OBJECTIVES)}, alone or with 'in margins' or "
        f"'non-fourier' after it, got {words[:40]!r}.{did_you_mean(words, OBJECTIVES)}"
    )


def _number(
    given: Mapping[str, Any], name: str, fails: type[InputError], most: int | None = None
) -> Fraction | None:
    if given.get(name) is None:
        return None
    return exact(given[name], name, above=0, most=most, error=fails)
