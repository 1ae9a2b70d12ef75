"""The table in a terminal: right numbers in the right places, nothing left out in silence."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from html import escape

import numpy as np
import pytest
from hypothesis import given
from rich.cells import cell_len
from rich.console import Console

from discreet.arrangement import laid_out
from discreet.core.table import ProtectedTable, Status, TrueTable
from discreet.formats import footnote, html
from discreet.formats.notes import SUBJECTS, notes
from discreet.formats.terminal import Limits, all_notes, render, to_text
from discreet.recipe import Layout

from ..examples import examples
from .tables import axis, deaths, make, tables


def test_a_table_looks_like_this() -> None:
    """The whole picture of a small table, totals apart, statuses marked and explained."""
    table = make(
        [axis("region", ["North", "South"], label="Region"), axis("sex", ["F", "M"], label="Sex")],
        (True, True),
        values=[[1204, 7, 1209], [950, 0, 0], [2150, 31, 12181]],
        status=[[0, 1, 0], [0, 5, 4], [0, 0, 0]],
        title="Deaths by region and sex",
    )
    assert to_text(table, cost="ε = 0.5").splitlines()[:18] == [
        "Deaths by region and sex",
        "Deaths, an invented year",
        "Synthetic data: no real person is described.",
        "",
        "        Sex",
        "Region      F    M  │   Total",
        "────────────────────┼─────────",
        "North   1,204    7ᵘ │   1,209",
        "South     950    –  │       ✱",
        "────────────────────┼─────────",
        "Total   2,150   31  │  12,181",
        "ᵘ unreliable: the noise is large beside the number · ✱ suppressed · – cannot exist (declared",
        "structural zero)",
        "",
        "Typical error ±6 (95 % noise interval; not sampling error).",
        "Differentially private with ε = 0.5 (neighbours: add or remove one person), for this table.",
        "Cost: ε = 0.5",
        "6 more notes: print(table.notes)",
    ]


@pytest.mark.slow
@examples(100)
@given(table=tables())
def test_every_line_fits_and_no_label_steers_the_terminal(table: ProtectedTable) -> None:
    """Whatever the labels hold, lines stay within the width and free of control characters."""
    limits = Limits(width=80, rows=100, panels=100, layers=100)
    text = to_text(table, limits=limits)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert max(map(cell_len, text.splitlines())) <= 80
    for value, shown in zip(table.values.flat, table.shown.flat, strict=True):
        if shown and value:
            assert f"{int(value):,}" in text
    assert "more" not in text.split("Differentially")[0] or any(
        "more" in label for i in range(len(table.shape)) for label in table.labels(i)
    )


def test_what_is_not_shown_is_counted() -> None:
    """Rows, columns and layers beyond the limits are named by their number; the total row stays."""
    axes = [
        axis("layer", [f"L{i}" for i in range(5)]),
        axis("row", [f"r{i}" for i in range(50)]),
        axis("column", [f"col{i}" for i in range(40)]),
    ]
    table = make(axes, (False, True, False))
    layout = Layout(layers=("layer",), rows=("row",), columns=("column",))
    text = to_text(laid_out(table, layout), limits=Limits(width=60, rows=10, panels=2, layers=2))
    assert text.count("⋮ 41 more rows: use --format csv.") == 4
    shown = len(set(re.findall(r"\bcol\d+", text)))
    assert f"→ {40 - shown} more columns: use --format csv." in text
    assert "3 more layers: use --format csv." in text
    assert re.search(r"^Total ", text, re.MULTILINE)


def test_rows_without_a_total_end_in_a_count() -> None:
    table = make([axis("row", [f"r{i}" for i in range(50)])], (False,))
    assert "⋮ 40 more rows" in to_text(table, limits=Limits(rows=10))


def test_the_layout_turns_the_table() -> None:
    """Rows become columns; numbers stay with their labels."""
    table = make(
        [axis("region", ["N", "S"]), axis("sex", ["F", "M"])],
        (False, False),
        values=[[100, 200], [300, 400]],
    )
    straight = to_text(table).splitlines()
    turned = to_text(laid_out(table, Layout(rows=("sex",), columns=("region",)))).splitlines()
    assert any(re.fullmatch(r"N +100 +200", line) for line in straight)
    assert any(re.fullmatch(r"F +100 +300", line) for line in turned)


def test_columns_under_one_heading_stay_in_one_panel() -> None:
    axes = [
        axis("row", ["a"]),
        axis("outer", ["One", "Two", "Three"]),
        axis("inner", ["x" * 8, "y" * 8, "z" * 8]),
    ]
    text = to_text(
        make(axes, (False, False, False), layout=Layout(("row",), ("outer", "inner"))),
        limits=Limits(width=45),
    )
    for line in text.splitlines():
        assert line.count("xxxxxxxx") == line.count("zzzzzzzz")
    assert text.count("xxxxxxxx") == 3


def test_rich_gets_colour_only_when_asked() -> None:
    """Bold totals and dim unreliable numbers with colour, plain text without; the same words."""

    def printed(color: bool) -> str:
        console = Console(
            file=io.StringIO(), force_terminal=True, width=120, color_system="standard"
        )
        console.print(render(deaths(), color=color))
        return console.file.getvalue()  # type: ignore[attr-defined]

    assert "\x1b[1m" in printed(True)
    assert "\x1b[" not in printed(False)
    plain = [line.rstrip() for line in printed(False).splitlines()]
    assert plain == to_text(deaths()).splitlines()
    assert re.sub(r"\x1b\[[\d;]*m", "", printed(True)).split() == printed(False).split()


def test_hidden_numbers_do_not_show_and_true_tables_are_refused() -> None:
    table = make([axis("r", ["a", "b"])], (False,), values=[777, 5], status=[Status.LOW, Status.OK])
    assert "777" not in to_text(table)
    with pytest.raises(TypeError, match="true table"):
        render(TrueTable(table.domain, np.array([777, 5])))  # type: ignore[arg-type]


def test_the_total_is_never_what_is_left_out() -> None:
    """However narrow the terminal, the last panel ends with the total, and every line fits."""
    names = [f"A rather long label {n}" for n in range(40)]
    table = make([axis("r", ["a", "b"]), axis("c", names)], (True, True))
    for width in (40, 60, 80, 120):
        for panels in (1, 3):
            limits = Limits(width=width, panels=panels)
            lines = to_text(table, limits=limits).splitlines()
            heads = [line for line in lines if line.startswith("r ")]
            assert len(heads) == panels
            assert ["Total" in line for line in heads] == [False] * (panels - 1) + [True]
            assert max(map(len, lines)) <= width
            shown = sum("A rather" in line for line in lines)
            assert shown
            (more,) = [line for line in lines if line.startswith("→")]
            assert more.endswith("more columns: use --format csv.")


def test_nested_columns_keep_the_total_of_all() -> None:
    """Where columns are of two variables, the one that is kept is the total of both."""
    axes = [axis("r", ["a", "b"]), axis("c", [f"c{n}" for n in range(30)]), axis("d", ["x", "y"])]
    table = laid_out(make(axes, (True, True, True)), Layout(("r",), ("c", "d")))
    lines = to_text(table, limits=Limits(width=60, panels=2)).splitlines()
    last = [line for line in lines if line.startswith("b ")][-1]
    assert last.split()[-1].rstrip("ᵘ") == f"{int(table.values[1, -1, -1]):,}"


def test_two_lines_stand_under_a_table_and_all_on_request() -> None:
    """Noise and privacy; the rest by subject, attack figures among it, nothing twice."""
    table = deaths()
    promise = replace(table.guarantee, risks=("About 93 queries give a count away.",))
    table = replace(table, guarantee=promise, notes=(*table.notes, *table.notes))
    short, every = to_text(table), to_text(table, more="")
    assert "queries" not in short
    assert every.count("About 93 queries give a count away.") == 1
    assert "queries" not in " ".join(footnote(table))
    rest = [note for note in notes(table) if note.depth > 1]
    assert f"{len(rest) + 1} more notes: print(table.notes)" in short
    together = " ".join(every.split())
    assert [note.words for note in rest if together.count(" ".join(note.words.split())) != 1] == []
    assert {note.kind for note in notes(table)} <= set(SUBJECTS)
    for sentence in [note.words for note in rest]:
        assert sentence in " ".join(all_notes(table, 10_000).split())


def test_what_a_reader_must_know_is_always_said() -> None:
    """A bound on records of one unit stands under the table without being asked for."""
    table = deaths()
    bound = "At most 2 records of each person are counted."
    table = replace(table, guarantee=replace(table.guarantee, notices=(bound,)))
    assert bound in to_text(table)
    assert bound in html.fragment(table).partition("<details>")[0]


def test_further_notes_are_folded_on_a_page() -> None:
    """The first depth is read at once, the rest opens."""
    table = deaths()
    first, mark, folded = html.fragment(table).partition("<details>")
    assert mark
    for note in notes(table):
        assert (escape(note.words) in first) == (note.depth == 1)
        assert (escape(note.words) in folded) == (note.depth > 1)
