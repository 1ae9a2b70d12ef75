"""What another policy changes, in sentences: tables, noise, the cost of accuracy, risks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..core.exact import plain
from ..languages import counted, number, say, together
from .simulator import Outlook, Simulation


def difference(first: Simulation, second: Simulation) -> tuple[str, ...]:
    """What the second policy changes, in sentences."""
    before: Mapping[tuple[str, ...], Outlook] = {one.axes: one for one in first.outlooks}
    after: Mapping[tuple[str, ...], Outlook] = {one.axes: one for one in second.outlooks}
    both = [axes for axes in before if axes in after]
    more = [axes for axes in both if after[axes].allowed and not before[axes].allowed]
    fewer = [axes for axes in both if before[axes].allowed and not after[axes].allowed]
    said: list[str] = []
    if more:
        said.append(
            counted(
                "The second policy allows {n} table that the first did not: {tables}.",
                "The second policy allows {n} tables that the first did not: {tables}.",
                len(more),
                tables=_some(more),
            )
        )
    if fewer:
        said.append(
            counted(
                "The second policy refuses {n} table that the first allowed: {tables}.",
                "The second policy refuses {n} tables that the first allowed: {tables}.",
                len(fewer),
                tables=_some(fewer),
            )
        )
    if not more and not fewer:
        said.append(say("Both policies allow the same tables."))
    return (*said, *_noise_changed(before, after, both), *_scale_changed(first, second))


def _some(axes: Sequence[tuple[str, ...]]) -> str:
    """The first tables by name, and how many more there are."""
    shown = ", ".join(" × ".join(one) for one in axes[:3])
    if len(axes) <= 3:
        return shown
    return say("{tables} and {more} more", tables=shown, more=len(axes) - 3)


def _noise_changed(
    before: Mapping[tuple[str, ...], Outlook],
    after: Mapping[tuple[str, ...], Outlook],
    both: Sequence[tuple[str, ...]],
) -> Iterator[str]:
    pairs = [
        (before[a].noise_sd, after[a].noise_sd)
        for a in both
        if before[a].noise_sd is not None and after[a].noise_sd is not None
    ]
    if pairs:
        old, new = (max(p[i] or 0.0 for p in pairs) for i in (0, 1))
        times = say("{times} times that", times=number(f"{new / old:.3g}")) if old else say("more")
        yield say(
            "Noise has standard deviation {new} under the second and {old} under the first: {word}.",
            new=number(f"{new:.3g}"),
            old=number(f"{old:.3g}"),
            word=say("the same") if old == new else times,
        )


def _scale_changed(first: Simulation, second: Simulation) -> Iterator[str]:
    if first.family != second.family:
        yield say(
            "The first is of family {first}, the second of family {second}: their guarantees are of "
            "different kinds and do not compare.",
            first=first.family,
            second=second.family,
        )
    one, two = first.scale, second.scale
    if one.unit != two.unit:
        yield say(
            "The first: {first} The second: {second}",
            first=one.unit.in_words(),
            second=two.unit.in_words(),
        )
    if one.floor != two.floor:
        yield say(
            "The same accuracy costs ε = {second} a table under the second and {first} under the first.",
            second=number(plain(two.floor)),
            first=number(plain(one.floor)),
        )
    if set(first.risks) != set(second.risks) and second.risks:
        yield say("Under the second: {risks}", risks=together(*second.risks))
