"""One question while its request is answered: who asks what of which data set, and how it shall look.

This is the one module of the server that talks to the flow (`release.py`): routes, pages, jobs and
the PxWeb face ask here whether a question may be asked, whether it would spend, and for its tables.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fastapi import Request

from .. import formats
from ..core.control import Control
from ..errors import DiscreetError, Refusal
from ..formats import Format
from ..formats.views import View
from ..languages import say
from ..methods import registry
from ..methods.declaration import Spends
from ..recipe import Recipe, from_mapping
from ..release import Asked, Payer, Release, Standing
from ..verdict import Verdict
from ..workspace import DataSet
from .auth import ASKERS, Asker
from .negotiation import chosen_format, chosen_language, spoken
from .problems import Problem
from .requests import project_name
from .service import Service, told

MOST_LOOKED_AT = 200
"""How many of the last releases a free answer is looked for in."""


@dataclass(frozen=True)
class Wish:
    """How the answer shall look, and who pays."""

    format: Format = formats.FORMATS["json-stat"]
    language: str = ""
    project: str = ""
    view: View = field(default_factory=View)
    """What of a table is looked at; files are always whole."""

    @property
    def is_looked_at(self) -> bool:
        """Whether the answer is shown where it arrives, and not kept as a file."""
        return self.format.name == "html" or (
            self.format.name == "svg" and self.view.theme == "page"
        )


def understood(asker: Asker, data: DataSet, mapping: Mapping[str, Any]) -> Recipe:
    """A recipe from a body, its names looked up among those the asker is told of.

    A language without labels is said at once, and so is a variable that only custodians see.
    """
    description, policy = told(asker, data), data.policy
    language = description.language_named(str(mapping.get("language") or ""))
    recipe = from_mapping({**mapping, "language": language}, description, policy)
    if not policy.family.shows_found:
        description.require_declared(recipe.question.variables)
    return recipe


def spends(data: DataSet, method: str = "") -> bool:
    """Whether tables of a method, or of the data set's own, are charged to a budget."""
    name = method or data.policy.method
    return registry.declaration(name).spends is not Spends.NOTHING


