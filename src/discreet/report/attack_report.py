"""The report of the attacks: one story, then every attack with its baseline and its number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..quality.attacks.findings import Finding
from ..quality.attacks.run import NOT_TRIED, Attacked
from ..quality.attacks.story import VICTIM
from .rehearsal_report import TWIN, rehearsal_page, write_own
from .release_report import Grid, Line, Section, Tag


def page(attacked: Attacked) -> str:
    """The whole report."""
    found = attacked.found
    names = dict.fromkeys(one.group for one in found)
    lines = tuple(
        Line(
            name,
            tuple(words for one in found if one.group == name for words in (one.about, one.says)),
            Tag.COMPUTED,
        )
        for name in names
    )
    bad = attacked.refuted
    verdict = (
        f"REFUTED: {', '.join(one.group for one in bad)}. Publish nothing under this policy."
        if bad
        else f"{len(found)} attacks, each succeeds where nothing protects; no claim was exceeded."
    )
    told = attacked.story.sentences()
    sections = (
        Section(1, "What happened to one person", (Line(VICTIM, told, Tag.COMPUTED),)),
        Section(2, "The attacks", lines, (_grid(found),)),
        Section(3, "What was not tried", (Line("", (NOT_TRIED,), Tag.COMPUTED),)),
    )
    data = str(attacked.findings["data"])
    return rehearsal_page(
        f"Attacks on the policy of {data}",
        "Attacks on made-up people; no record was read",
        (verdict,),
        sections,
        banner=TWIN,
        footer="Everybody in this report is made up.",
    )


def write(attacked: Attacked, path: Path) -> Path:
    """Write the report for its owner alone."""
    return write_own(page(attacked), path)


def _grid(found: Sequence[Finding]) -> Grid:
    rows = []
    for one in found:
        rows.append(
            (
                one.group,
                _share(one.baseline),
                _share(one.measured),
                _share(one.expected),
                _share(one.ceiling),
                f"{one.trials:,}" if one.trials else "–",
                "REFUTED" if one.over else "holds" if one.ceiling is not None else "published",
            )
        )
    header = (
        *("Attack", "Succeeds unprotected", "Under this policy", "Computed", "Ceiling"),
        *("Trials", "Verdict"),
    )
    return Grid("How often each attack is right", header, tuple(rows))


def _share(number: float | None) -> str:
    return "–" if number is None else f"{number:.1%}"
