"""Run every bench, one process each: `python -m bench [NAME …]`, for example `python -m bench counting`.

Seconds are read on an idle machine; nothing here is asserted by the tests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    known = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    wanted = sys.argv[1:] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"There is no bench {unknown[0]!r}; there are {', '.join(known)}.", file=sys.stderr)
        return 2
    failed = []
    for name in wanted:
        print(f"\n── {name} " + "─" * (60 - len(name)), flush=True)
        done = subprocess.run(
            [sys.executable, "-m", f"bench.bench_{name}"], cwd=HERE.parent, check=False
        )
        if done.returncode:
            failed.append(name)
    if failed:
        print(f"\nThese benches failed: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
