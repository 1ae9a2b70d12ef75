"""`discreet init`: from a file or a database table to a described, loaded data set."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from ..core.control import Control
from ..core.description import UNDECIDED
from ..core.exact import exact
from ..core.family import Family
from ..durable import make_folder
from ..errors import DataError, InputError
from ..file_names import DESCRIPTION
from ..methods import registry
from . import loading
from .checks import same_people
from .column_choice import LEFT_OUT, ColumnChoice
from .dataset import DataSet
from .description_file import read
from .draft import Draft
from .guess import guess
from .source_facts import MOST_VALUES, SourceFacts, keep
from .unit_choice import UnitChoice, settle
from .unit_columns import unit_columns
from .vocabulary import pretty, safe_names
from .writer import write

if TYPE_CHECKING:
    from ..engines.coding import Profile, Source


CELL_KEY = {"max_perturbation": 5, "variance": 2, "keys": "strong"}
"""What a new data set's cell-key policy says; the custodian chooses."""


@dataclass(frozen=True)
class Started:
    """What init made; for the custodian."""

    folder: Path
    draft: Draft
    loaded: loading.Loaded | None

    def dataset(self) -> DataSet:
        """The data set, opened."""
        return DataSet.open(self.folder)

    def warnings(self) -> list[str]:
        """What the custodian should know at once: broken hierarchies, other data on these people."""
        others = same_people(self.folder, read(self.folder))
        return [*self.draft.hints, *(f"{other.what} {other.todo}" for other in others)]


def init(
    data: str | Path,
    into: str | Path,
    control: Control | None = None,
    *,
    family: str = "cell-key",
    budget: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    unit: UnitChoice | None = None,
    columns: ColumnChoice | None = None,
    load: bool = True,
    table: str | None = None,
) -> Started:
    """Profile `data`, write discreet.yaml into the folder `into`, and load.

    data      a CSV, Parquet or XLSX file, or a table: "sqlite:///registry.db?table=deaths",
              "postgresql://ann@db.example/registry?table=deaths" (its password is never written)
    into      the folder of the new data set; a description that is there is never overwritten
    control   progress and cancelling
    family    cell-key or dp
    budget    of family dp, for ever: {"epsilon": "2"}
    options   of a CSV file, where they are not found out: delimiter, encoding, quote, escape, header
    unit      who one unit is; where it is not said, guarantees speak of one record, and where the
              file leaves a doubt it is undecided and nothing is loaded
    columns   which columns to leave out, and which one is the weight
    load      False only writes the description
    table     of a database, where `data` does not name it

        person = dc.UnitChoice("person", "person_id")
        started = dc.init("people.csv", "work/people", unit=person)
        print(started.draft.left_out, started.warnings())
    """
    control = control or Control()
    folder = Path(into)
    refuse_described(folder)
    policy = PolicyChoice(family, budget)
    policy.check()
    seen = look(data, control, options, table)
    draft = propose(seen, folder, policy, unit=unit, columns=columns)
    return begin(draft, into, control, load=load)


def folder_name(data: str | Path, table: str | None = None) -> str:
    """What to call the folder of a new data set, after the file or the table.

    >>> folder_name("old/deaths.csv"), folder_name("postgresql://ann:secret@host", "health.deaths")
    ('deaths', 'deaths')
    """
    from ..engines.coding import Source

    source = Source.guess(data)
    if source.address is None:
        return Path(str(data).partition("?")[0]).stem
    return (
        (table or source.table or source.path.name)
        .rstrip("/")
        .rpartition("/")[2]
        .rpartition(".")[2]
    )


@dataclass(frozen=True)
class PolicyChoice:
    """How a new data set is to be protected: its family, and the budget of family dp, for ever."""

    family: str = "cell-key"
    budget: Mapping[str, str] | None = None
    cell_key: Mapping[str, Any] = field(default_factory=lambda: dict(CELL_KEY))
    """What the method cell-key is told."""
    rules: Mapping[str, Any] = field(default_factory=dict)
    """Rules in the place of those that are proposed."""

    def check(self) -> None:
        """Raise where the family or a number of the budget cannot be."""
        _family(self.family)
        for name, value in (self.budget or {}).items():
            exact(value, f"budget.{name}", above=0)


def refuse_described(folder: Path) -> None:
    """Raise where a data set is described already, or cannot lie."""
    if (folder / DESCRIPTION).exists():
        raise InputError(
            f"{folder} is described already. Edit {folder / DESCRIPTION} and run `discreet load {quote(str(folder))}`, "
            "or choose another folder."
        )
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; --into needs a folder.")


