"""From a recipe to a response: verdict, alternatives, ETag, and the one flow behind a limit.

Whether a question is answered at once or becomes a job is decided from public facts: how many
cells and tables it has. A question answered before is served from memory when it can be; the
numbers are the same for ever, so the bytes are too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import Request, Response

from .. import __version__, formats, recipe, release, rules
from ..core.control import Control
from ..errors import BudgetExceeded, DiscreetError, Refusal
from ..formats import Format
from ..methods import registry
from ..recipe import Layout, Recipe, TableSpec
from ..workspace import DataSet
from . import problems
from .auth import Asker
from .negotiation import chosen_format, chosen_language, spoken
from .problems import Problem
from .repeats import Repeat
from .requests import project_name
from .service import Kept, Service

VARY = "Accept, Accept-Language, Authorization, Cookie"


@dataclass(frozen=True)
class Wish:
    """How the answer shall look, and who pays."""

    format: Format
    language: str
    project: str

    @classmethod
    def of(
        cls,
        request: Request,
        data: DataSet,
        *,
        format: str | None,
        language: str | None,
        project: str | None,
    ) -> Wish:
        """From the query parameters and headers of a request."""
        accept = ",".join(request.headers.getlist("accept")) or None
        return cls(
            chosen_format(format, accept),
            chosen_language(language, request.headers.get("accept-language"), data.description),
            project_name(project),
        )


def understood(data: DataSet, mapping: Mapping[str, Any]) -> Recipe:
    """A recipe from a body; a language without labels is said at once."""
    data.description.language_named(str(mapping.get("language") or ""))
    return recipe.from_mapping(mapping, data.description, data.policy)


def question_hash(data: DataSet, asked: Recipe) -> str:
    """What ledger and results know the answer by."""
    return release.preview(data, asked, earlier=False).plan.question_hash


def _fingerprint(service: Service, data: DataSet, asked: Recipe) -> str:
    """What else a keyed method's numbers depend on (its p-table): the hash of its grand total."""
    method = asked.question.method
    key = (data.folder.name, data.data_version, data.policy.version, method)
    if key not in service.fingerprints:
        found = ""
        if not registry.get(method).drawn:
            total = replace(asked.question, tables=(TableSpec(axes=()),), parameters={})
            found = registry.get(method).plan(total, data.facts).question_hash
        service.fingerprints[key] = found
    return service.fingerprints[key]


def tag(service: Service, data: DataSet, asked: Recipe, wish: Wish) -> str:
    """A strong ETag: question, data, policy, software, layout, format, language; keyed."""
    layouts = [[la.rows, la.columns, la.layers, la.percent] for la in asked.layouts]
    names = [spec.name for spec in asked.question.tables]
    order = [spec.canonical() for spec in asked.question.tables]
    said = json.dumps([layouts, names, order, asked.title], sort_keys=True)
    digest = service.accounts.keyed(
        "etag",
        asked.question.hash(data_version=data.data_version, policy_version=data.policy.version),
        _fingerprint(service, data, asked),
        service.datasets.edition(data),
        said,
        wish.format.name,
        wish.language,
        __version__,
    )
    return f'"{digest.hex()[:40]}"'


def must_be_job(service: Service, cells: int, tables: int) -> bool:
    """Whether a question is too long for one request; from public facts only."""
    return cells > service.settings.long_cells or tables > service.settings.long_tables


def expected_seconds(cells: int, tables: int) -> float:
    """How long a question will take about, from its size alone; one significant digit."""
    return float(f"{0.02 * tables + cells / 400_000:.1g}")


def may_spend(service: Service, asker: Asker, data: DataSet, asked: Recipe) -> None:
    """Without login a budget is spent only where the settings or a share of its own allow it."""
    if asker.role != "public" or service.settings.public_spends:
        return
    if not registry.get(asked.question.method).drawn:
        return
    seen = release.preview(data, asked, user=asker.user, earlier=False)
    if seen.answered and not service.withheld(asker, data.folder.name, seen.plan.question_hash):
        return
    ledger = data.ledger()
    if any(standing.scope == "user:public" for standing in ledger.standing(user="public")):
        return
    raise Refusal(
        "Tables that spend budget need an account here; those asked before are free for everybody. "
        "Log in, or ask for one of the saved tables or releases.",
        rule="public-budget",
    )


def no_spending_by_link(request: Request, asker: Asker, data: DataSet, asked: Recipe) -> None:
    """Another site can make a browser GET with its session: such a request never spends.

    Browsers say themselves that a request comes from our own page (Sec-Fetch-Site: same-origin).
    """
    if request.method != "GET" or not asker.session:
        return
    if request.headers.get("sec-fetch-site") == "same-origin":
        return
    if not registry.get(asked.question.method).drawn:
        return
    if data.ledger().find(question_hash(data, asked)) is None:
        raise Problem(
            403,
            "csrf",
            "Following a link with a session does not spend budget. Send the question with POST and "
            "the header X-CSRF-Token, or use a token.",
        )


