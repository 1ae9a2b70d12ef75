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

    def __init__(self, chosen: str) -> None:
        self.chosen = chosen
        self.commit = _commit()
        self.claims: dict[str, str] = {}
        self.rows: list[tuple[str, str, str, float, str]] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember what each chosen test claims."""
        for item in session.items:
            words = (getattr(getattr(item, "obj", None), "__doc__", "") or "").strip()
            self.claims[item.nodeid] = words.split("\n\n")[0].replace("\n", " ")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember how it went."""
        if report.when == "call" or report.outcome != "passed":
            figures = "; ".join(f"{name}: {value}" for name, value in report.user_properties)
            claim = " ".join(self.claims.get(report.nodeid, "").split())
            self.rows.append((report.nodeid, claim, report.outcome, report.duration, figures))
            self._write()

    def _write(self) -> None:
        """A run that is stopped leaves what it had shown, and how much was still to come."""
        ran = len({row[0] for row in self.rows})
        lines = [
            "# Evidence",
            "",
            "What `make proof` showed: each row is a test whose docstring is the claim.",
            f"Run: {self.chosen}, {ran} of {len(self.claims)} cases, at commit {self.commit}, "
            f"Python {platform.python_version()}, {platform.machine()}, {platform.system()}, "
            f"{os.cpu_count()} cores, two proofs at a time.",
            "",
            "| claim | outcome | seconds | figures |",
            "|---|---|---|---|",
        ]
        grouped: dict[tuple[str, str], list[tuple[str, float, str]]] = {}
        for name, claim, outcome, seconds, figures in sorted(self.rows):
            file, _, test = name.partition("::")
            said = claim or test.partition("[")[0].removeprefix("test_").replace("_", " ")
            grouped.setdefault((file, said), []).append((outcome, seconds, figures))
        for (_, said), found in grouped.items():
            outcomes = {outcome for outcome, _, _ in found}
            outcome = "passed" if outcomes == {"passed"} else ", ".join(sorted(outcomes))
            if len(found) > 1:
                outcome += f" ({len(found)} cases)"
            figures = "; ".join(dict.fromkeys(each for _, _, each in found if each))
            lines.append(f"| {said} | {outcome} | {sum(s for _, s, _ in found):.1f} | {figures} |")
        EVIDENCE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    """Run the proofs, two at a time; what they showed is written after each."""
    chosen = ["-m", "proof", *(sys.argv[1:] or ["tests"])]
    collector = Collector(" ".join(sys.argv[1:]) or "all proofs")
    pytest.main(["--collect-only", "-q", "--no-header", *chosen], plugins=[collector])
    code = pytest.main(["-n", "2", "--dist", "worksteal", *chosen], plugins=[collector])
    print(f"Written to {EVIDENCE.relative_to(ROOT)}")
    return int(code)


def _commit() -> str:
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(git, check=False, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
