"""`discreet init`: from a file or a database table to a described, loaded data set."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

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
    load: bool = True,
) -> Started:
    """Profile `data`, write discreet.yaml into the folder `into`, and load.

    data      a CSV, Parquet or XLSX file, or a table: "sqlite:///registry.db?table=deaths"
    into      the folder of the new data set; a description that is there is never overwritten
    control   progress and cancelling
    family    cell-key or dp
    budget    of family dp, for ever: {"epsilon": "2"}
    options   of a CSV file, where they are not found out: delimiter, encoding, quote, escape, header
    unit      who one unit is; where it is not said, guarantees speak of one record, and where the
              file leaves a doubt it is undecided and nothing is loaded
    load      False only writes the description

        person = dc.UnitChoice("person", "person_id")
        started = dc.init("people.csv", "work/people", unit=person)
        print(started.draft.left_out, started.warnings())
    """
    control = control or Control()
    draft = proposal(data, into, control, family=family, budget=budget, options=options, unit=unit)
    return begin(draft, into, control, load=load)


def proposal(
    data: str | Path,
    into: str | Path,
    control: Control,
    *,
    family: str = "cell-key",
    budget: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
    unit: UnitChoice | None = None,
) -> Draft:
    """What `init` would write into the folder `into`; nothing is written."""
    folder = Path(into)
    if (folder / DESCRIPTION).exists():
        raise InputError(
            f"{folder} is described already. Edit {folder / DESCRIPTION} and run `discreet load {folder}`, "
            "or choose another folder."
        )
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; --into needs a folder.")
    chosen = _family(family)
    for name, value in (budget or {}).items():
        exact(value, f"budget.{name}", above=0)
    draft = describe(data, folder, control, options=options, unit=unit or UnitChoice())
    draft.family, draft.method = str(chosen), registry.of_family(chosen)[0]
    if chosen is Family.CELL_KEY:
        draft.methods = {"cell-key": dict(CELL_KEY)}
    if chosen is Family.DP:
        draft.budget = dict(budget or {"epsilon": "1"})
    return draft


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
    return Started(folder, draft, loading.load(folder, _second_half(control or Control())))


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


def describe(
    data: str | Path,
    folder: Path,
    control: Control,
    *,
    options: Mapping[str, str] | None,
    unit: UnitChoice,
) -> Draft:
    """The draft for a source, as it will be written into `folder`; nothing is written."""
    from ..engines.coding import Source
    from ..engines.duckdb.profiling import profile

    source = Source.guess(data)
    if options:
        source = replace(source, options=dict(options))
    first = Control(lambda share, doing: control.progress(share / 2, doing), control.cancelled)
    seen = profile(source, first, most_values=MOST_VALUES)
    facts = SourceFacts.of(seen)
    own = folder.resolve().name
    name = own if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,49}", own) else safe_names([own])[own]
    stem = source.table or source.path.stem
    keys = source_keys(source, seen, folder)
    units = unit_columns(facts, unit.id)
    draft = guess(seen, units, dataset=name, title=pretty(stem), source=keys)
    draft.units, draft.source_facts = units, facts
    settle(draft, unit)
    if not draft.variables:
        left_out = list(draft.left_out)
        if draft.id is not None:
            left_out.append((draft.id, "is taken to name the unit."))
        reasons = "; ".join(f"{column[:60]} {reason}" for column, reason in left_out[:3])
        raise DataError(
            f"{source.name} has no column that can be a variable: {reasons} "
            "Check its delimiter and header."
        )
    return draft


def source_keys(source: Source, found: Profile, folder: Path) -> dict[str, str]:
    """How discreet.yaml names a source: relative where it lies in or beside the data set."""
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
