"""The demo genes: a table, a refusal, a second question."""

from __future__ import annotations

import hashlib
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.core.control import Control
from discreet.demo import genes
from discreet.errors import Refusal
from discreet.formats.svg import to_svg
from discreet.workspace import check, load

from ..command import run

ROOT = Path(__file__).resolve().parents[2]
DIGEST = "34f5f1de1e3e7c100e62d03e9ecb066b1e2f752192837947427e1be9fc442058"


def test_the_people_are_the_same_on_every_machine() -> None:
    """A digest of the records; it changes only when the demo is changed on purpose."""
    assert hashlib.sha256(genes.records().encode()).hexdigest() == DIGEST


def stars(table) -> list[tuple[str, str]]:
    """The cells of a table that are withheld, by the codes of their row and column."""
    rows, columns = table.codes(0), table.codes(1)
    return [(rows[i], columns[j]) for i, j in np.argwhere(~table.shown).tolist()]


@pytest.mark.slow
@pytest.mark.parametrize("towns", [("north", "south"), ("south", "north")])
def test_a_table_a_refusal_and_a_second_question(fresh_demo: Path, towns: tuple[str, str]) -> None:
    """One town comes out, both together are refused from then on, the other town comes out too.

    Whichever is asked first, four of sixteen counts of the north are stars and none of the south.
    """
    folder = fresh_demo / "genes"
    assert [f for f in check(folder) if f.severity != "note"] == []
    table = {"rows": "eyes", "columns": "hair"}
    with dc.open(folder) as data:
        found = {towns[0]: data.table(**table, where={"town": towns[0]}).release().protected}
        with pytest.raises(Refusal) as caught:
            _ = data.table(**table).standing
        assert caught.value.rule == "overlapping-table"
        found[towns[1]] = data.table(**table, where={"town": towns[1]}).release().protected
    assert stars(found["north"]) == [
        (eyes, hair) for eyes in ("black", "green") for hair in ("brown", "red")
    ]
    assert stars(found["south"]) == []


def test_stars_stay_though_other_counts_lie_behind_them(fresh_demo: Path) -> None:
    """Whoever lies behind the stars, they are where they were: nobody looked."""
    folder = fresh_demo / "genes"
    table = {"rows": "eyes", "columns": "hair", "where": {"town": "north"}}
    with dc.open(folder) as data:
        before = data.table(**table).release().protected
    other = fresh_demo / "others"
    genes.make(other, Control())
    source = other / "source" / "records.csv"
    lines = source.read_text(encoding="utf-8").splitlines()
    swapped = {("black", "brown"): "no", ("black", "red"): "yes"}
    swapped |= {("green", "brown"): "yes", ("green", "red"): "no"}
    left = dict.fromkeys(swapped, 3)  # so many people of each cell change, along the sums
    for place, line in enumerate(lines):
        number, town, *kind, gene = line.split(",")
        to = swapped.get((kind[0], kind[1]), gene)
        if town == "north" and to != gene and left[kind[0], kind[1]]:
            left[kind[0], kind[1]] -= 1
            lines[place] = ",".join((number, town, *kind, to))
    assert set(left.values()) == {0}
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    load(other)
    with dc.open(other) as data:
        after = data.table(**table).release().protected
    assert stars(after) == stars(before) != []
    assert (after.values == before.values).all()


def test_a_plan_says_what_to_expect_and_no_budget_where_there_is_none(demo: Path) -> None:
    """Before anything is read: stars to expect, and no line of what is left of a budget."""
    words = ("--rows", "eyes", "--columns", "hair", "--where", "town=north", "--dry-run")
    done = run("table", demo / "genes", *words)
    assert done.returncode == 0
    assert "about 4 of 16 cells will be stars" in " ".join(done.stdout.split())
    assert "None" not in done.stdout
    assert "left" not in done.stdout


def test_the_page_of_the_method_shows_this_table(fresh_demo: Path) -> None:
    """Every line of the table stands in the docs, and the figures that explain its stars are these."""
    page = (ROOT / "docs" / "concepts" / "suppression.md").read_text(encoding="utf-8")
    words = ("--rows", "eyes", "--columns", "hair", "--where", "town=north")
    done = run("table", fresh_demo / "genes", *words, "--notes")
    table = done.stdout.partition("       Hair\n")[2].partition("✱ suppressed")[0]
    lines = [line.rstrip() for line in table.splitlines()]
    assert len(lines) == 8
    assert "\n".join(lines) in page
    assert "This table spent 0.0486 of δ = 0.2" in " ".join(done.stdout.split())
    assert "0.007, and eight counts, the large ones first, 0.042 together" in page
    with dc.open(fresh_demo / "genes") as data:
        asked = data.table(rows="eyes", columns="hair", where={"town": "north"})
        charged = asked.release().protected.law.about["risk"]
    spent = sum(charged) / 10**15
    assert (round(spent, 3), round(0.0486 - spent, 3)) == (0.042, 0.007)
    assert sum(one > 0 for one in charged) == 8
    assert "is\n0.24, more than δ" in page


def test_the_four_stars_would_tell_too_much_with_a_chance_above_delta() -> None:
    """The chance is worked out from what is out, without the method: it is the 0.24 of the docs."""
    total = unsafe = 0.0
    for red in range(16):  # of green eyes; the others follow from what is left of the totals
        cells = ((28, 0.2, red), (24, 0.3, 15 - red), (100, 0.3, 28 + red), (200, 0.2, 40 - red))
        weight = math.prod(math.comb(n, m) * p**m * (1 - p) ** (n - m) for n, p, m in cells)
        moved = [abs(1 - m / (n * p)) for n, p, m in cells]
        moved += [abs(1 - (n - m) / (n * (1 - p))) for n, p, m in cells]
        total += weight
        unsafe += weight * (max(moved) > 0.5 + 1e-12)
    assert 0.235 < unsafe / total < 0.236
    left = [85 - 44 - 26, 183 - 42 - 73, 125 - 26 - 56, 123 - 44 - 39]
    assert left == [15, 68, 43, 40]


def test_an_attribute_that_is_not_private_is_to_do(demo: Path, tmp_path: Path) -> None:
    """`check` calls nothing sound in which every question is refused; it names the line to write."""
    folder = tmp_path / "genes"
    shutil.copytree(demo / "genes", folder)
    file = folder / "discreet.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("    role: private\n", ""), encoding="utf-8")
    (one,) = [f for f in check(folder) if f.severity != "note"]
    assert one.severity == "to do"
    assert "`role: private` with gene" in one.todo
    with dc.open(folder) as data, pytest.raises(Refusal, match="role: private"):
        _ = data.table(rows="eyes").standing


def test_pictures_have_every_label_and_every_star(fresh_demo: Path) -> None:
    """Four colours have room below each small picture; a heat map has a star where the table has one."""
    with dc.open(fresh_demo / "genes") as data:
        asked = data.table(rows="eyes", columns="hair", where={"town": "north"})
        table = asked.release().protected
    small, warm = (re.findall(">([^<>]+)</text>", to_svg(table, k)) for k in ("multiples", "heat"))
    assert small.count("Blonde") == small.count("Red") == 4
    assert small.count("✱") == warm.count("✱") == 4
