"""Run every bench, one process each, and print one table: what, measured, bar, holds, load.

    python -m bench [NAME …]      for example `python -m bench counting dp_table`

The table is also written to `bench/out/results.json`, beside what earlier runs of other benches
left there. Seconds are read on an idle machine; nothing here is asserted by the tests.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.bars import KEPT_IN, OUT, Figure, as_plain, kept, table
from bench.load import Load, Watch

HERE = Path(__file__).parent
RESULTS = OUT / "results.json"


def run(name: str, folder: Path) -> tuple[bool, list[Figure], Load]:
    """One bench in a process of its own: did it end well, what it measured, how busy it was."""
    figures = folder / f"{name}.jsonl"
    watch = Watch()
    done = subprocess.run(
        [sys.executable, "-m", f"bench.bench_{name}"],
        cwd=HERE.parent,
        env={**os.environ, KEPT_IN: str(figures)},
        check=False,
    )
    return done.returncode == 0, kept(figures), watch.read()


def keep(name: str, figures: list[Figure], load: Load) -> None:
    """Write a bench's figures to the results, the moment it has ended."""
    results: dict[str, Any] = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    results[name] = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_before": load.before,
        "cores_used_by_others": load.others,
        "figures": [as_plain(figure) for figure in figures],
    }
    RESULTS.write_text(json.dumps(results, ensure_ascii=False, indent=1) + "\n", "utf-8")


def main() -> int:
    known = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    wanted = sys.argv[1:] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"There is no bench {unknown[0]!r}; there are {', '.join(known)}.", file=sys.stderr)
        return 2
    OUT.mkdir(exist_ok=True)
    rows, failed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            print(f"\n── {name} " + "─" * (60 - len(name)), flush=True)
            well, figures, load = run(name, Path(folder))
            keep(name, figures, load)
            rows += [(name, figure, str(load)) for figure in figures]
            if not well:
                failed.append(name)
    print("\n" + table(rows))
    verdicts = [figure.holds for _, figure, _ in rows]
    told = f"{verdicts.count(True)} hold, {verdicts.count(False)} do not"
    told += f", {verdicts.count(None)} not measured" if None in verdicts else ""
    print(f"\n{told}; kept in {RESULTS.relative_to(HERE.parent)}.")
    if failed:
        print(f"These benches failed: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
