"""What a policy allows and what a question asks of this method, read together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...core.exact import plain
from ...core.limits import Limits
from ...core.question import Question
from ...errors import InputError, RecipeError
from ..declaration import Fails
from ..shared.drawn_noise import QuestionLoss
from .declaration import DECLARATION

_BUDGETS = ("epsilon", "rho")
_PILOT_ONLY = ("level_shares", "pilot_noise", "first")


@dataclass(frozen=True)
class Settings(QuestionLoss):
    """Everything that shapes what is measured, from policy and question together."""

    tree: str = ""
    levels: str = ""
    records_about: int | None = None
    mode: str = "modern"
    level_shares: str = "square root"
    pilot_noise: str = "laplace"
    first: str = "variables"
    published: Any = None
    """Margins that are public already; checked against the description when a question is planned."""
    epsilon_most: Fraction | None = None
    rho_most: Fraction | None = None

    def resolved(self, published: str) -> dict[str, str]:
        """What was measured, in canonical text; `published` is a digest of what is public."""
        said = {"rho" if self.rho is not None else "epsilon": plain(self.amount)}
        said["mode"] = self.mode
        if self.mode == "pilot":
            said |= {"level_shares": self.level_shares, "first": self.first}
            if self.rho is None:
                said["pilot_noise"] = self.pilot_noise
        if self.tree:
            said |= {"tree": self.tree, "levels": self.levels}
        if self.records_about is not None:
            said["records_about"] = str(self.records_about)
        if published:
            said["published"] = published
        return said


def from_policy(parameters: Mapping[str, Any]) -> Settings:
    """The settings a policy writes for this method; bad ones get one clear sentence.

    >>> from_policy({"epsilon": "0.5", "tree": "area"}).tree
    'area'
    """
    said = DECLARATION.read_policy(parameters, InputError)
    return _read(said, parameters.get("published"), InputError)


def for_question(policy: Mapping[str, Any], question: Question) -> Settings:
    """Policy and question together: what is asked goes before what the policy says."""
    asked = dict(question.settings)
    public = policy.get("published")
    if question.resolved:
        asked.pop("published", None)  # its digest: the policy has the numbers
        return _read(asked, public, RecipeError)
    written = DECLARATION.read_policy(policy, InputError)
    own = any(name in asked for name in _BUDGETS)
    base = {k: v for k, v in written.items() if not (own and k in _BUDGETS)}
    if asked.get("mode", base.get("mode", "modern")) != "pilot":
        base = {k: v for k, v in base.items() if k not in _PILOT_ONLY}
    settings = _read({**base, **asked}, public, RecipeError)
    if settings.epsilon is None and settings.rho is None:
        raise RecipeError(
            "This question has no epsilon and no rho. Set epsilon: 1, say; it pays for all its "
            "tables together."
        )
    Limits(settings.epsilon_most, settings.rho_most).check(settings.loss)
    return settings


def _read(said: Mapping[str, str], published: Any, fails: Fails) -> Settings:
    def number(name: str) -> Fraction | None:
        return Fraction(said[name]) if name in said else None

    mode = said.get("mode", "modern")
    for name in _PILOT_ONLY:
        if name in said and mode != "pilot":
            raise fails(f"{name} is for mode pilot only. Set mode: pilot, or leave it out.")
    epsilon, rho = number("epsilon"), number("rho")
    if rho is not None and said.get("pilot_noise"):
        raise fails("pilot_noise goes with epsilon; rho has Gaussian noise. Leave it out.")
    if epsilon is not None and rho is not None:
        raise fails(
            f"A question has epsilon or rho, got both ({plain(epsilon)} and {plain(rho)}). "
            "Leave one out."
        )
    return Settings(
        epsilon=epsilon,
        rho=rho,
        tree=said.get("tree", ""),
        levels=said.get("levels", ""),
        records_about=int(said["records_about"]) if "records_about" in said else None,
        mode=mode,
        level_shares=said.get("level_shares", "square root"),
        pilot_noise=said.get("pilot_noise", "laplace"),
        first=said.get("first", "variables"),
        published=published,
        epsilon_most=number("epsilon_most"),
        rho_most=number("rho_most"),
    )
