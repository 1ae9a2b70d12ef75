"""Run the full counts that are claimed, and write docs/evidence.md.

Each proof is a test marked `proof`: its docstring is the claim, what it records with
`record_property` are its figures. `make test` runs a reduced form of each.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
EVIDENCE = ROOT / "docs" / "evidence.md"


class Collector:
    """Remembers claim, outcome, time and figures of every proof."""

    def __init__(self) -> None:
        self.claims: dict[str, str] = {}
        self.rows: list[tuple[str, str, str, float, str]] = []

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Remember what each test claims."""
        for item in items:
            words = (getattr(getattr(item, "obj", None), "__doc__", "") or "").strip()
            self.claims[item.nodeid] = words.split("\n\n")[0].replace("\n", " ")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember how it went."""
        if report.when == "call" or report.outcome != "passed":
            figures = "; ".join(f"{name}: {value}" for name, value in report.user_properties)
            claim = " ".join(self.claims.get(report.nodeid, "").split())
            self.rows.append((report.nodeid, claim, report.outcome, report.duration, figures))


def main() -> int:
    """Run the proofs, two at a time, and write what they showed."""
    chosen = ["-m", "proof", *(sys.argv[1:] or ["tests"])]
    collector = Collector()
    pytest.main(["--collect-only", "-q", "--no-header", *chosen], plugins=[collector])
    code = pytest.main(["-n", "2", *chosen], plugins=[collector])
    where = "all proofs" if not sys.argv[1:] else " ".join(sys.argv[1:])
    lines = [
        "# Evidence",
        "",
        "What `make proof` showed: each row is a test whose docstring is the claim.",
        f"Run: {where}, at commit {_commit()}, Python {platform.python_version()}, "
        f"{platform.machine()}, {platform.system()}, {os.cpu_count()} cores, two proofs at a time.",
        "",
        "| claim | outcome | seconds | figures |",
        "|---|---|---|---|",
    ]
    grouped: dict[tuple[str, str], list[tuple[str, float, str]]] = {}
    for name, claim, outcome, seconds, figures in sorted(collector.rows):
        test = name.rsplit("::", 1)[-1].partition("[")[0]
        said = claim or test.removeprefix("test_").replace("_", " ")
        grouped.setdefault((name.partition("::")[0], said), []).append((outcome, seconds, figures))
    for (_, said), found in grouped.items():
        outcomes = {outcome for outcome, _, _ in found}
        outcome = "passed" if outcomes == {"passed"} else ", ".join(sorted(outcomes))
        if len(found) > 1:
            outcome += f" ({len(found)} cases)"
        figures = "; ".join(dict.fromkeys(each for _, _, each in found if each))
        lines.append(f"| {said} | {outcome} | {sum(s for _, s, _ in found):.1f} | {figures} |")
    EVIDENCE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"Written to {EVIDENCE.relative_to(ROOT)}")
    return int(code)


def _commit() -> str:
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(git, check=False, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
