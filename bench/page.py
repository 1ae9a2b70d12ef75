"""Put the figures of `bench/out/results.json` into `docs/bench.md`: `python -m bench.page`.

Rows of benches that were not run again stay as they are; each row says on which day it was measured.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.bars import OUT, Figure, aligned
from bench.load import Load

PAGE = Path(__file__).parent.parent / "docs" / "bench.md"
BEGIN, END = "<!-- figures: python -m bench.page -->", "<!-- end of figures -->"
HEAD = ("bench", "what", "measured", "bar", "holds", "load", "on")

Row = tuple[str, ...]


def measured(results: dict[str, Any]) -> list[Row]:
    """The rows of what was run."""
    rows = []
    for name, found in results.items():
        load = str(Load(found["load_before"], found["cores_used_by_others"]))
        for kept in found["figures"]:
            known = {key: value for key, value in kept.items() if key not in ("bar", "holds")}
            one = Figure(**known)
            rows.append((name, one.what, one.found, one.bar, one.verdict, load, found["at"][:10]))
    return rows


def shown(text: str) -> list[Row]:
    """The rows that a page shows."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return [row for row in rows if len(row) == len(HEAD) and row != HEAD]


def figures(results: dict[str, Any], before: str) -> str:
    """One table over all benches."""
    kept = [row for row in shown(before) if row[0] not in results]
    return aligned(HEAD, [*kept, *measured(results)])


def main() -> None:
    results = json.loads((OUT / "results.json").read_text("utf-8"))
    text = PAGE.read_text("utf-8")
    head, _, rest = text.partition(BEGIN)
    old, _, tail = rest.partition(END)
    PAGE.write_text(f"{head}{BEGIN}\n\n{figures(results, old)}\n\n{END}{tail}", "utf-8")


if __name__ == "__main__":
    main()
