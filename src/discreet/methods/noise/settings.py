"""What a policy allows and what a question asks of this method: measured settings and treatments.

`declaration.py` lists the settings; here they are read together. A question is *resolved* when
everything that shapes what is drawn is said in it: the law, what is spent, and which margins are
measured. A resolved question is read as it stands, whatever a policy says by then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from ...core.exact import plain
from ...core.limits import Limits
from ...core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from ...core.question import Question
from ...errors import InputError, RecipeError, Refusal
from ...languages import say
from ..declaration import Fails, Part
from .declaration import DECLARATION, NEGATIVES
from .settings_check import agreeing

_BUDGETS = ("epsilon", "rho", "within", "variance")
_SHAPES = ("delta", "max_perturbation", "utility", "variance", "max_count", "max_value")
"""What a policy says of its own law and of no other."""


@dataclass(frozen=True)
class Settings:
    """Everything that shapes what is measured, from policy and question together."""

    law: str = "laplace"
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    within: int | None = None
    of: Fraction = Fraction(95, 100)
    delta: Fraction | None = None
    max_perturbation: int | None = None
    utility: str | None = None
    variance: Fraction | None = None
    max_count: int | None = None
    max_value: int | None = None
    plan: str = "best"
    epsilon_most: Fraction | None = None
    rho_most: Fraction | None = None

    @property
    def pure(self) -> bool:
        """Whether the law has δ = 0: untruncated Laplace, and Hellinger's."""
        untruncated = self.delta is None and self.max_perturbation is None
        return self.law == "hellinger" or (self.law == "laplace" and untruncated)

    @property
    def audited(self) -> bool:
        """Whether a question costs what its laws are audited to lose, and not what was asked for."""
        return self.law == "hellinger" or self.variance is not None

    @property
    def counts(self) -> tuple[int, int]:
        """The largest count told from larger ones and the largest published, of law hellinger."""
        count = self.max_count or 0
        return count, 2 * count if self.max_value is None else self.max_value

    @property
    def cut(self) -> str:
        """Where the law was told to end, in words."""
        if self.utility is not None:
            return f"a utility up to ±{len(self.utility.split()) - 1}"
        return f"max_perturbation {self.max_perturbation}"

    def loss(self, budget: Fraction, delta: Fraction) -> Loss:
        """What spending this ε or ρ costs; `delta` is that of a truncated law."""
        if self.law == "gaussian" and self.epsilon is not None:
            return ApproxLoss(self.epsilon, self.delta or 0)
        if self.law == "gaussian":
            return ZcdpLoss(budget)
        return PureLoss(budget) if self.pure else ApproxLoss(budget, delta)

    def check_limits(self, budget: Fraction) -> None:
        """Refuse what the policy does not allow, once the ε or ρ to spend is known."""
        # a truncated law's own δ is not known yet, and no limit is written for it
        loss = self.loss(budget, self.delta or Fraction(0))
        rho = budget if self.law == "gaussian" and self.epsilon is not None else None
        Limits(self.epsilon_most, self.rho_most).check(
            loss, rho=rho, needed=self.within is not None
        )

    def with_budget(self, budget: Fraction) -> Settings:
        """With the ε or ρ that an accuracy was found to need in the place of the accuracy."""
        if self.within is None:
            return self
        if self.law == "gaussian":
            return replace(self, within=None, rho=budget)
        return replace(self, within=None, epsilon=budget)

    def resolved(self, scheme: str) -> dict[str, str]:
        """What was measured, in canonical text: law, loss, truncation and the scheme's name."""
        said = {"law": self.law, "plan": scheme}
        # where the law is cut as told, a δ is a limit that is checked and shapes nothing
        cut = self.max_perturbation is not None or self.utility is not None
        shapes = ("epsilon", "rho") if cut else ("epsilon", "rho", "delta")
        for name in shapes:
            value = getattr(self, name)
            if value is not None:
                said[name] = plain(value)
        if self.max_perturbation is not None:
            said["max_perturbation"] = str(self.max_perturbation)
        if self.utility is not None:
            said["utility"] = self.utility
        if self.variance is not None:
            said["variance"] = plain(self.variance)
        if self.law == "hellinger":
            said |= zip(("max_count", "max_value"), map(str, self.counts), strict=True)
        return said


@dataclass(frozen=True)
class Treatment:
    """What follows the measurement; a function of measured values and public facts, so free."""

    negatives: str = "keep"
    threshold: int = 0
    consistency: str = "none"

    @property
    def canonical(self) -> dict[str, str]:
        """In canonical text, defaults filled in."""
        size = f" {self.threshold}" if self.negatives == "threshold" else ""
        return {"negatives": self.negatives + size, "consistency": self.consistency}

    @property
    def _strength(self) -> tuple[int, int]:
        return NEGATIVES.index(self.negatives), self.threshold

    def not_weaker_than(self, policy: Treatment) -> None:
        """Refuse to show what the policy's own treatment does not show."""
        if self._strength < policy._strength:
            asked, needed = self.canonical["negatives"], policy.canonical["negatives"]
            raise Refusal(
                say(
                    "The policy shows values with negatives: {needed}, which can be strengthened "
                    "and not weakened, got negatives: {asked}.",
                    needed=needed,
                    asked=asked,
                ),
                rule="treatment",
                alternatives=(say("Ask with negatives: {needed}.", needed=needed),),
            )


