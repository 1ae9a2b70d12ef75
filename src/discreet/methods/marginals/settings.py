"""What a policy allows and what a question asks of this method: measured settings and treatment.

`declaration.py` lists the settings; here they are read together. Of two settings that lead to the
same measurements only one is part of the question: see `MarginalsMethod.plan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, cast

from ...core.exact import plain
from ...core.question import Question
from ...errors import InputError, RecipeError
from ...languages import Number, say
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
from .fit.classic import Objective

_CLASSIC_ONLY = ("noise_on", "objective")


@dataclass(frozen=True)
class Settings(QuestionLoss):
    """Everything that shapes what is measured, from policy and question together."""

    mode: str = "modern"
    fourier: bool | None = None
    """Classic: noise on Fourier coefficients, or on the margins' cells (§4.2); None: not said."""
    one_way_share: Fraction | None = None
    records_about: int | None = None
    epsilon_most: Fraction | None = None
    rho_most: Fraction | None = None
    published: Any = None
    """Margins that are public already; checked against the description when a question is planned."""

    def for_margins(self, margins: int) -> Settings:
        """With the noise chosen where nobody says it: on coefficients (§3), but on the cells of a
        *single* margin, which is where (13) is tighter than (12) (remark after Theorem 8).

        >>> Settings(mode="classic").for_margins(1).fourier, Settings().for_margins(3).fourier
        (False, True)
        """
        return self if self.fourier is not None else replace(self, fourier=margins > 1)

    def resolved(self, published: str) -> dict[str, str]:
        """What was measured, in canonical text; `published` is a digest of what is public."""
        said = {"mode": self.mode, "rho" if self.rho is not None else "epsilon": plain(self.amount)}
        if self.mode == "classic":
            said["noise_on"] = "coefficients" if self.fourier else "cells"
        if self.one_way_share is not None:
            said["one_way_share"] = plain(self.one_way_share)
        if self.records_about is not None:
            said["records_about"] = str(self.records_about)
        if published:
            said["published"] = published
        return said


@dataclass(frozen=True)
class Treatment:
    """Classic mode: which distance to the measurements the fit makes small, or none of them."""

    objective: Objective | Literal["shift"] = "largest"
    in_margins: bool = False
    """Distances are taken over cells of margins instead of coefficients."""

    @classmethod
    def of(
        cls, policy: Mapping[str, Any], asked: Mapping[str, str], settings: Settings
    ) -> Treatment:
        """As asked, or as the policy says; refused for a table that cannot have it."""
        if settings.mode != "classic":
            if "objective" in asked:
                raise RecipeError(
                    say("objective is for mode classic only. Set mode: classic, or leave it out.")
                )
            return cls()
        written = DECLARATION.read_policy(policy, InputError)
        words = asked.get("objective", written.get("objective", "largest"))
        first = words.removesuffix(" in margins")
        if first == "shift":
            if not settings.fourier:
                raise RecipeError(
                    say("objective shift needs noise on coefficients. Set noise_on: coefficients.")
                )
            return cls("shift")
        # noise on the cells of margins leaves nothing but cells of margins to compare
        return cls(cast("Objective", first), words != first or not settings.fourier)

    @property
    def canonical(self) -> dict[str, str]:
        """In canonical text."""
        return {"objective": self.objective + (" in margins" if self.in_margins else "")}


def from_policy(parameters: Mapping[str, Any]) -> Settings:
    """The settings a policy writes for this method; bad ones get one clear sentence.

    >>> from_policy({"epsilon": "0.5", "mode": "classic", "noise_on": "cells"}).fourier
    False
    """
    said = DECLARATION.read_policy(parameters, InputError)
    return _read(said, parameters.get("published"), InputError)


def for_question(policy: Mapping[str, Any], question: Question) -> Settings:
    """Policy and question together: what is asked goes before what the policy says."""
    said = asked_of_policy(DECLARATION, policy, question, "classic", _CLASSIC_ONLY)
    settings = _read(said, policy.get("published"), RecipeError)
    if question.resolved:
        return settings
    if settings.mode == "classic" and settings.rho is not None:
        raise RecipeError(
            say(
                "Mode classic spends epsilon only: its noise is Laplace, as in the paper; got "
                "rho {rho}. Set epsilon, or use mode modern.",
                rho=Number(plain(settings.rho)),
            )
        )
    check_budget(settings, settings.epsilon_most, settings.rho_most)
    return settings


def _read(said: Mapping[str, str], published: Any, fails: Fails) -> Settings:
    check_mode(said, "classic", _CLASSIC_ONLY, fails)
    epsilon, rho = budgets(said, fails)
    return Settings(
        epsilon=epsilon,
        rho=rho,
        mode=said.get("mode", "modern"),
        fourier=said["noise_on"] == "coefficients" if "noise_on" in said else None,
        one_way_share=number(said, "one_way_share"),
        records_about=int(said["records_about"]) if "records_about" in said else None,
        epsilon_most=number(said, "epsilon_most"),
        rho_most=number(said, "rho_most"),
        published=published,
    )
