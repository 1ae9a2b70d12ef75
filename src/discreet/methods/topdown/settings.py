"""What a policy allows and what a question asks of this method, read together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...core.exact import plain
from ...core.question import Question
from ...errors import InputError, RecipeError
from ..declaration import Fails
from ..shared.drawn_noise import QuestionLoss
from ..shared.question_settings import (
    asked_of_policy,
    budgets,
    check_budget,
    check_mode,
    number,
)
from .declaration import DECLARATION

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
    said = asked_of_policy(DECLARATION, policy, question, "pilot", _PILOT_ONLY)
    settings = _read(said, policy.get("published"), RecipeError)
    if question.resolved:
        return settings
    check_budget(settings, settings.epsilon_most, settings.rho_most)
    return settings


def _read(said: Mapping[str, str], published: Any, fails: Fails) -> Settings:
    check_mode(said, "pilot", _PILOT_ONLY, fails)
    epsilon, rho = budgets(said, fails)
    if rho is not None and said.get("pilot_noise"):
        raise fails("pilot_noise goes with epsilon; rho has Gaussian noise. Leave it out.")
    return Settings(
        epsilon=epsilon,
        rho=rho,
        tree=said.get("tree", ""),
        levels=said.get("levels", ""),
        records_about=int(said["records_about"]) if "records_about" in said else None,
        mode=said.get("mode", "modern"),
        level_shares=said.get("level_shares", "square root"),
        pilot_noise=said.get("pilot_noise", "laplace"),
        first=said.get("first", "variables"),
        published=published,
        epsilon_most=number(said, "epsilon_most"),
        rho_most=number(said, "rho_most"),
    )
