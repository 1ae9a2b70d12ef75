"""One question on a page: what is asked, what it would cost, and its table where that is free.

A page asks by GET and never spends: what has a price is shown as a ghost, with one button that posts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from fastapi import Request

from .. import rules
from ..core.description import Description
from ..core.domain import TOTAL
from ..core.question import Sort
from ..core.table import ProtectedTable, Status
from ..core.table_titles import title_of
from ..earlier import NEWEST
from ..errors import DiscreetError, RecipeError, Refusal
from ..formats.flat import FlatAxis
from ..languages import Voice, number, say
from ..methods import registry
from ..methods.declaration import Spends
from ..outlook import Rung, Standing
from ..recipe import Recipe
from ..release import Release
from ..server import refusals
from ..server.asking import Asking, Wish, spends, understood
from ..server.auth import Asker
from ..server.negotiation import chosen_language
from ..server.problems import Problem
from ..server.service import Service, told
from ..workspace import DataSet
from . import titles, verdicts
from .address import Place, read, short_names
from .axes import Axes
from .ghost import Ghost
from .grid import Grid, Look, cell_codes
from .titles import Headed
from .verdicts import Verdict

DEFAULT_EPSILON = "0.1"


@dataclass
class Builder:
    """The builder for one request: everything its page shows is asked of it."""

    request: Request
    service: Service
    asker: Asker
    data: DataSet
    pairs: Sequence[tuple[str, str]]
    voice: Voice
    status: int = 200
    verdict: Verdict | None = None
    asking: Asking | None = None
    table: ProtectedTable | None = None
    release: Release | None = None
    derived: bool = False
    """Whether the table follows from an earlier release."""
    offers: list[dict[str, Any]] = field(default_factory=list)
    place: Place = field(init=False)

    def __post_init__(self) -> None:
        try:
            self.mapping, self.view = read(self.pairs)
            self.recipe = recipe_of(self.asker, self.data, self.mapping, self.voice.language)
            self.place = self._place(self.recipe)
        except DiscreetError as error:
            self.place = Place(
                self.name, {"rows": (), "columns": (), "layers": ()}, names=short_names(self.told)
            )
            self._says_no(error)
            return
        if not self.place.empty:
            self._answer()

    @property
    def name(self) -> str:
        """The data set's name on this server."""
        return self.data.folder.name

    @cached_property
    def told(self) -> Description:
        """What this reader is told of the data set."""
        return told(self.asker, self.data)

    @property
    def language(self) -> str:
        """The language of labels."""
        return str(self.place.said.get("language", ""))

    def _place(self, recipe: Recipe) -> Place:
        return Place.of(self.name, recipe, self.data.policy.method, self.told, self.view)

    # -- the answer -------------------------------------------------------------------------

    def _answer(self) -> None:
        wish = Wish(language=shown_language(self.data, self.recipe, self.voice))
        asking = Asking(
            self.service, self.asker, self.data, self.recipe, wish, request=self.request
        )
        try:
            if not asking.verdict.allowed:
                self._refuse(asking, [breach.sentence for breach in asking.verdict.breaches])
                return
            self.asking = asking
            self._show(asking)
            hidden = 0 if self.grid is None else self.grid.withheld
            self.verdict = verdicts.judged(
                asking, self.place, shown=self.table is not None, withheld=hidden
            )
        except Refusal as refusal:
            self._refuse(asking, [refusal.message], refusal)
        except (Problem, DiscreetError) as error:
            self._says_no(error)

    def _refuse(
        self, asking: Asking, sentences: Sequence[str], refusal: Refusal | None = None
    ) -> None:
        self.asking, self.table, self.status = None, None, 403
        rule = refusal.rule if refusal else asking.verdict.breaches[0].rule
        self.request.state.notes["rule"] = rule
        refusals.note(asking, rule)
        self.verdict = verdicts.refused(sentences)
        self.offers = refusals.alternatives(asking, refusal)

    def _says_no(self, error: DiscreetError | Problem) -> None:
        self.asking = self.table = None
        if isinstance(error, Problem):
            self.status, sentence = error.status, error.detail
        elif isinstance(error, Refusal):
            self.status, sentence = 403, error.message
            self.offers = [{"title": each.words} for each in error.alternatives]
        else:
            self.status, sentence = 400, error.message
        kind = verdicts.refused if isinstance(error, Refusal) else None
        self.verdict = kind([sentence]) if kind else verdicts.not_understood(sentence)

    def _show(self, asking: Asking) -> None:
        """The table, where it costs nothing: free, asked before, or following from a release."""
        asked = asking.asked
        if not asking.may_have or asking.withheld or asking.must_be_job:
            _ = asked.plan  # a plan that cannot be made is said here
            return
        charges = asked.declaration.spends is not Spends.NOTHING
        if charges and not asked.answered:
            if asked.follows_from is None or self._sharper_than_known:
                return
            self.derived = True
        with self.service.slots.one():
            self.release = asking.derive(NEWEST) if self.derived else asking.release()
        self.table = self.release.tables[0].in_language(asking.wish.language)

    # -- what is shown ----------------------------------------------------------------------

    @cached_property
    def axes(self) -> Axes:
        """Chips and variables."""
        shows = self.data.policy.family.shows_found
        barred = {}
        if self.asking is not None:
            for option in self.asking.asked.options(self.told):
                if not option.in_table.allowed:
                    short = self.place.names[f"{option.ref.variable}:{option.ref.level}"]
                    barred[short] = option.in_table.sentence
        return Axes(self.place, self.told, self.language, shows, barred)

    @property
    def look(self) -> Look:
        """How the address wants the table shown."""
        view, shown = self.place.view, self.place.showing
        pins = {n.upper(): cell_codes(view[n]) for n in ("a", "b") if view.get(n)}
        return Look(
            intervals="intervals" in shown,
            heat="heat" in shown,
            begin=int(view.get("from", "1")) - 1,
            pins=pins,
            choose=bool(view.get("choose")),
            measure=self.voice.of(self.measure),
            everything=self.voice.of(say("Everybody")),
            meanings={status: self.voice.of(words) for status, words in MEANINGS.items()},
            orders=self._sorting,
            thousands=self.voice.number("1,000")[1:2],
            decimal=self.voice.number("0.5")[1:2],
            to=self.voice.of(say(" to ")),
        )

    def _sorting(self, axis: FlatAxis, code: str) -> tuple[str, str]:
        """The link that sorts rows by a column: the largest first, then the other way, then not."""
        level = self.recipe.layouts[0].columns[0]
        down = Sort("" if code == TOTAL else level, "" if code == TOTAL else code)
        up = replace(down, down=False)
        now = self.recipe.layouts[0].sort
        then: Sort | None = {down: up, up: None}.get(now, down) if now is not None else down
        way = {down: "descending", up: "ascending"}.get(now, "") if now is not None else ""
        there = self.place.saying(sort=None if then is None else str(then)).seen(from_="")
        return there.address, way

    @property
    def measure(self) -> str:
        """What is counted, as the head of the one column of numbers."""
        private = self.axes.private
        return say("Number with {attribute}", attribute=private[0]) if private else say("Number")

    @cached_property
    def grid(self) -> Grid | None:
        """The table laid out; None where it is not shown."""
        return None if self.table is None else Grid(self.table, self.look)

    @cached_property
    def ghost(self) -> Ghost | None:
        """The errors to expect, in the table's own heads; only where a price is asked."""
        asking = self.asking
        if self.table is not None or asking is None or asking.must_be_job:
            return None
        if asking.asked.declaration.spends is not Spends.LOSS or not asking.asked.plan.errors:
            return None
        look = self.look
        return Ghost(
            asking.asked.plan.errors[0],
            asking.recipe.layouts[0],
            self.data.description,
            begin=look.begin,
            measure=look.measure,
            everything=look.everything,
            total=self.voice.of(say("Total")),
        )

    @cached_property
    def _ladder(self) -> tuple[Rung, ...]:
        return () if self.asking is None else self.asking.asked.ladder()

    @property
    def _sharper_than_known(self) -> bool:
        """Whether the address asks for more accuracy than the same table was released with."""
        now = self._place_on_ladder
        known = [n for n, r in enumerate(self._ladder) if r.standing is Standing.ANSWERED]
        return now is not None and bool(known) and known[-1] < now

    @property
    def _place_on_ladder(self) -> int | None:
        asked = {} if self.asking is None else self.asking.asked.plan.question.settings
        steps = (n for n, rung in enumerate(self._ladder) if asked.get(rung.setting) == rung.value)
        return next(steps, None)

    @cached_property
    def rungs(self) -> list[tuple[str, str, bool, bool]]:
        """The accuracy control: words, link, whether it is this one, whether it can be had."""
        if self.asking is None or not self.asking.may_have:
            return []
        now = self.asking.asked.plan.question.settings
        return [
            (
                self.voice.of(
                    say(
                        "±{within} · {sign} {value}",
                        within=rung.within_95,
                        sign={"rho": "ρ"}.get(rung.setting, "ε"),
                        value=number(rung.value),
                    )
                ),
                self.place.saying(**{rung.setting: rung.value}).address,
                now.get(rung.setting) == rung.value,
                rung.affordable,
            )
            for rung in self._ladder
        ]

    @property
    def amounts(self) -> list[tuple[str, str]]:
        """How accuracy may be asked for in one's own figure: the setting's name and its words."""
        if self.asking is None or not self._ladder:
            return []
        known = {setting.name for setting in self.asking.asked.declaration.settings}
        words = {"within": "±", "epsilon": "ε", "rho": "ρ"}
        return [
            (name, words[name]) for name in ("within", self._ladder[0].setting) if name in known
        ]

    @property
    def asked_otherwise(self) -> list[tuple[str, str]]:
        """This address without its accuracy, as fields of a form."""
        said = dict.fromkeys(("within", "of", "epsilon", "rho"))
        return self.place.saying(**said).pairs

    @property
    def already(self) -> dict[str, Any] | None:
        """The same table at another accuracy that was released before; the sharpest of them."""
        if self.table is not None or self.asking is None:
            return None
        released = [
            {
                "within": rung.within_95,
                "address": self.place.saying(**{rung.setting: rung.value}).address,
            }
            for rung in self._ladder
            if rung.standing is Standing.ANSWERED and not self._waits(rung)
        ]
        return released[-1] if released else None

    def _waits(self, rung: Rung) -> bool:
        """Whether the answer at this accuracy waits for its release, for this reader."""
        if not self.service.withheld(self.asker, self.name):
            return False
        kept = {
            k: v for k, v in self.mapping.items() if k not in ("within", "of", "epsilon", "rho")
        }
        asked = kept | {rung.setting: rung.value}
        recipe = recipe_of(self.asker, self.data, asked, self.voice.language)
        return Asking(self.service, self.asker, self.data, recipe, Wish()).withheld

    @property
    def title(self) -> str:
        """What the table is of, in words that stand alone."""
        if self.table is not None:
            return self.voice.of(self.table.title)
        if self.asking is None:
            return ""
        return self.voice.of(title_of(titles.spec_of(self.recipe), self.data.description))

    @cached_property
    def headed(self) -> Headed:
        """What stands over the table on a page."""
        if not self.title:
            return Headed("", "", None)
        return titles.headed(self.recipe, self.title, self.data.description, self.voice)

    @property
    def question(self) -> str:
        """The hash under which the answer is known, once it is there."""
        return "" if self.table is None else self.table.provenance.question_hash

    @property
    def host(self) -> str:
        """This server's own address, as the reader wrote it."""
        return str(self.request.base_url).rstrip("/")

    @property
    def rules(self) -> list[str]:
        """The rules of the data set, as sentences."""
        return list(rules.in_words(self.data.policy))