def respond(
    service: Service, asker: Asker, data: DataSet, asked: Recipe, wish: Wish, request: Request
) -> Response:
    """The answer to a question that is short enough; charged before a byte of it leaves."""
    notes, name = request.state.notes, data.folder.name
    spoken = _spoken(data, wish)
    try:
        tag_ = tag(service, data, asked, wish)
    except Refusal as refusal:
        raise refused(data, asked, refusal, asker, wish) from None
    kept = service.answers.get(tag_)
    if kept is not None and service.withheld(asker, name, kept.question):
        kept = None
    charged = False
    if kept is None:
        try:
            if _matches(request, tag_):
                rules.judge(asked.question, data.description, data.policy).enforce()
                return Response(
                    status_code=304, headers=headers_for(service, name, spoken, asker, tag_)
                )
            kept, charged = _made(service, asker, data, asked, wish)
        except Refusal as refusal:
            notes["rule"] = refusal.rule
            raise refused(data, asked, refusal, asker, wish) from None
        service.answers.put(tag_, kept)
    notes |= {"question": kept.question, "cells": kept.cells, "charged": charged}
    headers = headers_for(service, name, spoken, asker, tag_)
    request.state.repeat = Repeat(
        tag_, name, service.datasets.edition(data), wish.format.media_type
    )
    if _matches(request, tag_):
        return Response(status_code=304, headers=headers)
    headers |= kept.headers | {"Discreet-Charged": "yes" if charged else "no"}
    return Response(kept.body, 200, headers, wish.format.media_type)


def _spoken(data: DataSet, wish: Wish) -> str:
    """The language of an answer's labels, as a header can say it."""
    return spoken(data.description, wish.language)


def within(service: Service) -> Control:
    """Stops work that takes longer than one request may, on the engine too."""
    deadline = time.monotonic() + service.settings.most_seconds
    return Control(cancelled=lambda: time.monotonic() > deadline)


def _made(
    service: Service, asker: Asker, data: DataSet, asked: Recipe, wish: Wish
) -> tuple[Kept, bool]:
    may_spend(service, asker, data, asked)
    with service.slots.one():
        made = release.release(
            data, asked, user=asker.user, project=wish.project, control=within(service)
        )
        body = rendered(made, wish)
    charged = made.plan.charge is not None and not made.reused
    cells = sum(table.cells for table in made.tables)
    headers = _facts(made, wish) | _described_by(data, asked, wish)
    kept = Kept(body, headers, cells, made.plan.question_hash, _spoken(data, wish))
    return kept, charged


def as_response(
    service: Service, asker: Asker, data: DataSet, made: release.Release, wish: Wish
) -> Response:
    """A release that cost nothing, as an answer of its own: it is kept nowhere."""
    headers = headers_for(service, data.folder.name, _spoken(data, wish), asker, "")
    del headers["ETag"]
    headers |= _facts(made, wish) | {"Discreet-Charged": "no"}
    return Response(rendered(made, wish), 200, headers, wish.format.media_type)


def released(
    service: Service, asker: Asker, data: DataSet, asked: Recipe, wish: Wish
) -> release.Release:
    """The release behind an answer, for what is said about it beside its numbers."""
    try:
        may_spend(service, asker, data, asked)
        cells = sum(rules.cells_of(spec, data.description) for spec in asked.question.tables)
        if must_be_job(service, cells, len(asked.question.tables)):
            rules.judge(asked.question, data.description, data.policy).enforce()
            raise Problem(406, "format", "This table is a job; its CSV has no metadata of its own.")
        with service.slots.one():
            return release.release(
                data, asked, user=asker.user, project=wish.project, control=within(service)
            )
    except Refusal as refusal:
        raise refused(data, asked, refusal, asker, wish) from None


def address(data: DataSet, asked: Recipe, wish: Wish, place: str, **more: str) -> str:
    """The address of a question's table, or of what lies beside it, by its short form."""
    said = {"title": asked.title, "language": wish.language, "project": wish.project, **more}
    extra = urlencode({name: text for name, text in said.items() if text})
    query = "&".join(part for part in (recipe.to_query(asked), extra) if part)
    return f"/api/v1/datasets/{quote(data.folder.name)}/{place}?{query}"


def _described_by(data: DataSet, asked: Recipe, wish: Wish) -> dict[str, str]:
    """Where the CSVW metadata of a CSV file are, if an address can say the question."""
    if wish.format.name != "csv":
        return {}
    try:
        back = recipe.from_query(recipe.to_query(asked), data.description, data.policy)
    except DiscreetError:
        return {}
    where = address(data, asked, wish, "tables/metadata")
    if back.question != asked.question or len(where) > 4000:
        return {}
    return {"Link": f'<{where}>; rel="describedby"; type="application/csvm+json"'}


def rendered(made: release.Release, wish: Wish) -> bytes:
    """The tables of a release in the wished format."""
    tables = list(made.tables)
    layouts: list[Layout | None] = list(made.recipe.layouts)
    return formats.to_bytes(tables, wish.format.name, layout=layouts, language=wish.language)


