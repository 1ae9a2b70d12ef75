"""The report of the attacks: one story, then every attack with its baseline and its number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..languages import counted, number, say, together
from ..quality.attacks.findings import Finding, percent
from ..quality.attacks.run import Attacked
from ..quality.attacks.story import VICTIM
from .rehearsal_report import TWIN, rehearsal_page, write_own
from .sections import Grid, Line, Section, Tag


def page(attacked: Attacked, language: str = "") -> str:
    """The whole report, in a language; else the data set's own."""
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
    judged = (
        say(
            "REFUTED: {attacks}. Publish nothing under this policy.",
            attacks=together(*(one.group for one in bad), between=", "),
        )
        if bad
        else counted(
            "{n} attack, which succeeds where nothing protects; no claim was exceeded.",
            "{n} attacks, each succeeds where nothing protects; no claim was exceeded.",
            len(found),
        )
    )
    told = tuple(attacked.story)
    sections = (
        *(
            [Section(1, say("What happened to one person"), (Line(VICTIM, told, Tag.COMPUTED),))]
            if told
            else []
        ),
        Section(2, say("The attacks"), lines, (_grid(found),)),
        Section(3, say("What was not tried"), (Line("", (attacked.not_tried,), Tag.COMPUTED),)),
    )
    data = str(attacked.findings["data"])
    return rehearsal_page(
        say("Attacks on the policy of {data}", data=data),
        say("Attacks on made-up people; no record was read"),
        (judged,),
        sections,
        banner=TWIN,
        footer=say("Everybody in this report is made up."),
        language=language or attacked.language,
    )


def write(attacked: Attacked, path: Path, language: str = "") -> Path:
    """Write the report for its owner alone."""
    return write_own(page(attacked, language), path)


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
                number(one.trials) if one.trials else "–",
                verdict(one),
            )
        )
    header = (
        *(say("Attack"), say("Succeeds unprotected"), say("Under this policy"), say("Computed")),
        *(say("Ceiling"), say("Trials"), say("Verdict")),
    )
    return Grid(say("How often each attack is right"), header, tuple(rows))


def verdict(one: Finding) -> str:
    """What became of the claim."""
    if not one.applies:
        return say("does not apply")
    if one.over:
        return say("REFUTED")
    return say("holds") if one.ceiling is not None else say("published")


def _share(share: float | None) -> str:
    return "–" if share is None else percent(share)
