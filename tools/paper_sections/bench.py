"""What sections are made with: commands run in place, figures compared with the print, pictures."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from discreet.cli import app
from discreet.demo import make_demo


class Verdict(StrEnum):
    """How a figure stands beside its print."""

    EQUAL = "equal"
    ERRATUM = "differs because of an erratum"
    DESIGN = "differs by design"
    NOT_YET = "not yet"
    WRONG = "DIFFERS"


@dataclass(frozen=True)
class Figure:
    """One figure: as printed, as found, and why they differ if they do."""

    name: str
    printed: str
    found: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Grid:
    """A table that was made again."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """A picture that was drawn again: its file in docs/papers, and what it shows."""

    file: str
    shows: str


@dataclass(frozen=True)
class Section:
    """One part of one paper."""

    paper: str
    title: str
    figures: tuple[Figure, ...]
    commands: tuple[str, ...] = ()
    grids: tuple[Grid, ...] = ()
    pictures: tuple[Picture, ...] = ()


@dataclass
class Bench:
    """Where a section works: a folder for pictures, one for scratch, the demo made when asked for."""

    pictures: Path
    scratch: Path
    given_demo: Path | None = None
    ran: list[str] = field(default_factory=list)

    @cached_property
    def demo(self) -> Path:
        """The demo workspace."""
        if self.given_demo is not None:
            return self.given_demo
        make_demo(self.scratch / "demo")
        return self.scratch / "demo"

    def run(self, *words: str, said: str = "") -> dict[str, Any]:
        """What `discreet … --json` says; the command is remembered as `said`, or as it is."""
        self.ran.append(said or f"discreet {' '.join(words)}")
        heard = io.StringIO()
        with contextlib.redirect_stdout(heard):
            app([*words, "--json"], standalone_mode=False)
        facts: dict[str, Any] = json.loads(heard.getvalue())
        return facts

    def draw(self, file: str, *words: str) -> dict[str, Any]:
        """Run a command that draws its picture into docs/papers."""
        path = self.pictures / file
        said = f"discreet {' '.join(words)} --picture {file}"
        return self.run(*words, "--picture", str(path), said=said)

    def commands(self) -> tuple[str, ...]:
        """The commands run since this was last asked."""
        ran, self.ran = tuple(dict.fromkeys(self.ran)), []
        return ran

    def folder(self, name: str, rows: Sequence[str]) -> Path:
        """A DP data set of a few records whose every category is declared."""
        source, target = self.scratch / f"{name}.csv", self.scratch / name
        source.write_text("\n".join(rows) + "\n", encoding="utf-8")
        with contextlib.redirect_stdout(io.StringIO()):
            app(
                ["init", str(source), "--into", str(target), "--family", "dp", "--budget", "10"],
                standalone_mode=False,
            )
            app(["declare", str(target), "--all"], standalone_mode=False)
        return target


def compare(name: str, printed: str, found: object, erratum: str = "") -> Figure:
    """A figure beside its print, equal if it rounds to the very digits that are printed."""
    if isinstance(found, str | bool):
        same, shown = str(found) == printed, str(found)
    else:
        value = Decimal(repr(float(found)))  # type: ignore[arg-type]
        last = Decimal(1).scaleb(int(Decimal(printed).as_tuple().exponent))
        same = value.quantize(last, ROUND_HALF_UP) == Decimal(printed)
        shown = _shown(value, printed)
    if same:
        return Figure(name, printed, shown, Verdict.EQUAL)
    verdict = Verdict.ERRATUM if erratum else Verdict.WRONG
    return Figure(name, printed, shown, verdict, erratum)


def holds(name: str, printed: str, truth: bool, found: str) -> Figure:
    """A statement in words, which holds or does not."""
    return Figure(name, printed, found, Verdict.EQUAL if truth else Verdict.WRONG)


def differs(
    name: str, printed: str, found: str, why: str, verdict: Verdict = Verdict.ERRATUM
) -> Figure:
    """A statement that an erratum corrects, or that discreet leaves on purpose."""
    return Figure(name, printed, found, verdict, why)


def not_yet(name: str, what: str) -> Figure:
    """A table or figure that no command makes yet."""
    return Figure(name, what, "–", Verdict.NOT_YET)


def all_equal(name: str, pairs: Sequence[tuple[str, object]]) -> Figure:
    """Many figures of one table at once: how many round to what is printed."""
    good = sum(compare("", printed, found).verdict is Verdict.EQUAL for printed, found in pairs)
    verdict = Verdict.EQUAL if good == len(pairs) else Verdict.WRONG
    return Figure(name, f"{len(pairs)} figures", f"{good} equal", verdict)


def bench(pictures: Path, demo: Path | None = None) -> contextlib.AbstractContextManager[Bench]:
    """A bench with a scratch folder that goes away."""

    @contextlib.contextmanager
    def made() -> Any:
        pictures.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            yield Bench(pictures, Path(scratch), demo)

    return made()


def _shown(value: Decimal, printed: str) -> str:
    """Three digits more than are printed."""
    digits = len(Decimal(printed).as_tuple().digits) + 3
    return f"{float(value):.{digits}g}"
