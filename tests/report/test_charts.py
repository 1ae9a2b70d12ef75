"""Pictures of laws show the law they were given."""

from __future__ import annotations

import re
import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InputError
from discreet.report import charts

BINOMIAL = {z: Fraction(w, 64) for z, w in zip(range(-3, 4), (1, 6, 15, 20, 15, 6, 1), strict=True)}


def test_a_law_chart_has_a_bar_for_each_perturbation() -> None:
    """The spec holds the law's probabilities, the SVG a bar for each and no address to fetch."""
    spec = charts.law_chart(BINOMIAL, "A law")
    drawn = {row["perturbation"]: row["probability"] for row in spec["data"]["values"]}
    assert drawn == {z: float(p) for z, p in BINOMIAL.items()}
    assert "no change in 31.2 % of cells" in spec["description"]
    svg = charts.to_svg(spec)
    assert svg.count('aria-roledescription="bar"') == 7
    assert "currentColor" in svg
    assert "A law" in svg
    assert not re.search(r'(href|src)="http', svg)


def test_pictures_become_png() -> None:
    png = charts.to_png(charts.law_chart(BINOMIAL, "A law"))
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    assert 920 < width < 1160
    assert 400 < height < 680


LAWS = st.dictionaries(
    st.integers(-300, 300), st.integers(0, 1000), min_size=1, max_size=40
).filter(lambda weights: any(weights.values()))


@given(weights=LAWS, width=st.integers(20, 120))
def test_text_bars_are_as_long_as_their_share(weights: dict[int, int], width: int) -> None:
    """Lines fit the width, bars grow with probability, and what is left out is under 0.1 %."""
    total = sum(weights.values())
    pmf = {z: Fraction(w, total) for z, w in weights.items()}
    lines = charts.law_bars(pmf, width)
    assert len(lines) <= 45
    assert sum(pmf.values()) - sum(charts.trimmed(pmf, Fraction(1, 1000)).values()) <= Fraction(
        1, 1000
    )
    bars = [line.count("█") for line in lines]
    room = width if width >= 40 else 40
    assert max(map(len, lines)) <= room
    assert max(bars) >= 4


def test_a_symmetric_law_stays_symmetric_when_its_ends_are_cut() -> None:
    weights = {z: 4 ** (12 - abs(z)) for z in range(-12, 13)}
    total = sum(weights.values())
    kept = charts.trimmed({z: Fraction(w, total) for z, w in weights.items()})
    assert min(kept) == -max(kept)
    assert 3 < max(kept) < 12


def test_a_wide_law_is_drawn_in_steps_and_says_what_is_left_out() -> None:
    """A law cut for the picture: text and picture name the share beyond it."""
    pmf = {z: Fraction(1, 5000) for z in range(-1000, 1001)}
    assert charts.law_bars(pmf)[-1].split() == ["…", "60.0", "%", "further", "out"]
    spec = charts.law_chart(pmf, "A law")
    assert 100 < len(spec["data"]["values"]) <= 401
    assert 0 in [row["perturbation"] for row in spec["data"]["values"]]
    assert "one perturbation in 5 is drawn; beyond ±1000 lie 60.0 %" in charts.to_svg(spec)


def test_text_bars_stay_within_the_support() -> None:
    pmf = {z: Fraction(1, 201) for z in range(-3, 198)}
    lines = charts.law_bars(pmf)
    assert lines[0].split()[0] == "-3"
    assert lines[-1].split()[0].endswith("+197")


def test_an_empty_law_is_refused() -> None:
    for pmf in ({}, {0: Fraction(0)}):
        with pytest.raises(InputError, match="positive probability"):
            charts.law_bars(pmf)
