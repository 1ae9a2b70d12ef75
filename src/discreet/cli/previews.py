"""What `--dry-run` prints: cost, expected error, other plans and accuracies; nothing is read or spent.

In the language of the table that would come out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..languages import Voice, counted, number, say, speaker, together
from . import show

if TYPE_CHECKING:
    from ..core.question import TableSpec
    from ..methods.base import Plan
    from ..release import Asked, Rung

_PLANS = {"tables": say("tables"), "all cells": say("all cells")}
"""Plans that no setting names, as readers see them."""
_MOST_PLANNED = 20
"""Tables of a question that is planned several times over, for other accuracies."""


def show_preview(seen: Asked, language: str, json: bool) -> None:
    """Print it, or one JSON object; a refusal is raised."""
    plan = seen.plan
    if json:
        more = {"forecast": forecast} if (forecast := seen.forecast()) else {}
        show.as_json(seen.to_json(), follows_from=seen.follows_from, **more)
        seen.verdict.enforce()
        return
    seen.verdict.enforce()
    voice = speaker(language)
    if plan.charge is not None:
        told = [(voice.of(say("cost")), voice.of(_cost(seen)))]
        if seen.left is not None:
            told.append((voice.of(say("left")), voice.of(seen.left)))
        show.pairs(*told)
    if plan.errors:
        _expected(plan, voice)
    if forecast := seen.forecast():
        show.console().print(f"[dim]· {voice.of(forecast)}[/dim]")
    if len(plan.alternatives) > 1:
        _compare(plan, voice)
    if len(plan.errors) <= _MOST_PLANNED and (rungs := seen.ladder()):
        _ladder(rungs, voice)
    out = show.console()
    if seen.follows_from is not None:
        out.print(
            voice.of(
                counted(
                    "This table follows from release {release}: with --free it costs nothing, "
                    "with the noise of that release.",
                    "These tables follow from release {release}: with --free they cost nothing, "
                    "with the noise of that release.",
                    len(plan.errors),
                    release=seen.follows_from[:12],
                )
            )
        )
    out.print(voice.of(plan.guarantee.sentence()))
    for words in (*plan.guarantee.odds, plan.guarantee.counted_as_one() or "", *seen.warnings):
        if words:
            out.print(f"[dim]· {voice.of(words)}[/dim]")
    out.print(f"[dim]{voice.of(say('Nothing was read or spent.'))}[/dim]")


def _cost(seen: Asked) -> str:
    charge = seen.plan.charge
    cost = "" if charge is None else charge.in_words()
    if seen.answered:
        return say("{cost} when first asked; nothing now", cost=cost)
    return cost if seen.affordable else say("{cost}, more than is left", cost=cost)


def _name(spec: TableSpec) -> str:
    return " × ".join(ref.level for ref in spec.axes) or say("total")


def _expected(plan: Plan, voice: Voice) -> None:
    rows = [
        (
            voice.of(_name(error.table)),
            voice.number(error.cells),
            voice.number(f"{error.noise_sd:.2f}"),
            together("±", number(error.half_width)).says(voice.language),
            _share(error.share_unchanged, voice),
            _deviations(error.totals_sd, voice),
        )
        for error in plan.errors
    ]
    columns = (
        *(voice.of(say("table")), ">" + voice.of(say("cells")), ">" + voice.of(say("noise sd"))),
        *(
            ">" + voice.of(say("95 % within")),
            ">" + voice.of(say("unchanged")),
            voice.of(say("sd of margins")),
        ),
    )
    show.grid(voice.of(say("What to expect")), columns, rows)
    for words in _notes(plan):
        show.console().print(f"[dim]· {voice.of(words)}[/dim]")


def _deviations(by_name: Mapping[str, float], voice: Voice) -> str:
    total = voice.of(say("total"))
    named = ((total if name in ("", "total") else name, sd) for name, sd in by_name.items())
    return "; ".join(f"{name} {voice.number(f'{sd:.1f}')}" for name, sd in named)


def _share(share: float | None, voice: Voice) -> str:
    """A share in percent; a dash where no law says one."""
    return "–" if share is None else voice.number(f"{share:.1%}")


def _ladder(rungs: Sequence[Rung], voice: Voice) -> None:
    """The same question at other accuracies, one a row."""
    rows = [
        (
            f"{rung.setting} = {voice.number(rung.value)}",
            _between(rung.noise_sd, voice),
            together("±", number(max(rung.half_width))).says(voice.language),
            _share(min((s for s in rung.share_unchanged if s is not None), default=None), voice),
            voice.of(_STANDINGS.get(str(rung.standing), str(rung.standing))),
        )
        for rung in rungs
        if rung.noise_sd
    ]
    columns = (
        *(
            "|" + voice.of(say("spent")),
            ">" + voice.of(say("noise sd")),
            ">" + voice.of(say("95 % within")),
        ),
        *(">" + voice.of(say("unchanged")), voice.of(say("standing"))),
    )
    show.grid(voice.of(say("Other accuracies")), columns, rows)


_STANDINGS = {
    "answered": say("answered"),
    "free": say("free"),
    "affordable": say("affordable"),
    "refused": say("more than is left"),
}


def _between(values: Sequence[float], voice: Voice) -> str:
    low, high = (voice.number(f"{end:.1f}") for end in (min(values), max(values)))
    return voice.of(say("{low} to {high}", low=low, high=high)) if len(values) > 1 else low


def _notes(plan: Plan) -> list[str]:
    """What is to be said of the errors expected, each sentence once with the tables it is about."""
    about: dict[str, list[str]] = {}
    for error in plan.errors:
        if error.note:
            about.setdefault(error.note, []).append(_name(error.table))
    notes = []
    for note, names in about.items():
        which: str = together(*names[:5], between=", ")
        if len(names) > 5:
            which = say("{tables} and {n} more", tables=which, n=len(names) - 5)
        told = together(which, note, between=": ")
        notes.append(told if len(names) < len(plan.errors) else note)
    return notes


def _compare(plan: Plan, voice: Voice) -> None:
    """The plans compared, one a row; the one that will be used is marked."""

    def deviations(values: Any) -> str:
        if not isinstance(values, dict):
            return voice.of(values or "")
        return (
            _between(list(values.values()), voice)
            if len(values) > 3
            else _deviations(values, voice)
        )

    rows = [
        (
            f"{'▸ ' if other.get('chosen') else '  '}{voice.of(_PLANS.get(other['name'], other['name']))}"
            f"{' ' + voice.of(say('(best)')) if other.get('recommended') else ''}",
            voice.of(other["d"]),
            re.sub(r"\d+\.\d+", lambda found: voice.number(found[0]), other["loss"]),
            deviations(other["sd"]),
            deviations(other["totals_sd"]),
        )
        for other in sorted(plan.alternatives, key=lambda other: other.get("rms") or 0.0)
    ]
    columns = (
        *(
            voice.of(say("plan")),
            ">" + voice.of(say("cells a unit touches")),
            voice.of(say("loss")),
        ),
        *(voice.of(say("sd of cells")), voice.of(say("sd of totals"))),
    )
    show.grid(voice.of(say("Plans compared")), columns, rows)
