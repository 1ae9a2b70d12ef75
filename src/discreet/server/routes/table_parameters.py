"""The parameters that tables are asked for with."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query

FormatName = Annotated[
    str | None, Query(max_length=40, description="A format; wins over the header Accept.")
]
LanguageName = Annotated[str | None, Query(max_length=20, description="Language of labels.")]
Project = Annotated[
    str | None, Query(max_length=100, description="The project a charge counts against.")
]
FirstRow = Annotated[
    int, Query(alias="from", ge=1, le=10**9, description="html: the first row shown.")
]
RowsMost = Annotated[
    int | None, Query(ge=1, le=20_000, description="html: how many rows; else a page of them.")
]
Intervals = Annotated[bool, Query(description="html: the noise interval under each number.")]
Heat = Annotated[bool, Query(description="html: how large each number is, as a class.")]
ChartKind = Annotated[
    Literal["", "dots", "bars", "lines", "multiples", "heat", "tiles"],
    Query(description="svg, vega-lite: the kind of picture; empty: the one that suits the table."),
]
Theme = Annotated[
    Literal["page", "print"],
    Query(description="svg: colours of the page it stands in, or fixed ones for a file."),
]
Free = Annotated[
    bool, Query(description="Answer from what was released before: charges nothing, or is refused.")
]
NoPlan = Annotated[
    bool,
    Query(description="Names and rules only: for a table that shall cost nothing and needs no ε."),
]
Text = Annotated[str | None, Query(max_length=4000)]
Where = Annotated[
    list[str] | None, Query(max_length=50, description="variable:codes, once a variable.")
]
Totals = Annotated[str | None, Query(max_length=10)]
Percent = Annotated[
    str | None, Query(max_length=10, description="Of rows, columns, layers or all.")
]
SortBy = Annotated[
    str | None,
    Query(max_length=400, description="Order of rows: level:code,down, or total,up."),
]
Decimals = Annotated[str | None, Query(max_length=1, description="Of percentages.")]
Empty = Annotated[
    str | None, Query(max_length=4, description="hide leaves out what holds nothing but 0.")
]
MethodName = Annotated[str | None, Query(max_length=40)]
Epsilon = Annotated[str | None, Query(max_length=60)]
