"""What clients send: JSON read strictly, and the forms it must have.

NaN, numbers given twice, broken characters and nesting past the limit are refused while reading;
unknown keys are refused after it. ε, δ, ρ and shares are text: 0.1 as a float is something else.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal, TypeAlias

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, create_model

from ..languages import say
from ..methods import registry
from ..methods.declaration import Setting
from .problems import Problem

_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")


def read_json(body: bytes, most_depth: int = 32) -> Any:
    """One JSON value, read strictly.

    >>> read_json(b'{"epsilon": "0.5"}')
    {'epsilon': '0.5'}
    """
    depth = deepest = 0
    if body.count(b"[") + body.count(b"{") > most_depth:
        for bracket in _BRACKETS.finditer(_STRINGS.sub(b"", body)):
            depth += 1 if bracket[0] in b"[{" else -1
            deepest = max(deepest, depth)
        if deepest > most_depth:
            raise Problem(
                400,
                "input",
                say(
                    "The body is nested {deepest} deep; {most_depth} is the most.",
                    deepest=deepest,
                    most_depth=most_depth,
                ),
            )
    try:
        value = json.loads(
            body.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_once
        )
        if b"\\u" in body:
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError:
        raise Problem(
            400, "input", say("The body is not UTF-8 text. Send JSON in UTF-8.")
        ) from None
    except (json.JSONDecodeError, RecursionError):
        raise Problem(400, "input", say("The body is not JSON. Send one JSON object.")) from None
    except ValueError:  # a whole number of thousands of digits
        raise Problem(400, "input", say("A number in the body is too long.")) from None
    return value


def _no_constant(word: str) -> Any:
    raise Problem(
        400,
        "input",
        say("{word} is not JSON and not a number. Write numbers in digits.", word=word),
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Problem(
            400,
            "input",
            say("{twice} is given twice in one object. Give it once.", twice=repr(twice[:60])),
        )
    return read


class StrictRequest(Request):
    """A request whose JSON is read strictly."""

    async def json(self) -> Any:
        """The body as JSON; read once."""
        if "_json" in vars(self):
            return self._json
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Problem(415, "media-type", say("Send the body as application/json."))
        self._json: Any = read_json(await self.body(), self.app.state.settings.most_json_depth)
        return self._json


class Form(BaseModel):
    """A body: unknown keys are refused, types are not guessed."""

    model_config = ConfigDict(extra="forbid", strict=True)


def project_name(text: str | None) -> str:
    """A project's name as it may be charged: up to 100 letters that can be printed, or none."""
    name = text or ""
    if len(name) > 100 or not name.isprintable() or name != name.strip():
        raise Problem(
            400,
            "input",
            say(
                "A project's name has 1 to 100 characters that can be printed, no blanks at "
                "its ends."
            ),
        )
    return name


Name = Annotated[str, Field(max_length=300)]
Names = Annotated[list[Name], Field(max_length=64)] | Annotated[str, Field(max_length=4000)]
ExactText = Annotated[
    str,
    Field(
        max_length=60,
        pattern=r"^ *[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})? *$"
        r"|^ *[+-]?[0-9]+/[0-9]+ *$",
        examples=["0.5"],
    ),
]
Word = Annotated[str, Field(max_length=200)]
Sentence = Annotated[str, Field(min_length=1, max_length=1000)]
Percent = Literal[
    "rows", "columns", "layers", "all", "none", "row", "column", "layer", "total", "table"
]


class TableForm(Form):
    """One table: variables or levels by any name on rows, columns and layers."""

    rows: Names | None = None
    columns: Names | None = None
    layers: Names | None = None
    where: dict[Name, Annotated[list[Name], Field(max_length=10_000)] | Name] | None = None
    totals: bool | Literal["all", "none"] | None = None
    weighted: bool | None = None
    percent: Percent | None = None
    sort: (
        Annotated[str, Field(max_length=400, description="level:code,down, or total,up.")] | None
    ) = None
    decimals: Literal["0", "1", "2"] | Annotated[int, Field(ge=0, le=2)] | None = None
    empty: Literal["show", "hide"] | None = None
    share: ExactText | None = None
    name: Word | None = None


class _RecipeForm(TableForm):
    tables: Annotated[list[TableForm], Field(max_length=1000)] | None = None
    dataset: Word | None = None
    title: Annotated[str, Field(max_length=500)] | None = None
    method: Word | None = None
    language: Annotated[str, Field(max_length=20)] | None = None
    workload: Annotated[str, Field(max_length=4000)] | None = None

    def mapping(self) -> dict[str, Any]:
        """The recipe as the flow reads it."""
        return self.model_dump(exclude_none=True)


def _form_of(settings: list[Setting]) -> Any:
    """What a setting may be in JSON: exact numbers are text, whole numbers and words either."""
    words = "; ".join(dict.fromkeys(setting.help for setting in settings))
    exact = all(setting.exact for setting in settings)
    form = ExactText | None if exact else Word | int | bool | None
    return Annotated[form, Field(description=words)]


RecipeForm: Any = create_model(  # type: ignore[call-overload]
    "Recipe",
    __base__=_RecipeForm,
    __doc__="A question, what is done to its measurements, and a layout; the same object everywhere.",
    **{
        name: (_form_of([setting for _, setting in having]), None)
        for name, having in registry.asked_settings().items()
    },
)


CellForm: TypeAlias = Annotated[dict[Name, Name], Field(max_length=64)]
"""A category for each axis, by code or label; an axis left out is at its total."""


class _AboutTable(Form):
    recipe: RecipeForm
    table: Annotated[int, Field(ge=1, le=1000, description="Which table of the recipe.")] = 1