@dataclass
class Asking:
    """One question of one asker to one open data set; planned once, when first needed."""

    service: Service
    asker: Asker
    data: DataSet
    recipe: Recipe
    wish: Wish = field(default_factory=Wish)
    request: Request | None = None
    """The request that asks; None where nothing depends on its headers, as in a job."""
    scope: str = "tables"
    """What a token must be good for."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What the audit log will say of the request."""

    @classmethod
    def of(
        cls,
        request: Request,
        data: DataSet,
        recipe: Recipe,
        *,
        format: str | None,
        language: str | None,
        project: str | None,
        view: View | None = None,
    ) -> Asking:
        """What a request asks, as its parameters and headers wish the answer to look."""
        accept = ",".join(request.headers.getlist("accept")) or None
        accepted = request.headers.get("accept-language")
        wish = Wish(
            chosen_format(format, accept),
            chosen_language(language, accepted, data.description),
            project_name(project),
            view or View(),
        )
        request.state.language = wish.language  # errors are said in it too
        return cls(request.app.state.service, request.state.asker, data, recipe, wish, request)

    def __post_init__(self) -> None:
        if self.request is not None:
            self.notes = self.request.state.notes
        self.notes["dataset"] = self.dataset

    @property
    def key(self) -> bytes | None:
        """What the request will be known by when it comes again."""
        return None if self.request is None else getattr(self.request.state, "key", None)

    @property
    def dataset(self) -> str:
        """The data set's name on this server."""
        return self.data.folder.name

    @property
    def language(self) -> str:
        """The languages the answer's labels are in, as a header can say it."""
        return spoken(self.data.description, self.wish.language)

    # What public facts say

    @cached_property
    def asked(self) -> Asked:
        """The question as the flow has it: verdict, plan and standing."""
        return self._asked(self.service.withheld(self.asker, self.dataset))

    def _asked(self, withheld: frozenset[str]) -> Asked:
        payer = Payer(self.asker.user, self.wish.project)
        return Asked(self.data, self.recipe, payer, without=withheld)

    @property
    def holds(self) -> str:
        """What an embargo on this answer withholds: the question, and all tables of the same numbers.

        Only noise that was drawn for one question is in no other table of these data.
        """
        spent = self.asked.declaration.spends
        question = () if spent is Spends.NOTHING else (self.question,)
        version = () if spent is Spends.LOSS else (self.data.data_version,)
        return " ".join((*question, *version))

    @property
    def withheld(self) -> bool:
        """Whether the answer waits for a release to be published, for this asker."""
        withheld = self.service.withheld(self.asker, self.dataset)
        return bool(withheld) and not withheld.isdisjoint((self.question, self.data.data_version))

    @property
    def verdict(self) -> Verdict:
        """What the rules say of the question."""
        return self.asked.verdict

    @property
    def cells(self) -> int:
        """How many cells the tables have together."""
        return self.verdict.cells

    def instead(self, recipe: Recipe) -> Asking:
        """The same asker's question with another recipe."""
        return Asking(self.service, self.asker, self.data, recipe, self.wish, scope=self.scope)

    @property
    def works(self) -> bool:
        """Whether the question would be answered: by its rules, its plan and the budget."""
        try:
            return self.asked.standing is not Standing.REFUSED
        except DiscreetError:
            return False

    @property
    def question(self) -> str:
        """What ledger and results know the answer by."""
        return self.asked.plan.question_hash

    @cached_property
    def costs_nothing(self) -> bool:
        """Whether the answer is free: its method charges nothing, or it was charged before."""
        return not self.asked.spends

    @property
    def must_be_job(self) -> bool:
        """Whether the question is too long for one request; from public facts only."""
        settings = self.service.settings
        return (
            self.cells > settings.long_cells
            or len(self.recipe.question.tables) > settings.long_tables
        )

    @property
    def expected_seconds(self) -> float:
        """How long the answer will take about, from its size alone; one significant digit."""
        cells, tables = min(self.cells, 10**12), len(self.recipe.question.tables)
        return float(f"{0.02 * tables + cells / 400_000:.1g}")

    # Who may have it

    @property
    def may_have(self) -> bool:
        """Whether this asker may be shown numbers at all."""
        return self.asker.role in ASKERS and self.scope in self.asker.scopes

    def may_ask(self) -> None:
        """Numbers are for those who may ask for tables, whatever route they come by."""
        if self.asker.role not in ASKERS:
            raise Problem(403, "role", say("The role {role} sees no tables.", role=self.asker.role))
        if self.scope not in self.asker.scopes:
            raise Problem(
                403, "scope", say("This token lacks the scope {scope}.", scope=self.scope)
            )

    def _not_before_its_time(self) -> None:
        if self.withheld:
            raise Refusal(
                say("This table is under embargo. Ask again once its release is published."),
                rule="embargo",
            )

    def may_be_kept(self) -> None:
        """Rules and policy refuse a recipe that is only kept as they refuse it when it is asked."""
        self.verdict.enforce()
        self.notes["question"] = self.question

    def may_spend(self) -> None:
        """Without login a budget is spent only where the settings or a share of its own allow it."""
        if self.asker.role != "public" or self.service.settings.public_spends:
            return
        if not spends(self.data, self.recipe.question.method):
            return
        if self.asked.answered and not self.withheld:
            return
        shares = self.data.ledger().standing(user="public")
        if any(standing.scope == "user:public" for standing in shares):
            return
        raise Refusal(
            say(
                "Tables that spend budget need an account here; those asked before are free "
                "for everybody. Log in, or ask for one of the saved tables or releases."
            ),
            rule="public-budget",
        )

    def may_be_asked_so(self) -> None:
        """Neither HEAD nor a link from another site spends budget or begins a job.

        Another site can make a browser GET with its session. Browsers say themselves that a
        request comes from our own page (Sec-Fetch-Site: same-origin).
        """
        request = self.request
        if request is None or request.method != "GET":
            return
        ours = request.headers.get("sec-fetch-site") == "same-origin"
        if self.asker.session and not ours and not self.costs_nothing:
            raise Problem(
                403,
                "csrf",
                say(
                    "Following a link with a session does not spend budget. Send the question with "
                    "POST and the header X-CSRF-Token, or use a token."
                ),
            )
        if getattr(request.state, "head", False):
            if self.must_be_job:
                raise Problem(
                    403, "head", say("This would begin a job, which HEAD does not do. Use GET.")
                )
            if not self.costs_nothing:
                raise Problem(
                    403, "head", say("This would spend budget, which HEAD does not do. Use GET.")
                )

    # The tables

    def release(self, control: Control | None = None, *, hold: str | None = None) -> Release:
        """The tables, charged before anything leaves; a job brings its own control and hold."""
        self.may_ask()
        self.may_spend()
        self._not_before_its_time()
        release = self.asked.release(control=control or self.deadline(), hold=hold)
        self._not_before_its_time()
        return release

    def derive(self, newest: int = MOST_LOOKED_AT) -> Release:
        """The tables from what was released before: nothing is read, drawn or charged.

        What waits for its publication does not count as released.
        """
        self.may_ask()
        while True:
            withheld = self.service.withheld(self.asker, self.dataset)
            asked = self._asked(withheld)
            release = asked.derive(newest=newest, control=self.deadline())
            if self.service.withheld(self.asker, self.dataset) <= withheld:
                return release

    def deadline(self) -> Control:
        """Stops work that takes longer than one request may, on the engine too."""
        end = time.monotonic() + self.service.settings.most_seconds
        return Control(cancelled=lambda: time.monotonic() > end)
