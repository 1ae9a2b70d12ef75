"""A data set of synthetic records: described like the one they stand for, made whole or not at all.

NAME/discreet.yaml        family: synthetic, with the labels and the levels that were measured
NAME/microdata.parquet    the synthetic records, for anybody
NAME/versions/…           the same, coded, with the release they came from sealed in
"""

from __future__ import annotations

import os
import re
import secrets as random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..core.control import Control
from ..core.description import Description
from ..core.domain import AxisRef, Variable
from ..core.guarantee import Guarantee
from ..core.origin import Origin
from ..core.text import Text
from ..durable import make_folder, plain_errors, sync_folder
from ..errors import Cancelled, InputError
from ..languages import Sentence, known, say, says
from . import loading, versions
from .dataset import DataSet
from .draft import CategoryDraft, Draft, LevelDraft, VariableDraft
from .writer import write

RECORDS = "microdata.parquet"
_CARRIED = ("synthetic", "population", "period", "unit", "licence", "contact", "language")


def make_synthetic(
    data: DataSet,
    into: str | Path,
    *,
    axes: Sequence[AxisRef],
    write_records: Callable[[Path], object],
    release: str,
    guarantee: Guarantee,
    measured: Sequence[tuple[tuple[str, ...], float]] = (),
    control: Control | None = None,
) -> Path:
    """Make the data set `into` of the records that `write_records` writes: codes over `axes`.

    The caller vouches that those records were computed from the release's measurements alone.
    """
    folder = Path(into)
    if folder.exists():
        raise InputError(f"{folder} is there already. Name a new data set: DIR/NAME.")
    name = folder.name
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name):
        raise InputError(
            "The name of a data set must begin with a letter and hold letters, digits, _ and - only "
            f"(64 at most), got {name[:70]!r}."
        )
    make_folder(folder.parent)
    spare = folder.parent / f".{name}.{random.token_hex(4)}.part"
    try:
        with plain_errors(f"Making {folder}"):
            make_folder(spare)
            write_records(spare / RECORDS)
            origin = Origin(
                dataset=data.name,
                release=release,
                guarantee=guarantee,
                records=versions.file_digest(spare / RECORDS),
                measured=tuple(measured),
                languages=data.description.languages,
            )
            write(draft_of(data.description, name, axes, origin), spare)
            loading.load_synthetic(spare, origin, control)
            os.rename(spare, folder)
            sync_folder(folder.parent)
    except KeyboardInterrupt:
        raise Cancelled(f"Stopped; {folder} was not made.") from None
    finally:
        shutil.rmtree(spare, ignore_errors=True)
    return folder


def draft_of(description: Description, name: str, axes: Sequence[AxisRef], origin: Origin) -> Draft:
    """The description of synthetic records over these axes, carried over from the real ones'."""
    base = {ref.variable: ref.level for ref in axes}
    variables = [variable for variable in description.variables if variable.name in base]
    return Draft(
        dataset=name,
        title=_words(description.title, say(": synthetic records")),
        source={"file": RECORDS},
        variables=[_variable(variable, base[variable.name]) for variable in variables],
        **{name: _spoken(getattr(description, name)) for name in _CARRIED},
        attribution=_spoken(description.source),
        notes=[
            *map(_spoken, description.notes),
            _in_all_languages(
                say(
                    "Records made from release {release} of {dataset}.",
                    release=origin.release[:12],
                    dataset=origin.dataset,
                )
            ),
        ],
        family="synthetic",
        method="synthetic",
        structural_zeros=[
            ({axes[at].level: list(codes) for at, codes in ruled.items()}, zero.reason)
            for zero in description.structural_zeros
            if (ruled := description.ruled_codes(zero, tuple(axes))) is not None
        ],
    )


def _spoken(value: Any) -> Any:
    """What a description says of itself, as it was written: a text by language, or a plain value."""
    texts = value.values.values() if isinstance(value, Sentence) else ()
    return next((_words(text) for text in texts if isinstance(text, Text)), value)


def _in_all_languages(words: Sentence) -> dict[str, str]:
    """A sentence as a text by language, which discreet.yaml can hold."""
    return {language: words.says(language) for language in known()}


def _words(text: Text, more: str = "") -> str | dict[str, str]:
    by_language = {language: words + says(more, language) for language, words in text.by_language}
    return by_language.get("", by_language)


def _variable(variable: Variable, base: str) -> VariableDraft:
    """A variable from the level it was measured at upwards, as far as that level's sums reach."""
    start = variable.level(base)
    above = [one for one in variable.levels if one is not start]
    levels = [start, *(one for one in above if variable.level_map(base, one.name) is not None)]
    drafts: list[LevelDraft] = []
    for position, level in enumerate(levels):
        drafts.append(
            LevelDraft(
                level.name,
                base if position == 0 else None,
                [
                    CategoryDraft(
                        one.code,
                        _words(one.label),
                        population=one.population,
                        short=str(one.short or ""),
                        tile=one.tile,
                    )
                    for one in level.categories
                ],
                _words(level.label),
            )
        )
        if position == 0:
            continue
        up = variable.level_map(levels[position - 1].name, level.name)
        if up is not None:
            for child, parent in zip(drafts[-2].categories, up, strict=True):
                # a file wants a parent for each; one that holds nothing may be anywhere
                child.parent = level.codes[max(parent, 0)]
        else:
            drafts[-1].of = base
            for code, parent in zip(start.codes, start.holders(level), strict=True):
                drafts[-1].categories[max(parent, 0)].members.append(code)
    return VariableDraft(
        variable.name,
        drafts,
        _words(variable.label),
        declared=True,
        role=variable.role,
        kind=variable.kind,
        group=str(variable.group),
        missing=[one.code for one in start.categories if one.missing][:1],
        note=variable.note,
    )
