"""Synthetic protected tables for the tests of formats, made with plain numpy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from discreet.core.cell_law import CellLaw, MarginLaw, Runs, Source
from discreet.core.domain import Axis, Category, Domain, Level, Variable
from discreet.core.guarantee import Guarantee, Kind
from discreet.core.law_builders import laplace
from discreet.core.pure_laplace import PureLaplace
from discreet.core.table import Noise, ProtectedTable, Provenance, Status
from discreet.core.text import Text
from discreet.formats.escape import is_formula

HYPERLINK = '=HYPERLINK("x")'


def unescaped(text: str) -> str:
    """A text of a CSV file before it was escaped."""
    return text[1:] if text.startswith("'") and is_formula(text[1:]) else text


def axis(name: str, labels: list[str], *, codes: list[str] | None = None, **named: Any) -> Axis:
    codes = codes or [f"{name[:1].upper()}{i}" for i in range(len(labels))]
    categories = tuple(
        Category(code, Text.of(label)) for code, label in zip(codes, labels, strict=True)
    )
    level = Level(name, Text.of(named.pop("label", name)), categories, tuple(range(len(labels))))
    return Axis(Variable(named.pop("variable", name), level.label, (level,), **named), level)


def provenance(**named: Any) -> Provenance:
    facts: dict[str, Any] = {
        "dataset": "deaths",
        "dataset_title": "Deaths, an invented year",
        "question": {"dataset": "deaths", "parameters": {"epsilon": Fraction(1, 2)}},
        "question_hash": "ab12" * 16,
        "data_version": "2026-11-01",
        "policy_version": "p3",
        "method": "noise",
        "software": "discreet 0.1.0",
        "source": "Office of Invention",
        "licence": "CC-BY-4.0",
        "synthetic": True,
    }
    return Provenance(**(facts | named))


GUARANTEE = Guarantee(
    Kind.DP,
    "person",
    "add or remove one",
    Fraction(1, 2),
    Fraction(0),
    caveats=("Read with care.",),
)


LAW = CellLaw(
    (Source("region × sex", PureLaplace.of("1/2")), Source("sex", laplace("0.7", 5))),
    (
        MarginLaw(
            ("region", "sex"), 0, Runs.of(np.array([[1] * 2] * 2 + [[0, 1]] + [[1] * 2] * 4))
        ),
        MarginLaw(("region",), 0, 2),
        MarginLaw(("sex",), 1),
        MarginLaw((), None),
    ),
    negatives="threshold",
    threshold=3,
)


def make(
    axes: list[Axis],
    totals: tuple[bool, ...],
    *,
    values: Any = None,
    status: Any = None,
    noise: bool = True,
    seed: int = 1,
    **named: Any,
) -> ProtectedTable:
    """A table of drawn numbers, some unreliable, hidden ones zero."""
    random = np.random.default_rng(seed)
    shape = tuple(len(a) + t for a, t in zip(axes, totals, strict=True))
    if values is None:
        values = random.integers(-5, 4000, size=shape)
    values = np.asarray(values, dtype=np.int64).reshape(shape)
    if status is None:
        status = np.where(np.abs(values) < 20, Status.UNRELIABLE, Status.OK)
    status = np.asarray(status, dtype=np.uint8).reshape(shape)
    known = None
    if noise:
        sd = np.full(shape, 2.8)
        known = Noise(sd, values - 6, values + 6)
    shown = np.isin(status, [s for s in Status if s.has_value])
    return ProtectedTable(
        title=named.pop("title", "Deaths by " + " and ".join(a.name for a in axes)),
        domain=Domain(tuple(axes)),
        totals=totals,
        values=np.where(shown, values, 0),
        status=status,
        guarantee=named.pop("guarantee", GUARANTEE),
        provenance=named.pop("provenance", provenance()),
        noise=known,
        **named,
    )


def deaths() -> ProtectedTable:
    """Regions by sex with totals, every status present, a label that would like to be a formula."""
    regions = ["North East", HYPERLINK, "Yorkshire, The Humber", 'The "South"', "-9", "+44", "@x"]
    sexes = ["Female", "Male"]
    status = np.zeros((8, 3), dtype=np.uint8)
    status[0] = [Status.UNRELIABLE, Status.LOW, Status.OK]
    status[1] = [Status.BELOW_THRESHOLD, Status.SUPPRESSED, Status.OK]
    status[2] = [Status.STRUCTURAL_ZERO, Status.NOT_RELEASED, Status.OK]
    values = np.arange(24).reshape(8, 3) * 1117 - 3
    values[2, 0] = 0
    return make(
        [
            axis("region", regions, kind="geography", label="Region"),
            axis("sex", sexes, label="Sex"),
        ],
        (True, True),
        values=values,
        status=status,
        extra={"additive": values + 1},
        law=LAW,
        notes=("Regions as of January.",),
    )


NASTY = st.one_of(
    st.sampled_from(
        [
            HYPERLINK, "+1+1", "-9", "-x", "@SUM(A1)", "\t=1", 'say "hi"', "a,b", "two\nlines",
            "'quoted", "'=x", "''@", "", " ", " padded ", "Ünïcødé ✱ 漢字 🎉", "x" * 400, "1e5",
            "007", "NULL", "NA", "true", "_x0041_", "http://x.y", "{=1}", "a;b|c", "\\", "[low]",
        ]
    ),
    st.text(
        st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"), include_characters="\n\t"),
        max_size=12,
    ),
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> ProtectedTable:
    """Small tables with nasty labels and codes, any status, totals on some axes only."""
    names = draw(
        st.lists(
            st.sampled_from(
                ["region", "sex", "status", "count", "age band", "Region_label", "été"]
            ),
            max_size=3,
            unique=True,
        )
    )
    axes = []
    for name in names:
        labels = draw(st.lists(NASTY, min_size=1, max_size=3))
        codes = draw(
            st.lists(
                NASTY.filter(lambda code: code.strip() and code != "_T"),
                min_size=len(labels),
                max_size=len(labels),
                unique=True,
            )
        )
        axes.append(axis(name, labels, codes=codes, label=draw(NASTY)))
    totals = tuple(draw(st.booleans()) for _ in axes)
    shape = tuple(len(a) + t for a, t in zip(axes, totals, strict=True))
    size = int(np.prod(shape))
    values = draw(
        st.lists(st.integers(-(2**52), 2**52), min_size=size, max_size=size)
    )  # Excel's numbers are doubles
    status = draw(st.lists(st.sampled_from(Status), min_size=size, max_size=size))
    values = [0 if s is Status.STRUCTURAL_ZERO else v for v, s in zip(values, status, strict=True)]
    return make(
        axes,
        totals,
        values=values,
        status=[int(s) for s in status],
        noise=draw(st.booleans()),
        title=draw(NASTY),
        extra={"additive": np.ones(shape, dtype=np.int64)} if draw(st.booleans()) else {},
    )
