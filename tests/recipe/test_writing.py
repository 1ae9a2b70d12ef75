"""A recipe written back, as mapping, short form or YAML, reads back to itself."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from discreet import recipe as recipes
from discreet.core.description import Description, Weight
from discreet.core.domain import AxisRef, variable
from discreet.errors import RecipeError
from discreet.methods import registry
from discreet.workspace.yaml_reader import read_file

from ..facts import people, policy

CODES = ["a", "b", "a,b", "b,a", "a:b", 'say "a"', '"', '""', "'", " a", "a ", "", "NO", "0.10"]
CODES += ["a\nb", "é & ü", "{", "#", "? a", "- a", "~", "%2C", "+", "a;b", "a=b", "\\", "\u2028"]
TEXTS = st.sampled_from([*CODES, 'Deaths, 2024: a "first" look', "true", "null", "x" * 200])


def _description() -> Description:
    """Awkward codes; a variable named like a statistic; one whose coarser level has its name."""
    odd = variable("odd", [(code, f"a,b {i}") for i, code in enumerate(CODES)])
    total = variable("sum", ["1", "2"], levels={"band": {"1": "low", "2": "high"}})
    place = variable("parish", ["p", "q", "r"], levels={"place": {"p": "x", "q": "x", "r": "y"}})
    variables = (*people().variables, odd, total, replace(place, name="place"))
    return people(variables=variables, weight=Weight("w", 100, Fraction(500)))


FACTS = _description(), policy()
SPELLINGS = ("0.5", "1/3", "3", "95%", "yes", "1e-3")


def _accepted(method: str, setting: str, text: str) -> bool:
    try:
        recipes.from_mapping({"rows": ["sex"], "method": method, setting: text}, *FACTS)
    except RecipeError:
        return False
    return True


SETTINGS = {
    method: {
        setting.name: [
            text for text in (*setting.words, *SPELLINGS) if _accepted(method, setting.name, text)
        ]
        for setting in declared.asked()
    }
    for method, declared in registry.METHODS.items()
}
"""What every method may be asked, in spellings it understands."""

REFS = [[AxisRef(v.name, level.name) for level in v.levels] for v in FACTS[0].variables]


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    """A table as people may write it, every part by its full name."""
    chosen = draw(st.lists(st.sampled_from(REFS), max_size=4, unique_by=lambda levels: levels[0]))
    table: dict[str, Any] = {"rows": [], "columns": [], "layers": []}
    for levels in chosen:
        ref = draw(st.sampled_from(levels))
        table[draw(st.sampled_from(list(table)))].append(f"{ref.variable}:{ref.level}")
    table["where"] = {}
    for levels in draw(st.lists(st.sampled_from(REFS), max_size=3, unique_by=lambda ls: ls[0])):
        ref = draw(st.sampled_from(levels))
        codes = FACTS[0].variable(ref.variable).level(ref.level).codes
        some = st.lists(st.sampled_from(codes), min_size=1, unique=True)
        table["where"][f"{ref.variable}:{ref.level}"] = draw(some)
    table["totals"] = draw(st.sampled_from(["all", "none"]))
    table["weighted"] = draw(st.booleans())
    table["name"] = draw(TEXTS)
    words = ["none"]
    if table["totals"] == "all" and chosen:
        words += ["all", "layers"]
        words += ["rows"] if table["columns"] else []
        words += ["columns"] if table["rows"] else []
    table["percent"] = draw(st.sampled_from(words))
    return table


@st.composite
def made(draw: st.DrawFn) -> recipes.Recipe:
    """A recipe of one or several tables."""
    listed = draw(st.lists(tables(), min_size=1, max_size=4))
    if draw(st.booleans()):
        parts = draw(st.lists(st.integers(1, 9), min_size=len(listed), max_size=len(listed)))
        for table, part in zip(listed, parts, strict=True):
            table["share"] = str(Fraction(part, sum(parts)))
    whole: dict[str, Any] = {"tables": listed, "title": draw(TEXTS)}
    whole["language"] = draw(st.sampled_from(["", "fr", "no"]))
    whole["method"] = draw(st.sampled_from(list(SETTINGS)))
    for name, texts in SETTINGS[whole["method"]].items():
        if texts and draw(st.booleans()):
            whole[name] = draw(st.sampled_from(texts))
    try:
        return recipes.from_mapping(whole, *FACTS)
    except RecipeError:  # settings that do not go together
        reject()


@given(made())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_what_is_written_reads_back(tmp_path: Path, asked: recipes.Recipe) -> None:
    """Mapping, short form and YAML file each give the very recipe, of one or several tables."""
    assert recipes.from_mapping(recipes.to_mapping(asked), *FACTS) == asked
    assert recipes.from_query(recipes.to_query(asked), *FACTS) == asked
    file = tmp_path / "recipe.yaml"
    file.write_text(recipes.to_yaml(asked), encoding="utf-8")
    assert recipes.from_mapping(read_file(file).plain(), *FACTS) == asked


def test_ordinary_recipes_stay_readable() -> None:
    """No quotes and no brackets where none are needed."""
    where = {"sex": "F", "area": "a1,a3"}
    written = {"rows": "region", "columns": "age", "where": where, "epsilon": "0.25"}
    asked = recipes.from_mapping(written, *FACTS)
    assert recipes.to_query(asked) == (
        "rows=area:region&columns=age&where=area:area:a1,a3&where=sex:sex:F"
        "&method=noise&epsilon=0.25"
    )
    assert recipes.to_yaml(asked) == (
        "rows: ['area:region']\ncolumns: [age]\nwhere:\n  area:area: [a1, a3]\n  sex:sex: [F]\n"
        "method: noise\nepsilon: '0.25'\n"
    )


@pytest.mark.parametrize("tables", ["[", "rows", "[" * 100_000])
def test_tables_that_are_no_json_get_one_sentence(tables: str) -> None:
    """Several tables in a query string are JSON, and what is not is said."""
    with pytest.raises(RecipeError, match="tables must be a list in JSON"):
        recipes.from_query(f"tables={tables}", *FACTS)


def test_where_without_codes_gets_one_sentence() -> None:
    """A filter names a variable and, after a colon, its codes."""
    with pytest.raises(RecipeError, match="where must look like"):
        recipes.from_query("rows=sex&where=age", *FACTS)
