"""Run the full counts that are claimed, and write docs/evidence.md.

    python tools/proof.py [TESTS …]      for example `python tools/proof.py tests/store`

Each proof is a test marked `proof`: its docstring is the claim, what it records with
`record_property` are its figures. `make test` runs a reduced form of each. A run of some of them
leaves what others showed before as it was, with the commit it was shown at.
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


Row = tuple[str, str, str, str]
"""Outcome, seconds, figures, and the commit they are of."""


class Collector:
    """Remembers claim, outcome, time and figures of every proof."""

    def __init__(self) -> None:
        self.commit = _commit()
        self.claims: dict[str, str] = {}
        self.shown: list[tuple[str, str, float, str]] = []
        self.before = _read()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember what each test claims."""
        for item in session.items:
            words = (getattr(getattr(item, "obj", None), "__doc__", "") or "").strip()
            claim = " ".join(words.split("\n\n")[0].split()).replace("|", "¦")
            test = item.nodeid.partition("::")[2].partition("[")[0]
            self.claims[item.nodeid] = claim or test.removeprefix("test_").replace("_", " ")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Remember how it went; a run that is stopped leaves what it had shown."""
        if report.when == "call" or report.outcome != "passed":
            figures = "; ".join(f"{name}: {value}" for name, value in report.user_properties)
            self.shown.append((report.nodeid, report.outcome, report.duration, figures))
            self._write()

    def _write(self) -> None:
        now = self._now()
        rows, unseen = {}, []
        for claim in dict.fromkeys(said for _, said in sorted(self.claims.items())):
            found = now.get(claim) or self.before.get(claim)
            if found is None:
                unseen.append(claim)
            else:
                rows[claim] = found
        lines = [
            "# Evidence",
            "",
            "What `make proof` showed: each row is a test whose docstring is the claim, at the commit named.",
            f"{len(rows)} of {len(rows) + len(unseen)} claims were shown, the last with Python "
            f"{platform.python_version()}, {platform.machine()}, {platform.system()}, {os.cpu_count()} "
            "cores, two proofs at a time.",
            "",
            "| claim | outcome | seconds | figures | commit |",
            "|---|---|---|---|---|",
            *(f"| {claim} | {' | '.join(row)} |" for claim, row in rows.items()),
        ]
        if unseen:
            lines += [
                "",
                "Not run since they were written:",
                "",
                *(f"- {claim}" for claim in unseen),
            ]
        EVIDENCE.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def _now(self) -> dict[str, Row]:
        """What this run has shown so far, the cases of a claim together."""
        found: dict[str, list[tuple[str, float, str]]] = {}
        for name, *row in self.shown:
            found.setdefault(self.claims.get(name, name), []).append(tuple(row))  # type: ignore[arg-type]
        rows: dict[str, Row] = {}
        for claim, cases in found.items():
            outcomes = {outcome for outcome, _, _ in cases}
            outcome = "passed" if outcomes == {"passed"} else ", ".join(sorted(outcomes))
            if len(cases) > 1:
                outcome += f" ({len(cases)} cases)"
            figures = "; ".join(dict.fromkeys(each for _, _, each in cases if each))
            rows[claim] = (outcome, f"{sum(s for _, s, _ in cases):.1f}", figures, self.commit)
        return rows


def _read() -> dict[str, Row]:
    """What earlier runs showed, by claim."""
    text = EVIDENCE.read_text("utf-8") if EVIDENCE.exists() else ""
    rows: dict[str, Row] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 5 and cells[0] != "claim":
            rows[cells[0]] = (cells[1], cells[2], cells[3], cells[4])
    return rows


def main() -> int:
    """Run the proofs, two at a time; what they showed is written after each."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        return 0
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two proofs at a time fill two cores
    collector, proofs = Collector(), ["-m", "proof"]
    pytest.main(["--collect-only", "-q", "--no-header", *proofs, "tests"], plugins=[collector])
    chosen = [*proofs, *(sys.argv[1:] or ["tests"])]
    code = pytest.main(["-n", "2", "--dist", "worksteal", *chosen], plugins=[collector])
    print(f"Written to {EVIDENCE.relative_to(ROOT)}")
    return int(code)


def _commit() -> str:
    """The commit that is run, and whether anything but the page of evidence differs from it."""

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *words], check=False, capture_output=True, text=True
        )
        return done.stdout.strip()

    changed = git("status", "--porcelain", "-uno", "--", ".", ":!docs/evidence.md")
    return (git("describe", "--always", "--exclude", "*") or "unknown") + "-dirty" * bool(changed)


if __name__ == "__main__":
    sys.exit(main())