def from_policy(parameters: Mapping[str, Any]) -> Settings:
    """The settings a policy writes for this method; bad ones get one clear sentence.

    >>> from_policy({"epsilon": "0.5"}).epsilon
    Fraction(1, 2)
    """
    said = DECLARATION.read_policy(parameters, InputError)
    _treatment(said, InputError)
    return agreeing(_settings(said), said, InputError)


def for_question(policy: Mapping[str, Any], question: Question) -> Settings:
    """Policy and question together: what is asked goes before what the policy says.

    A default ε is for one table, so a question of several without an ε of its own gets that much
    for each.
    """
    asked = question.settings
    if question.resolved:
        return _settings(asked)
    written = DECLARATION.read_policy(policy, InputError)
    own_budget = any(name in asked for name in _BUDGETS)
    base = {k: v for k, v in written.items() if not (own_budget and k in _BUDGETS)}
    if own_budget and "within" not in asked:
        base.pop("of", None)
    if "law" in asked and asked["law"] != written.get("law", "laplace"):
        base = {k: v for k, v in base.items() if k not in _SHAPES}
        if not own_budget and asked["law"] == "gaussian":
            base.pop("epsilon", None)
    both = {**base, **asked}
    settings = agreeing(_settings(both), both, RecipeError)
    if not own_budget and len(question.distinct) > 1:
        times = len(question.distinct)
        settings = replace(
            settings,
            epsilon=settings.epsilon and settings.epsilon * times,
            rho=settings.rho and settings.rho * times,
        )
    _needs_budget(settings)
    return settings


def treatment_for(policy: Mapping[str, Any], asked: Mapping[str, str]) -> Treatment:
    """What is done to the measured values: as asked, at least as strong as the policy says."""
    written = DECLARATION.read_policy(policy, InputError)
    kept = {k: v for k, v in written.items() if DECLARATION.by_name[k].part is Part.TREATED}
    required = _treatment(kept, InputError)
    if "negatives" in asked:
        kept = {k: v for k, v in kept.items() if k not in ("negatives", "threshold")}
    elif "threshold" in asked and required.negatives == "threshold":
        kept["negatives"] = "threshold"
        kept.pop("threshold", None)
    made = _treatment({**kept, **asked}, RecipeError)
    made.not_weaker_than(required)
    return made


def _settings(said: Mapping[str, str]) -> Settings:
    """What is said of each field, numbers exact; the rest as it is where nobody says anything."""
    kinds = {
        "law": str,
        "plan": str,
        "utility": str,
        "within": int,
        "max_perturbation": int,
        "max_count": int,
        "max_value": int,
    }
    names = [field.name for field in fields(Settings) if field.name in said]
    read: dict[str, Any] = {name: kinds.get(name, Fraction)(said[name]) for name in names}
    return Settings(**read)


def _treatment(said: Mapping[str, str], fails: Fails) -> Treatment:
    name, _, inline = said.get("negatives", "keep").partition(" ")
    size = said.get("threshold")
    if inline and size is not None and inline != size:
        raise fails(
            say(
                "The threshold is said twice, as {inline} in negatives and as {size}. Say it once.",
                inline=inline,
                size=size,
            )
        )
    size = inline or size
    if name == "threshold" and size is None:
        raise fails(say("negatives: threshold needs a number, got none. Write threshold: 3, say."))
    if name != "threshold" and size is not None:
        raise fails(
            say(
                "threshold goes with negatives: threshold, got negatives {name}. Set "
                "negatives: threshold, or leave threshold out.",
                name=name,
            )
        )
    made = Treatment(name, int(size or 0), said.get("consistency", "none"))
    if made.consistency == "integers" and made.negatives in ("clip", "threshold"):
        raise fails(
            say(
                "Whole numbers that add up and negatives {negatives} cannot both hold. Set "
                "negatives: balance, keep the negatives, or set consistency: none.",
                negatives=made.negatives,
            )
        )
    return made


def _needs_budget(settings: Settings) -> None:
    if settings.within is not None or settings.variance is not None:
        return
    if settings.law == "gaussian":
        if settings.rho is None and (settings.epsilon is None or settings.delta is None):
            raise RecipeError(
                "Law gaussian needs rho, or epsilon with delta; this question has "
                f"{'epsilon without delta' if settings.epsilon is not None else 'neither'}. "
                "Set rho: 0.1, say."
            )
    elif settings.epsilon is None:
        raise RecipeError(
            say(
                "This question has no epsilon. Set epsilon: 0.5, say, or the accuracy wanted "
                "(within: 5, of: 95%)."
            )
        )


def safe_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest ρ, in millionths, that keeps ε and δ whatever the noise that costs it."""
    unit = 10**6
    low, high = 0, math.ceil(epsilon * unit)

    def keeps(units: int) -> bool:
        return ZcdpLoss(Fraction(units, unit)).to_approximate(delta).epsilon <= epsilon

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    if low == 0:
        raise RecipeError(
            f"No rho of at least 0.000001 keeps epsilon {float(epsilon):.4g} with delta "
            f"{float(delta):.4g}. Raise either."
        )
    return Fraction(low, unit)