def _facts(made: release.Release, wish: Wish) -> dict[str, str]:
    headers = {
        "Discreet-Question": made.plan.question_hash,
        "Discreet-Cells": str(sum(table.cells for table in made.tables)),
        "Discreet-Guarantee": str(made.plan.guarantee.kind),
    }
    if wish.format.name != "json-stat":
        name = f"table-{made.plan.question_hash[:12]}{wish.format.extension}"
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    if made.receipt:
        headers["Discreet-Ledger-Entry"] = str(made.receipt["entry"])
    return headers


def headers_for(
    service: Service, dataset: str, language: str, asker: Asker, tag_: str
) -> dict[str, str]:
    """What every answer to this asker says of itself."""
    public = asker.role == "public" and service.settings.is_public(dataset)
    headers = {
        "ETag": tag_,
        "Cache-Control": "public, no-cache" if public else "private, no-store",
        "Vary": VARY,
    }
    return headers | {"Content-Language": language} if language else headers


def _matches(request: Request, tag_: str) -> bool:
    sent = request.headers.get("if-none-match", "")
    return tag_ in [part.strip().removeprefix("W/") for part in sent.split(",")]


def refused(
    data: DataSet, asked: Recipe, refusal: Refusal, asker: Asker, wish: Wish | None = None
) -> Problem:
    """A refusal with its alternatives as recipes that can be sent as they are."""
    verdict = rules.judge(asked.question, data.description, data.policy)
    project = wish.project if wish else ""
    return problems.of(refusal, alternatives(data, asked, verdict, refusal, asker, project))


def alternatives(
    data: DataSet,
    asked: Recipe,
    verdict: rules.Verdict,
    refusal: Refusal | None,
    asker: Asker,
    project: str = "",
) -> list[dict[str, Any]]:
    """What would work: each as a whole recipe, and whether it was checked to pass."""
    offered: list[dict[str, Any]] = []
    for offer in verdict.offers:
        tables = list(asked.question.tables)
        tables[offer.table] = offer.spec
        layouts = list(asked.layouts)
        layouts[offer.table] = _relaid(layouts[offer.table], offer.spec)
        changed = replace(
            asked, question=replace(asked.question, tables=tuple(tables)), layouts=tuple(layouts)
        )
        offered.append(_offer(data, offer.words, changed, asker, project))
    if verdict.offers or refusal is None:
        return offered
    if isinstance(refusal, BudgetExceeded):
        for words in refusal.alternatives:
            epsilon = words.rpartition(" ")[2]
            parameters = {**asked.question.parameters, "epsilon": epsilon}
            changed = replace(asked, question=replace(asked.question, parameters=parameters))
            # others may spend meanwhile, so what fits now is likely and no more
            offered.append({**_offer(data, words, changed, asker, project), "checked": False})
        return offered
    if refusal.rule == "one-family":
        for words in refusal.alternatives:
            changed = replace(
                asked, question=replace(asked.question, method=words.rpartition(" ")[2])
            )
            offered.append(_offer(data, words, changed, asker, project))
        return offered
    return [{"words": w, "checked": False, "recipe": None} for w in refusal.alternatives]


def _offer(
    data: DataSet, words: str, changed: Recipe, asker: Asker, project: str
) -> dict[str, Any]:
    """An alternative, judged as a whole: rules, plan and budget."""
    try:
        seen = release.preview(data, changed, user=asker.user, project=project, earlier=False)
        passes = seen.verdict.allowed and seen.affordable
    except DiscreetError:
        passes = False
    return {"words": words, "checked": passes, "recipe": mapping(changed)}


def _relaid(layout: Layout, spec: TableSpec) -> Layout:
    """A layout for changed axes: each variable stays on its side, a new one goes to the rows."""
    refs = {ref.variable: str(ref) for ref in spec.axes}
    sides: list[tuple[str, ...]] = []
    for side in (layout.rows, layout.columns, layout.layers):
        names = [name.partition(":")[0] for name in side]
        sides.append(tuple(refs.pop(name) for name in names if name in refs))
    rows, columns, layers = sides
    return replace(layout, rows=(*rows, *refs.values()), columns=columns, layers=layers)


def mapping(asked: Recipe) -> dict[str, Any]:
    """A recipe as the mapping that reads back to it."""
    tables: list[dict[str, Any]] = []
    for spec, layout in zip(asked.question.tables, asked.layouts, strict=True):
        table: dict[str, Any] = {
            side: list(names)
            for side, names in (
                ("rows", layout.rows),
                ("columns", layout.columns),
                ("layers", layout.layers),
            )
            if names
        }
        if spec.where:
            table["where"] = {f"{c.variable}:{c.level}": list(c.codes) for c in spec.where}
        if not spec.totals:
            table["totals"] = "none"
        if spec.weighted:
            table["weighted"] = True
        if layout.percent:
            table["percent"] = layout.percent
        if spec.share is not None:
            table["share"] = str(spec.share)
        if spec.name:
            table["name"] = spec.name
        tables.append(table)
    whole: dict[str, Any] = {"method": asked.question.method, **asked.question.parameters}
    if asked.title:
        whole["title"] = asked.title
    if len(tables) == 1:
        return {**(tables[0] or {"rows": []}), **whole}
    return {"tables": tables, **whole}
