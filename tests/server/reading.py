"""What a page shows, read back from its HTML."""

from __future__ import annotations

import html
import re

TABLE = re.compile(r'<table class="grid(?! ghost)[^>]*>(.*?)</table>', re.DOTALL)
_CELL = re.compile(r"<td[^>]*>(.*?)</td>")
_BESIDE = re.compile(r"<(small|sup|b)>.*?</\1>")


def shows_numbers(page: str) -> bool:
    """Whether there is a table with numbers, not only one of errors to expect."""
    return TABLE.search(page) is not None


def cells(page: str) -> list[str]:
    """What stands in the cells of the table, row after row, without marks and intervals."""
    table = TABLE.search(page)
    assert table is not None, "the page shows no table"
    body = table[1].partition("</thead>")[2]
    return [html.unescape(_BESIDE.sub("", cell)) for cell in _CELL.findall(body)]


def numbers(page: str) -> list[int]:
    """The counts in the cells of the table, row after row."""
    return [int(cell.replace(",", "").replace("−", "-")) for cell in cells(page)]


def links(page: str) -> list[str]:
    """Every address the page leads to."""
    return [html.unescape(link) for link in re.findall(r'href="([^"]*)"', page)]
