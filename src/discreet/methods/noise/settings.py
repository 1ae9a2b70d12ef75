"""What a policy allows and what a question asks of this method, read and checked.

| name | what | default |
|---|---|---|
| `epsilon` | what the whole question costs; in a policy, what one table costs if nobody says | none |
| `rho` | the same for law gaussian, in zero-concentrated differential privacy | none |
| `within`, `of` | instead of ε: so many per cent of cells (`of`, 95 %) within ± so many | none |
| `law` | laplace, normal or gaussian | laplace, untruncated: δ = 0 |
| `delta`, `max_perturbation` | for laws with δ: how much is allowed, where the law is cut | none |
| `plan` | best, interior, wanted, once or everything: which margins are measured | best |
| `negatives` | keep, clip or threshold (with `threshold` c) | keep |
| `consistency` | none, least squares or integers | none |
| `epsilon_most`, `rho_most` | policy only: the most a question may ask; one alone holds for the other too | none |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...core.exact import exact, plain
from ...core.limits import Limits
from ...core.loss import ApproxLoss, Loss, PureLoss, ZcdpLoss
from ...errors import InputError, RecipeError, did_you_mean

LAWS = ("laplace", "normal", "gaussian")
PLANS = ("best", "interior", "wanted", "once", "everything")
NEGATIVES = ("keep", "clip", "threshold")
CONSISTENCY = ("none", "least squares", "integers")
ASKED = (
    "epsilon",
    "rho",
    "within",
    "of",
    "law",
    "delta",
    "max_perturbation",
    "plan",
    "negatives",
    "threshold",
    "consistency",
)
POLICY = (*ASKED, "epsilon_most", "rho_most")
Fails = Callable[[str], Exception]


@dataclass(frozen=True)
class Settings:
    """Everything that shapes a plan, from policy and question together."""

    law: str = "laplace"
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    within: int | None = None
    of: Fraction = Fraction(95, 100)
    delta: Fraction | None = None
    max_perturbation: int | None = None
    plan: str = "best"
    negatives: str = "keep"
    threshold: int = 0
    consistency: str = "none"
    epsilon_most: Fraction | None = None
    rho_most: Fraction | None = None

    @property
    def pure(self) -> bool:
        """Whether the law is untruncated Laplace, with δ = 0."""
        return self.law == "laplace" and self.delta is None and self.max_perturbation is None

    @property
    def limits(self) -> Limits:
        """The most a question may spend."""
        return Limits(self.epsilon_most, self.rho_most)


def from_policy(parameters: Mapping[str, Any]) -> Settings:
    """The settings a policy writes for this method; bad ones get one clear sentence.

    >>> from_policy({"epsilon": "0.5"}).epsilon
    Fraction(1, 2)
    """
    return _read(parameters, POLICY, InputError)


def for_question(policy: Mapping[str, Any], asked: Mapping[str, Any], tables: int) -> Settings:
    """Policy and question together: what is asked goes before what the policy says.

    A default ε is for one table, so a question of several without an ε of its own gets that much
    for each.
    """
    from_policy(policy)
    for name in asked:
        if name not in ASKED:
            raise RecipeError(
                f"The noise method has no setting {name}.{did_you_mean(name, ASKED)} "
                f"It has {', '.join(ASKED)}."
            )
    budget_words = {"epsilon", "rho", "within"}
    own_budget = budget_words & set(asked)
    base = {k: v for k, v in policy.items() if not (own_budget and k in budget_words)}
    if "law" in asked and str(asked["law"]) != str(policy.get("law", "laplace")):
        base = {k: v for k, v in base.items() if k not in ("delta", "max_perturbation")}
        if not own_budget and str(asked["law"]) == "gaussian":
            base.pop("epsilon", None)
    both = {**base, **asked}
    if asked.get("negatives") in ("keep", "clip") and "threshold" not in asked:
        both.pop("threshold", None)
    settings = _read(both, POLICY, RecipeError)
    if not own_budget and tables > 1:
        settings = _times(settings, tables)
    _needs_budget(settings)
    _capped(settings)
    return settings


def _times(settings: Settings, tables: int) -> Settings:
    values = {name: getattr(settings, name) for name in settings.__dataclass_fields__}
    for name in ("epsilon", "rho"):
        if values[name] is not None:
            values[name] *= tables
    return Settings(**values)


def _needs_budget(settings: Settings) -> None:
    if settings.within is not None:
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
            "This question has no epsilon. Set epsilon: 0.5, say, or the accuracy wanted "
            "(within: 5, of: 95%)."
        )


def _capped(settings: Settings) -> None:
    """Refuse what the policy does not allow; what an accuracy needs is checked once it is known."""
    loss: Loss
    if settings.within is not None:
        return
    if settings.rho is not None:
        loss = ZcdpLoss(settings.rho)
    elif settings.epsilon is not None and not settings.pure:
        # A truncated law's own δ is not known yet, and no limit is written for it.
        loss = ApproxLoss(settings.epsilon, settings.delta or 0)
        if settings.law == "gaussian":
            return  # its ρ is found with its ε and δ: see the method's plan
    elif settings.epsilon is not None:
        loss = PureLoss(settings.epsilon)
    else:
        return
    settings.limits.check(loss)


def _read(given: Mapping[str, Any], known: tuple[str, ...], fails: Fails) -> Settings:
    for name in given:
        if name not in known:
            raise fails(
                f"The noise method has no setting {name}.{did_you_mean(str(name), known)} "
                f"It has {', '.join(known)}."
            )
    law = _one_of(given, "law", LAWS, fails)
    settings = Settings(
        law=law,
        epsilon=_number(given, "epsilon", fails, most=100),
        rho=_number(given, "rho", fails, most=10_000),
        within=_whole(given, "within", fails, least=0),
        of=_level(given, fails),
        delta=_number(given, "delta", fails, below=1),
        max_perturbation=_whole(given, "max_perturbation", fails, least=1),
        plan=_one_of(given, "plan", PLANS, fails),
        consistency=_one_of(given, "consistency", CONSISTENCY, fails),
        epsilon_most=_number(given, "epsilon_most", fails),
        rho_most=_number(given, "rho_most", fails),
        **_negatives(given, fails),
    )
    return _agreeing(settings, given, fails)


def _agreeing(settings: Settings, given: Mapping[str, Any], fails: Fails) -> Settings:
    law = settings.law
    if settings.rho is not None and law != "gaussian":
        raise fails(
            f"rho is for law gaussian, got rho {plain(settings.rho)} with law {law}. "
            "Set law: gaussian, or give epsilon instead."
        )
    if settings.rho is not None and settings.epsilon is not None:
        raise fails(
            f"A question has epsilon or rho, got both ({plain(settings.epsilon)} and "
            f"{plain(settings.rho)}). Leave one out."
        )
    if settings.rho is not None and settings.delta is not None:
        raise fails(
            "With rho there is no delta to set; it is chosen when rho is read as (epsilon, delta). "
            "Leave delta out."
        )
    if settings.within is not None and (settings.epsilon or settings.rho):
        raise fails(
            "within asks for the epsilon that an accuracy needs, got an epsilon or rho as well. "
            "Leave one out."
        )
    if settings.within is not None and law == "gaussian" and settings.delta is not None:
        raise fails("within with law gaussian finds rho, which has no delta. Leave delta out.")
    if "of" in given and settings.within is None:
        raise fails("of goes with within (within: 5, of: 95%), got of alone. Add within.")
    if law == "gaussian" and settings.max_perturbation is not None:
        raise fails(
            f"Law gaussian is not truncated, got max_perturbation {settings.max_perturbation}. "
            "Leave it out, or use law normal."
        )
    if law == "normal" and settings.delta is None and settings.max_perturbation is None:
        raise fails(
            "Law normal is truncated and has a delta, got neither. Set delta: 1e-6, say, or "
            "max_perturbation."
        )
    if settings.consistency == "integers" and settings.negatives != "keep":
        raise fails(
            f"Whole numbers that add up and negatives {settings.negatives} cannot both hold. "
            "Keep the negatives, or set consistency: none."
        )
    return settings


def _negatives(given: Mapping[str, Any], fails: Fails) -> dict[str, Any]:
    text = " ".join(str(given.get("negatives", "keep")).split())
    inline: str | None = None
    if text.startswith("threshold "):
        text, inline = "threshold", text.removeprefix("threshold ")
    name = _one_of({"negatives": text}, "negatives", NEGATIVES, fails)
    size = inline if inline is not None else given.get("threshold")
    if name == "threshold":
        if size is None:
            raise fails("negatives: threshold needs a number, got none. Write threshold: 3, say.")
        return {"negatives": name, "threshold": _whole({"threshold": size}, "threshold", fails, 1)}
    if size is not None:
        raise fails(
            f"threshold goes with negatives: threshold, got negatives {name}. "
            "Set negatives: threshold, or leave threshold out."
        )
    return {"negatives": name}


def _one_of(given: Mapping[str, Any], name: str, known: tuple[str, ...], fails: Fails) -> str:
    value = " ".join(str(given.get(name, known[0])).split()).lower().replace("-", " ")
    if value not in known:
        raise fails(
            f"{name} must be one of {', '.join(known)}, got {str(given[name])[:40]}."
            f"{did_you_mean(value, known)}"
        )
    return value


def _number(
    given: Mapping[str, Any],
    name: str,
    fails: Fails,
    *,
    below: int | None = None,
    most: int | None = None,
) -> Fraction | None:
    if given.get(name) is None:
        return None
    return exact(given[name], name, above=0, below=below, most=most, error=fails)


def _whole(given: Mapping[str, Any], name: str, fails: Fails, least: int) -> int | None:
    if given.get(name) is None:
        return None
    value = exact(given[name], name, least=least, most=10**9, error=fails)
    if value.denominator != 1:
        raise fails(f"{name} must be a whole number ≥ {least}, got {plain(value)}.")
    return int(value)


def _level(given: Mapping[str, Any], fails: Fails) -> Fraction:
    if given.get("of") is None:
        return Fraction(95, 100)
    text = str(given["of"]).strip()
    percent = text.endswith("%")
    value = exact(text.rstrip("%").strip(), "of", above=0, error=fails) / (100 if percent else 1)
    if value >= 1:
        raise fails(f"of must be below 100 %, got {text}. Write 95% or 0.95.")
    return value