def look(
    data: str | Path,
    control: Control,
    options: Mapping[str, str] | None = None,
    table: str | None = None,
) -> Profile:
    """What a source looks like; the first half of the work, as progress tells it."""
    from ..engines.coding import Source
    from ..engines.duckdb.profiling import profile

    source = Source.guess(data)
    if options:
        source = replace(source, options=dict(options))
    if table:
        source = replace(source, table=table)
    first = Control(lambda share, doing: control.progress(share / 2, doing), control.cancelled)
    return profile(source, first, most_values=MOST_VALUES)


def propose(
    seen: Profile,
    folder: Path,
    policy: PolicyChoice,
    *,
    unit: UnitChoice | None = None,
    columns: ColumnChoice | None = None,
    name: str = "",
) -> Draft:
    """What `init` writes into `folder` for a source that was looked at; nothing is written."""
    source, facts = seen.source, SourceFacts.of(seen)
    choice, said = columns or ColumnChoice(), unit or UnitChoice()
    choice.check(facts.names)
    own = name or folder.resolve().name
    name = own if is_data_set_name(own) else safe_names([own])[own]
    stem = source.table or source.path.stem
    units = unit_columns(facts, said.id)
    draft = guess(
        choice.applied(seen),
        units,
        dataset=name,
        title=pretty(stem.rpartition(".")[2] if source.address else stem),
        source=source_keys(source, seen, folder),
        weight=choice.weight,
    )
    draft.left_out += [(column, LEFT_OUT) for column in facts.names if column in choice.leave_out]
    draft.units, draft.source_facts = units, facts
    draft.secret = source.address.secret if source.address else ""
    settle(draft, said)
    _protect(draft, policy)
    if not draft.variables:
        raise _without_variables(draft, source.name)
    return draft


def is_data_set_name(name: str) -> bool:
    """Whether a data set can be called so."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,49}", name) is not None


def _protect(draft: Draft, policy: PolicyChoice) -> None:
    chosen = _family(policy.family)
    draft.family, draft.method = str(chosen), registry.of_family(chosen)[0]
    draft.rules = {**draft.rules, **policy.rules}
    if chosen is Family.CELL_KEY:
        draft.methods = {"cell-key": dict(policy.cell_key)}
    if chosen is Family.DP:
        draft.budget = dict(policy.budget or {"epsilon": "1"})


def _without_variables(draft: Draft, name: str) -> DataError:
    left_out = list(draft.left_out)
    if draft.id is not None:
        left_out.append((draft.id, "is taken to name the unit."))
    reasons = "; ".join(f"{column[:60]} {reason}" for column, reason in left_out[:3])
    return DataError(
        f"{name} has no column that can be a variable: {reasons} Check its delimiter and header."
    )


def begin(
    draft: Draft, into: str | Path, control: Control | None = None, *, load: bool = True
) -> Started:
    """Write a draft into its folder and load, unless who one unit is has still to be said."""
    folder = Path(into)
    make_folder(folder)
    write(draft, folder)
    if draft.source_facts is not None:
        keep(read(folder), draft.source_facts)
    if not load or draft.unit == UNDECIDED:
        return Started(folder, draft, None)
    second = _second_half(control or Control())
    return Started(folder, draft, loading.load(folder, second, secret=draft.secret))


def _family(name: str) -> Family:
    if name == Family.SYNTHETIC:
        raise InputError(
            "Synthetic records are made from a release, not from a source: release consistent "
            "margins, then use `discreet synthetic`."
        )
    if name == Family.SUPPRESSION:
        raise InputError(
            "Suppression stands on public populations and a prior, which no look at the records may "
            "give. Begin with `--family cell-key`, then write `family: suppression` and "
            "`methods: suppression:` into discreet.yaml before anything is published."
        )
    apart = (Family.SYNTHETIC, Family.SUPPRESSION)
    known = [str(one) for one in registry.families() if one not in apart]
    if name not in known:
        raise InputError(f"There is no family {name[:40]!r}; there are {', '.join(known)}.")
    return Family(name)


def _second_half(control: Control) -> Control:
    """Progress from a half to the whole: profiling was the first half."""
    return Control(lambda share, doing: control.progress(0.5 + share / 2, doing), control.cancelled)


def source_keys(source: Source, found: Profile, folder: Path) -> dict[str, str]:
    """How discreet.yaml names a source: relative where it lies in or beside the data set."""
    if source.address is not None:
        return {"database": source.address.url, "table": found.source.table or ""}
    path, base = source.path.resolve(), folder.resolve()
    near = base in path.parents or base.parent == path.parent
    where = os.path.relpath(path, base) if near else str(path)
    keys = {"file": where}
    if source.kind in ("duckdb", "sqlite"):
        keys = {"database": f"{source.kind}:///{where}"}
    if found.source.table:
        keys["table"] = found.source.table
    if found.dialect is not None:
        keys.update(found.dialect.options())
    return keys
