"""Put the figures of `bench/out/results.json` into `docs/bench.md`: `python -m bench.page`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.bars import OUT, Figure, table
from bench.load import Load

PAGE = Path(__file__).parent.parent / "docs" / "bench.md"
BEGIN, END = "<!-- figures: python -m bench.page -->", "<!-- end of figures -->"


def figures(results: dict[str, Any]) -> str:
    """One table over all benches, and when each was run."""
    rows = []
    for name, found in results.items():
        load = str(Load(found["load_before"], found["cores_used_by_others"]))
        for kept in found["figures"]:
            known = {key: value for key, value in kept.items() if key not in ("bar", "holds")}
            rows.append((name, Figure(**known), load))
    first, last = (pick(found["at"] for found in results.values()) for pick in (min, max))
    cores = {found["cores"] for found in results.values()}
    return (
        f"Measured from {first[:16].replace('T', ' ')} to {last[:16].replace('T', ' ')} UTC on "
        f"{' or '.join(map(str, sorted(cores)))} cores.\n\n{table(rows)}"
    )


def main() -> None:
    results = json.loads((OUT / "results.json").read_text("utf-8"))
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{figures(results)}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
