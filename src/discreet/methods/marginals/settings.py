"""What a policy allows and what a question asks of this method, read and checked.

| name | what | default |
|---|---|---|
| `epsilon` | what the whole question costs, Laplace noise | none: this or `rho` must be said |
| `rho` | the same in zero-concentrated differential privacy, Gaussian noise | none |
| `mode` | modern, or classic: barak as written | modern |
| `objective` | classic only: largest, total or hybrid; "in margins" after it: over cells of margins; "non-fourier" after it: noise on the margins themselves | largest; with a single margin, largest non-fourier |
| `one_way_share` | share of ε or ρ for one-way margins of their own | a quarter where thin tables are left out |
| `records_about` | roughly how many records, if public: thin tables are then left out | not known |
| `published` | policy only: margins that are public already, kept exactly | none |
| `epsilon_most`, `rho_most` | policy only: the most a question may ask; one alone holds for the other too | none |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...core.exact import exact, plain
from ...core.limits import Limits
from ...core.loss import PureLoss, ZcdpLoss
from ...errors import Bug, InputError, RecipeError, did_you_mean
from .classic import OBJECTIVES, Objective
from .measured import Noise

ASKED = ("epsilon", "rho", "mode", "objective", "one_way_share", "records_about")
POLICY = (*ASKED, "epsilon_most", "rho_most", "published")
MODES = ("modern", "classic")
_OTHER_BUDGETS = {"delta", "law", "max_perturbation"}


@dataclass(frozen=True)
class Settings:
    """Everything that shapes a plan, from policy and question together."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    mode: str = "modern"
    objective: Objective = "largest"
    in_margins: bool = False
    """Classic: distances are taken over cells of margins instead of coefficients."""
    fourier: bool | None = None
    """Classic: noise on Fourier coefficients, or on the margins' cells (§4.2); None: not said."""
    one_way_share: Fraction | None = None
    records_about: int | None = None
    epsilon_most: Fraction | None = None
    rho_most: Fraction | None = None
    published: Any = None
    """Margins that are public already; checked against the description when a question is planned."""

    @property
    def noise(self) -> Noise:
        """Which noise is drawn: Laplace for ε, Gaussian for ρ."""
        return "laplace" if self.rho is None else "gaussian"

    @property
    def loss(self) -> PureLoss | ZcdpLoss:
        """What the whole question costs."""
        if self.rho is not None:
            return ZcdpLoss(self.rho)
        if self.epsilon is None:
            raise Bug("A question without a budget was planned.")
        return PureLoss(self.epsilon)

    @property
    def amount(self) -> Fraction:
        """ε or ρ."""
        loss = self.loss
        return loss.rho if isinstance(loss, ZcdpLoss) else loss.epsilon

    def of_unit(self, cost: Fraction, records: int) -> Fraction:
        """What a unit of so many records costs, from what one record does: r times ε, r² times ρ.

        >>> Settings(rho=Fraction(1)).of_unit(Fraction(1, 9), 3)
        Fraction(1, 1)
        """
        return cost * (records if self.rho is None else records**2)

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
    own = {"epsilon", "rho"} & set(asked)
    base = {k: v for k, v in policy.items() if not (own and k in ("epsilon", "rho"))}
    if str(asked.get("mode", base.get("mode", "modern"))) != "classic":
        base.pop("objective", None)
    settings = _read({**base, **_known(asked, ASKED, RecipeError)}, POLICY, RecipeError)
    if settings.epsilon is None and settings.rho is None:
        raise RecipeError(
            "This question has no epsilon and no rho. Set epsilon: 1, say; it pays for all its "
            "tables together."
        )
    if settings.mode == "classic" and settings.rho is not None:
        raise RecipeError(
            f"Mode classic spends epsilon only: its noise is Laplace, as in the paper; got rho "
            f"{plain(settings.rho)}. Set epsilon, or use mode modern."
        )
    Limits(settings.epsilon_most, settings.rho_most).check(settings.loss)
    return settings


def _known(
    given: Mapping[str, Any], names: tuple[str, ...], fails: type[InputError]
) -> Mapping[str, Any]:
    for name in given:
        if name in _OTHER_BUDGETS:
            raise fails(
                f"The marginals method spends epsilon (Laplace noise, delta = 0) or rho (Gaussian "
                f"noise), both untruncated: {name} has no place. Set epsilon or rho."
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
    epsilon, rho = (_number(given, name, fails, most=100) for name in ("epsilon", "rho"))
    if epsilon is not None and rho is not None:
        raise fails(
            f"A question has epsilon or rho, got both ({plain(epsilon)} and {plain(rho)}). "
            "Leave one out."
        )
    return Settings(
        epsilon=epsilon,
        rho=rho,
        mode=mode,
        objective=objective,
        in_margins=in_margins,
        fourier=fourier,
        one_way_share=None
        if share is None
        else exact(share, "one_way_share", least=0, below=1, error=fails),
        records_about=None if about is None else int(about),
        epsilon_most=_number(given, "epsilon_most", fails),
        rho_most=_number(given, "rho_most", fails),
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
