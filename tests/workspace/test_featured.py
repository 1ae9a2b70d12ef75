"""How data are shown: short labels, groups, tiles, and tables put in front of readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.errors import DescriptionError
from discreet.workspace.description_file import read
from discreet.workspace.featured_file import featured_findings
from discreet.workspace.loading import coding_digest

PAGE = """\
dataset: people
family: dp
budget: {epsilon: "1"}
variables:
  place:
    status: declared
    kind: geography
    group: {en: Where, fr: Où}
    column: place
    categories:
      n: {label: The North, short: North, tile: [1, 0]}
      s: {label: The South, short: {en: South, fr: Sud}, tile: [1, 1]}
      u: Unknown
  disease:
    column: disease
    categories: [flu, kuru]
  age:
    status: declared
    column: age
    categories: categories/age.csv
"""
AGES = (
    "code,label,short,short:fr,tile\n0,Under 1 year,Under 1,Moins de 1,\n1,1 year or more,,,4 7\n"
)


def described(folder: Path, more: str = "", page: str = PAGE, ages: str = AGES):
    """A description with a category file."""
    (folder / "categories").mkdir(exist_ok=True)
    (folder / "categories" / "age.csv").write_text(ages, "utf-8")
    (folder / "discreet.yaml").write_text(page + more, "utf-8")
    return read(folder)


def test_short_labels_groups_and_tiles_are_read(tmp_path: Path):
    """From the YAML and from a category file, by language too; without them the label serves."""
    place, _, age = described(tmp_path).description.variables
    assert place.group.says("fr") == "Où"
    assert [one.brief("fr") for one in place.finest.categories] == ["North", "Sud", "Unknown"]
    assert [one.tile for one in place.finest.categories] == [(1, 0), (1, 1), None]
    assert [one.brief() for one in age.finest.categories] == ["Under 1", "1 year or more"]
    assert age.finest.categories[0].brief("fr") == "Moins de 1"
    assert age.finest.categories[1].tile == (4, 7)


def test_what_is_shown_needs_no_new_load(tmp_path: Path):
    """Records are coded the same whatever the short labels, tiles, groups and featured tables say."""
    before = coding_digest(described(tmp_path).coding)
    page = PAGE.replace(", short: North, tile: [1, 0]", "").replace(
        "    group: {en: Where, fr: Où}\n", ""
    )
    more = "featured:\n  - {title: Ages, recipe: {rows: [age]}}\n"
    assert coding_digest(described(tmp_path, more, page).coding) == before


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (PAGE.replace("[1, 1]", "[1, 0]"), "tile [1, 0] is that of 'n' and of 's'"),
        (PAGE.replace("[1, 1]", "[1]"), "two whole numbers"),
        (PAGE.replace("[1, 1]", "[1, -1]"), "two whole numbers"),
        (PAGE.replace("[1, 1]", "[1, 100]"), "two whole numbers"),
        (PAGE + "featured:\n  - {title: Ages}\n", "a title and a recipe"),
        (PAGE + "featured:\n  - {recipe: {rows: [age]}}\n", "a title and a recipe"),
        (PAGE + "featured:\n  - {title: A, recipe: rows}\n", "must be a mapping"),
        (PAGE + "featured: [age]\n", "must be a mapping"),
        (PAGE + "featured:\n  - {title: A, recipe: {rows: [age]}, text: b}\n", "text"),
        (PAGE + f"featured:\n  - {{title: {'A' * 401}, recipe: {{rows: [age]}}}}\n", "400"),
        (PAGE + "featured:\n" + "  - {title: A, recipe: {rows: [age]}}\n" * 51, "at most 50"),
    ],
)
def test_mistakes_are_said_in_a_sentence(tmp_path: Path, page: str, words: str):
    """Wrong tiles and featured tables name the file, the line and what is allowed."""
    with pytest.raises(DescriptionError) as caught:
        described(tmp_path, page=page)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ("{rows: [agee], epsilon: '1'}", "agee"),
        ("{rows: [disease], epsilon: '1'}", "disease"),
        ("{tables: [{rows: [age]}, {rows: [place]}], epsilon: '1'}", "several tables"),
        ("{rows: [age], sort: 'place:n,down', epsilon: '1'}", "sort"),
        ("{rows: [age], columns: [place], epsilon: '1'}", ""),
    ],
)
def test_check_names_featured_tables_nobody_could_see(tmp_path: Path, recipe: str, words: str):
    """A recipe that cannot be read, breaks a rule or names what is not declared is a warning."""
    more = f"featured:\n  - title: A table\n    recipe: {recipe}\n"
    findings = list(featured_findings(described(tmp_path, more)))
    assert bool(findings) == bool(words)
    for finding in findings:
        assert words in finding.what
        assert "kuru" not in finding.what
