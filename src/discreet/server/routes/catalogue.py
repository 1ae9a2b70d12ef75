"""`/config`, `/datasets`, variables and code lists: what there is, from public facts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Header, Path, Response
from fastapi import Query as Parameter

from ... import formats, recipe, rules
from ...core.description import Description
from ...core.domain import Variable
from ...core.guarantee import neighbours_words, unit_words
from ...errors import DiscreetError, RecipeError
from ...languages import told as in_language
from ...methods import registry
from ...workspace import DataSet
from .. import responses, search
from ..asking import understood
from ..auth import EVERYONE, Asker, CurrentAsker, guarded
from ..negotiation import chosen_language, joined, require_language, spoken, spoken_in
from ..problems import not_found
from ..search import MOST, Match, Query, cut
from ..service import Service, Serving, told

router = guarded(EVERYONE, "read", "catalogue")
ROUTERS = [router]

Search = Annotated[str, Parameter(max_length=200, description="Words to look for.")]
Language = Annotated[
    str, Parameter(max_length=20, description="Language of labels; wins over Accept-Language.")
]
Limit = Annotated[int, Parameter(ge=1, le=MOST, description="How many are listed at most.")]
Wishes = Annotated[str, Header(alias="Accept-Language", include_in_schema=False)]
DataSetId = Annotated[str, Path(max_length=200, description="A data set.")]


@router.get("/config", response_model=responses.ConfigShape)
def config(service: Serving, asker: CurrentAsker) -> dict[str, Any]:
    """All limits, the methods and formats there are, and each policy in plain words."""
    settings = service.settings
    policies = []
    for name, data in service.readable(asker):
        budget = data.policy.budget
        policies.append(
            {
                "dataset": name,
                **_of(data.policy, "family", "method"),
                "rules": rules.in_words(data.policy),
                "budget": None if budget is None else str(budget),
            }
        )
    return {
        "maxCallsPerTimeWindow": service.buckets.limit,
        "limits": {
            "body_bytes": settings.most_body_bytes,
            "json_depth": settings.most_json_depth,
            "header_bytes": settings.most_header_bytes,
            "body_seconds": settings.body_seconds,
            "seconds": settings.most_seconds,
            "cells_before_job": settings.long_cells,
            "tables_before_job": settings.long_tables,
            "tables_at_once": settings.slots,
            "logins_per_minute": service.logins.limit,
        },
        "methods": list(registry.names()),
        "settings": {
            declared.name: [setting.to_json() for setting in declared.asked()]
            for declared in registry.METHODS.values()
        },
        "formats": [asdict(form) for form in formats.FORMATS.values()],
        "policies": policies,
    }


@router.get("/datasets", response_model=responses.DataSets)
def datasets(
    service: Serving,
    asker: CurrentAsker,
    response: Response,
    query: Search = "",
    language: Language = "",
    wishes: Wishes = "",
) -> dict[str, Any]:
    """The data sets one may ask; with `query`, those whose texts hold every word of it.

    Each title is in the wished language where it is there, else in its data set's own.
    """
    summaries = []
    spoken_languages: set[str] = set()
    words = Query.of(query)
    require_language(language, (told(asker, data) for _, data in service.readable(asker)))
    for name, data in service.readable(asker):
        description = told(asker, data)
        shown = chosen_language(None, language or wishes, description)
        texts = [name, *(words for _, words in description.title.by_language)]
        texts += [description.population, description.period, description.source]
        for variable in description.variables:
            texts += [variable.name, *(words for _, words in variable.label.by_language)]
        if words.rank(search.folded(" ".join(texts))) is not None:
            summaries.append(_summary(service, name, data, description, shown))
            spoken_languages.add(spoken(description, shown, [description.title]))
    response.headers.update(spoken_in(joined(spoken_languages, language)))
    return {"datasets": summaries}


@router.get("/datasets/{dataset}", response_model=responses.DataSetDetail)
def dataset(
    service: Serving,
    asker: CurrentAsker,
    response: Response,
    dataset: DataSetId,
    language: Language = "",
    wishes: Wishes = "",
) -> dict[str, Any]:
    """All that is public about a data set."""
    with service.dataset(asker, dataset) as data:
        description = told(asker, data)
        language = chosen_language(language, wishes, description)
        response.headers.update(spoken_in(spoken(description, language, [description.title])))
        facts = {
            **_of(description, "source", "licence", "contact", "records"),
            "notes": [*description.counted, *description.notes],
            "rules": rules.in_words(data.policy),
            "neighbours": neighbours_words(description.neighbours.words),
            "variable_names": [variable.name for variable in description.variables],
            "featured": featured(asker, data, language),
        }
        summary = _summary(service, dataset, data, description, language)
        return summary | dict(in_language(facts, language))


@router.get("/datasets/{dataset}/variables", response_model=responses.Variables)
def variables(
    service: Serving,
    asker: CurrentAsker,
    response: Response,
    dataset: DataSetId,
    query: Search = "",
    language: Language = "",
    wishes: Wishes = "",
    limit: Limit = MOST,
) -> dict[str, Any]:
    """The variables; with `query`, those that hold its words in themselves or in a category.

    Of each at most `limit` categories are listed, the best first; `more` says how many are left.
    """
    with service.dataset(asker, dataset) as data:
        description = told(asker, data)
        language = chosen_language(language, wishes, description)
        response.headers.update(spoken_in(spoken(description, language)))
        words = Query.of(query)
        listed = []
        for variable in description.variables:
            found = search.matches(variable, words, language)
            if found or search.variable_rank(variable, words) is not None:
                listed.append(variable_facts(variable, language, found, limit))
        return {"variables": listed}


@router.get("/datasets/{dataset}/variables/{variable}", response_model=responses.VariableShape)
def variable(
    service: Serving,
    asker: CurrentAsker,
    response: Response,
    dataset: DataSetId,
    variable: Annotated[str, Path(max_length=300)],
    language: Language = "",
    wishes: Wishes = "",
) -> dict[str, Any]:
    """One variable, by name, label or prefix."""
    with service.dataset(asker, dataset) as data:
        description = told(asker, data)
        language = chosen_language(language, wishes, description)
        chosen = description.variable(_axis(description, variable).variable)
        texts = [chosen.label, *(level.label for level in chosen.levels)]
        response.headers.update(spoken_in(spoken(description, language, texts)))
        return variable_facts(chosen, language)


@router.get("/datasets/{dataset}/codelists/{level}", response_model=responses.CodeList)
def codelist(
    service: Serving,
    asker: CurrentAsker,
    response: Response,
    dataset: DataSetId,
    level: Annotated[str, Path(max_length=300, description="A level, or variable:level.")],
    language: Language = "",
    wishes: Wishes = "",
    query: Search = "",
    parent: Annotated[
        str, Parameter(max_length=300, description="Only inside this code of a coarser level.")
    ] = "",
    offset: Annotated[int, Parameter(ge=0, le=10**6)] = 0,
    limit: Annotated[int | None, Parameter(ge=1, le=100_000)] = None,
) -> dict[str, Any]:
    """The categories of a level, with its category at each coarser level; all where nothing is said.

    `query` and `parent` choose among them, `offset` and `limit` show a part; `total` counts the
    chosen ones.
    """
    with service.dataset(asker, dataset) as data:
        description = told(asker, data)
        language = chosen_language(language, wishes, description)
        ref = _axis(description, level)
        variable = description.variable(ref.variable)
        chosen = variable.level(ref.level)
        parents = search.parents_of(variable, chosen)
        every = search.chosen_places(variable, chosen, Query.of(query), parent)
        places = every[offset : None if limit is None else offset + limit]
        texts = [chosen.label, *(category.label for category in chosen.categories)]
        response.headers.update(spoken_in(spoken(description, language, texts)))
        return {
            "variable": variable.name,
            "level": chosen.name,
            "label": chosen.label.says(language),
            "total": len(every),
            "categories": [
                {
                    **_of(category, "code", "missing"),
                    "label": category.label.says(language),
                    "short": category.brief(language),
                    "tile": category.tile,
                    "parents": {name: codes[i] for name, codes in parents.items() if codes[i]},
                }
                for i in places
                for category in (chosen.categories[i],)
            ],
        }


def featured(asker: Asker, data: DataSet, language: str = "") -> list[dict[str, Any]]:
    """The featured tables an asker could understand; what is wrong with others `check` says."""
    shown = []
    for one in told(asker, data).featured:
        try:
            question = understood(asker, data, one.mapping)
        except DiscreetError:
            continue
        if len(question.question.tables) == 1:
            shown.append(
                {
                    "title": one.title.says(language),
                    "says": "" if one.says is None else one.says.says(language),
                    "recipe": recipe.to_mapping(question),
                    "query": recipe.to_query(question),
                }
            )
    return shown


def _axis(description: Description, text: str) -> Any:
    try:
        return recipe.find_axis(description, text)
    except RecipeError as error:
        problem = not_found("variable or level")
        problem.detail = error.message
        raise problem from None


def _summary(
    service: Service, name: str, data: DataSet, description: Description, language: str
) -> dict[str, Any]:
    facts = {
        "id": name,
        "title": description.title.says(language),
        **_of(data.policy, "family", "method"),
        "unit": unit_words(description.unit),
        **_of(description, "population", "period", "synthetic", "languages"),
        "public": service.settings.is_public(name),
        "variables": len(description.variables),
    }
    return dict(in_language(facts, language))


def _of(thing: object, *names: str) -> dict[str, Any]:
    """What is said of a thing as it is."""
    return {name: getattr(thing, name) for name in names}


def variable_facts(
    variable: Variable, language: str, matches: list[Match] | None = None, limit: int = MOST
) -> dict[str, Any]:
    """A variable as clients see it, with the categories that were found in it."""
    shown, more = cut(matches or [], limit)
    return {
        **_of(variable, "name", "kind", "declared", "note"),
        "label": variable.label.says(language),
        "group": variable.group.says(language),
        "levels": [
            {"name": v.name, "label": v.label.says(language), "categories": len(v)}
            for v in variable.levels
        ],
        "matches": [match.to_json() for match in shown],
        "more": more,
    }
