"""A data set as it would be under another policy: to plan with, never to count or to charge.

A draft is what the policy part of discreet.yaml would say instead: `rules`, `reliable`, `method`,
`methods`, `family`, `budget`. It is read by the same reader, so what it says means the same and what
is wrong with it gets the same sentence. It may name no file that the policy does not name already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ..errors import Bug, DescriptionError
from .dataset import DataSet
from .description_file import read
from .yaml_reader import Block, read_text

if TYPE_CHECKING:
    from ..engines.base import Engine
    from ..store import LedgerStore

KEYS = ("family", "method", "methods", "rules", "budget", "reliable", "approval")
FILE = "the draft"


@dataclass
class DraftedDataSet(DataSet):
    """A data set under a draft; it plans, and can neither count nor charge."""

    def engine(self) -> Engine:
        """None: a draft answers nothing."""
        raise Bug("A draft of a policy was asked for numbers.")

    def ledger(self) -> LedgerStore:
        """None: a draft spends nothing."""
        raise Bug("A draft of a policy was asked to spend.")


def drafted(data: DataSet, draft: Mapping[str, Any]) -> DraftedDataSet:
    """The data set with the draft's parts in place of what discreet.yaml says."""
    block = read_text(yaml.safe_dump(as_text(draft), allow_unicode=True, sort_keys=False), FILE)
    block.only(KEYS)
    _names_known_files(data, draft)
    described = read(data.folder, instead=block)
    kept = {one.name: getattr(data, one.name) for one in fields(data)}
    own = {"described": described, "_engine": None, "_ledger": None, "_results": None}
    kept.pop("_opening")
    return DraftedDataSet(**{**kept, **own})


def read_draft(path: Path) -> dict[str, Any]:
    """A draft from a YAML file."""
    from .yaml_reader import read_file

    block: Block = read_file(path)
    block.only(KEYS)
    return block.plain()


def as_text(value: Any) -> Any:
    """The same with every scalar as text, which is how discreet.yaml is read."""
    if isinstance(value, Mapping):
        return {str(key): as_text(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_text(part) for part in value]
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _names_known_files(data: DataSet, draft: Mapping[str, Any]) -> None:
    """Refuse a file that the policy does not name already: what it holds may be anything."""
    known = {path.resolve() for path in data.described.files}
    for key, name in _named_files(draft):
        if (data.folder / name).resolve() not in known:
            raise DescriptionError(
                f"a draft may name only files that the policy names already, got {name[:80]!r} for "
                f"{key}. Write its text into the draft, or put it into discreet.yaml.",
                file=FILE,
            )


def _named_files(part: Any) -> Iterator[tuple[str, str]]:
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key in ("file", "ptable") and isinstance(value, str) and "\n" not in value:
                yield str(key), value
            yield from _named_files(value)