def recipe_of(asker: Asker, data: DataSet, mapping: dict[str, Any], language: str) -> Recipe:
    """The question an address asks; where nobody says how much to spend, a little."""
    said = dict(mapping)
    if not {"rows", "columns", "layers", "tables", "workload"} & set(said):
        said["rows"] = ""
    for name in ("tables", "workload", "share", "dataset"):
        if name in said:
            raise RecipeError(f"{name} is not known in the address of a page: it shows one table.")
    method = str(said.get("method") or data.policy.method)
    amounts = {"epsilon", "rho", "within"}
    if (
        method in registry.names()
        and registry.declaration(method).spends is Spends.LOSS
        and spends(data, method)
        and not amounts & {*said, *data.policy.parameters(method)}
    ):
        said["epsilon"] = DEFAULT_EPSILON
    if not said.get("language"):
        known = {code.casefold() for code in data.description.languages}
        said["language"] = language if language.casefold() in known else ""
    return understood(asker, data, said)


def shown_language(data: DataSet, recipe: Recipe, voice: Voice) -> str:
    """What a table is shown in: as its address says, else as its reader is spoken to."""
    said = recipe.layouts[0].language
    return said or chosen_language(None, voice.language, data.description)


MEANINGS = {
    Status.LOW: say("Small: the protected number is below what is shown."),
    Status.BELOW_THRESHOLD: say("Small: the protected number is below what is published."),
    Status.SUPPRESSED: say(
        "Withheld. That this cell is withheld tells nothing; totals may bound it."
    ),
    Status.NOT_RELEASED: say("Not part of this release."),
}