class DifferenceForm(_AboutTable):
    """Two cells, rows or areas of a table to compare; `exposures` are what their rates are of."""

    a: CellForm
    b: CellForm
    exposures: Annotated[list[ExactText], Field(min_length=2, max_length=2)] | None = None
    level: ExactText = "0.95"


class InferForm(_AboutTable):
    """A question about a table, with its arguments as in Python."""

    question: Word
    arguments: Annotated[dict[Name, Any], Field(max_length=20)] = {}


ShareText = Annotated[str, Field(max_length=40, examples=["95%"])]
"""A share as people write it: 25% or 0.25."""


class WishesForm(Form):
    """What a custodian wants: accuracy, the risk that is tolerated, how many tables."""

    within: Annotated[int, Field(ge=0, le=10**6)] = 5
    of: ShareText = "95%"
    risk: Annotated[
        list[Annotated[list[ShareText], Field(min_length=2, max_length=2)]],
        Field(min_length=1, max_length=20, description="A guess, and how sure it may become."),
    ] = [["10%", "25%"]]
    tables: Annotated[int, Field(ge=1, le=10**6)] = 1
    records: Annotated[int, Field(ge=1, le=10**12)] | None = None
    most: Annotated[int, Field(ge=1, le=5_000, description="Tables simulated, at most.")] = 1_000
    draft: (
        Annotated[
            dict[Name, Any],
            Field(max_length=10, description="What the policy part of discreet.yaml would say."),
        ]
        | None
    ) = None


class PolicyDraftForm(Form):
    """What the policy part of discreet.yaml would say."""

    draft: Annotated[dict[Name, Any], Field(max_length=10)]


class SimulateForm(WishesForm):
    """Wishes, and another data set whose policy is compared."""

    against: Word | None = None


class CompareRehearsal(Form):
    """Methods compared on true tables."""

    what: Literal["compare"]
    tables: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=20)] = []
    methods: Annotated[list[Word], Field(min_length=1, max_length=20)] = [
        *("cell-key", "laplace", "gaussian"),
    ]
    epsilons: Annotated[list[ExactText], Field(min_length=1, max_length=50)] = [
        *("0.1", "0.5", "1", "1.5", "2", "3"),
    ]
    p_tables: Annotated[list[Word], Field(min_length=1, max_length=50)] = [
        *("3:1", "5:2", "5:3", "7:4", "10:6", "10:10"),
    ]
    draws: Annotated[int, Field(ge=2, le=10_000)] = 100
    fitted_draws: Annotated[int, Field(ge=2, le=1_000)] = 5
    minutes: Annotated[int, Field(ge=1, le=60)] = 10


class AttackRehearsal(Form):
    """Known attacks on the policy, on made-up people."""

    what: Literal["attack"]
    attacks: Annotated[list[Word], Field(max_length=50)] = []
    epsilon: ExactText | None = None


class SimulateRehearsal(WishesForm):
    """A simulation, and what a small-number rule would blank: counted on true data."""

    what: Literal["simulate"]


RehearsalForm: TypeAlias = Annotated[
    CompareRehearsal | AttackRehearsal | SimulateRehearsal, Field(discriminator="what")
]


class RequestForm(Form):
    """What one wishes of a custodian, in words, and the recipe it is about."""

    words: Sentence
    recipe: RecipeForm | None = None


class AnswerForm(Form):
    """What a custodian says to a request."""

    words: Sentence


class LoginForm(Form):
    """Name and password."""

    name: Annotated[str, Field(max_length=64)]
    password: Annotated[str, Field(max_length=200)]


UserName: TypeAlias = Annotated[str, Field(max_length=64, pattern=r"^[a-z0-9][a-z0-9._@-]*$")]


class UserForm(Form):
    """A new account; without a password it can only use tokens."""

    name: UserName
    role: Literal["analyst", "custodian", "auditor"]
    password: Annotated[str, Field(min_length=12, max_length=200)] | None = None


class TokenForm(Form):
    """A new token of one's own."""

    label: Annotated[str, Field(max_length=100)] = ""
    scopes: (
        Annotated[
            list[Literal["read", "tables", "manage", "audit"]], Field(min_length=1, max_length=4)
        ]
        | None
    ) = None
    days: Annotated[int, Field(ge=1, le=3660)] = 90


class SaveForm(Form):
    """A recipe to keep."""

    dataset: Word
    recipe: RecipeForm
    title: Annotated[str, Field(max_length=500)] = ""
    shared: bool = False


Moment: TypeAlias = Annotated[str, Field(max_length=40, examples=["2030-01-01T09:30:00+00:00"])]


class ReleaseForm(Form):
    """Tables to publish, at once or at a time to come; a `draft` waits until it is approved."""

    dataset: Word
    recipe: RecipeForm
    title: Sentence
    publish_at: Moment | None = None
    supersedes: Word | None = None
    draft: bool = False


class ApproveForm(Form):
    """Why a release may be published, which stays with it; and when, where that is known."""

    reason: Sentence
    publish_at: Moment | None = None


class PublishForm(Form):
    """When an approved release is published; now where nothing is said."""

    publish_at: Moment | None = None


class WithdrawForm(Form):
    """Why a release is withdrawn; the reason stays."""

    reason: Sentence


class BudgetForm(Form):
    """A budget: pure ε, (ε, δ) or ρ; none of them takes a share away."""

    epsilon: ExactText | None = None
    delta: ExactText | None = None
    rho: ExactText | None = None
    reason: Sentence


class ProposalForm(BudgetForm):
    """What two custodians settle: a data set's budget or policy, a custodian, or the end of one."""

    dataset: Word | None = None
    policy: (
        Annotated[
            dict[Name, Any],
            Field(
                max_length=5, description="rules, reliable, method, methods, approval: as meant."
            ),
        ]
        | None
    ) = None
    add_custodian: UserName | None = None
    end_custodian: UserName | None = None
