"""rinott's Table 1: age by occupation, 132 cells, as printed; a small table to try things on.

Source: Rinott, O'Keefe, Shlomo and Skinner (2018), "Confidentiality and Differential Privacy in the
Dissemination of Frequency Tables", Table 1: proportions of the 2001 census of the United Kingdom for
NUTS2 region 1 and country of birth "rest of Europe", scaled by its authors to a population of
1,500,000. The figures are public, and no record of a real person is in them.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

SOURCE = "Rinott, O'Keefe, Shlomo and Skinner (2018), Table 1; 2001 census of the United Kingdom"
OCCUPATIONS = tuple("ABCDEFGHIJK")
_PRINTED = """
15-19   2   2   8  7  31 0  7  2  20 0  80
20-24  55  68 110 54 134 0 23 13 138 2 129
25-29 115 147 132 78  83 0 19 15  45 0  18
30-34 191 129 127 89  68 0 18  8  33 4  10
35-39 153 113 119 74  49 1 34 15  44 4   9
40-44 102  70  78 70  43 1 20 21  24 3   8
45-49  94  65  55 72  47 2 29 16  36 4  14
50-54  92  81  75 80  65 1 43 17  36 1   8
55-59  74  51  56 64  72 2 49 21  67 2  13
60-64  63  41  40 70  53 3 22 22  56 4  59
65-69  12   5   7  3  12 0  6  4   8 2 287
70-74   4   4   1  5   4 0  2  1   4 0 307
"""


@dataclass(frozen=True)
class PrintedTable:
    """Counts by age group and occupation, row by row as printed."""

    ages: tuple[str, ...]
    occupations: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]

    @property
    def counts(self) -> tuple[int, ...]:
        """Every cell, row by row."""
        return tuple(count for row in self.rows for count in row)

    def records(self) -> str:
        """A CSV file with a line for each of the people counted: what `discreet init` reads."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("age", "occupation"))
        for age, row in zip(self.ages, self.rows, strict=True):
            for occupation, count in zip(self.occupations, row, strict=True):
                writer.writerows([(age, occupation)] * count)
        return out.getvalue()


def uk_census() -> PrintedTable:
    """The table as printed.

    >>> table = uk_census()
    >>> len(table.counts), sum(table.counts), table.counts.count(0)
    (132, 5784, 9)
    """
    lines = [line.split() for line in _PRINTED.strip().splitlines()]
    rows = tuple(tuple(int(cell) for cell in cells) for _, *cells in lines)
    return PrintedTable(tuple(age for age, *_ in lines), OCCUPATIONS, rows)
