"""The Python face: open a data set, draft a table, look at its cost, release it.

import discreet as dc

deaths = dc.open("demo/deaths-dp")
t = deaths.table(rows=["region"], columns=["cause"], epsilon="0.5")
t.cost, t.guarantee                  # before anything is spent
t = t.release()
t.to_pandas(), t.interval("0.95")
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import formats as writing
from . import recipe as recipes
from . import release, workspace
from .core.charge import has_loss
from .core.control import Control
from .core.exact import rounded_down
from .core.guarantee import Guarantee
from .core.loss import Loss, in_words, largest_epsilon, loss_from_json
from .core.neighbours import Neighbours
from .core.odds import worst_case
from .durable import SHARED, replace_text
from .errors import InputError
from .file_names import ANCHOR, STORE
from .formats import html
from .languages import say
from .methods import registry
from .methods.declaration import Spends
from .verbs import Asks, Released
from .workspace.dataset import loss_written

if TYPE_CHECKING:
    pass


def open(path: str | Path) -> DataSet:
    """Open a data set by its folder, or a workspace that holds just one.

    path    the folder: "demo/deaths"

        with dc.open("demo/deaths-dp") as deaths:
            draft = deaths.table(rows=["region"], columns=["sex"], epsilon="0.5")
            print(draft.cost, draft.guarantee)      # nothing is read or spent yet
            table = draft.release()
    """
    return DataSet(workspace.DataSet.open(workspace.resolve(path)))


class DataSet(Asks["Draft"]):
    """A data set, ready to be asked for tables. Close it, or use it in a `with` block."""

    def __init__(self, data: workspace.DataSet) -> None:
        self._data = data
        self._description = data.described.description  # whoever may read the folder sees it all
        self.name = data.name

    @property
    def variables(self) -> dict[str, list[str]]:
        """Names of variables and, finest first, of their levels."""
        return {
            variable.name: [level.name for level in variable.levels]
            for variable in self._description.variables
        }

    def categories(self, name: str) -> dict[str, str]:
        """Codes and labels of a variable, or of one of its levels."""
        ref = recipes.find_axis(self._description, name)
        level = self._description.axis(ref).level
        return {category.code: str(category.label) for category in level.categories}

    def _draft(self, recipe: Mapping[str, Any], user: str, project: str) -> Draft:
        read = recipes.from_mapping(recipe, self._description, self._data.policy)
        return Draft(self._data, read, user, project)

    def ledger_facts(self, *, short: bool = False) -> dict[str, Any]:
        """What was allowed, spent and is left, with every entry, as plain values.

        Numbers are exact; with `short`, long ones are in five digits as in messages: never too
        little spent, never too much left. Allowed, spent and left are None where the method only
        records what it releases.
        """
        ledger = self._data.ledger()

        def said(loss: Loss, *, left: bool = False) -> str:
            return in_words(loss, left=left) if short else str(loss)

        entries, read = [], list(ledger.entries())
        for entry in read:
            charges = entry.charges
            loss = ", ".join(one.in_words() if short else str(one) for one in charges)
            budget = entry.body.get("budget")
            if budget:
                loss = f"cap: {said(loss_from_json(budget))}"
            entries.append(
                {
                    "number": entry.seq,
                    "time": entry.at,
                    "kind": entry.kind if not charges or has_loss(charges) else "record",
                    "scope": _scope(entry.body),
                    "who": entry.body.get("user") or entry.body.get("who") or "",
                    "loss": loss,
                    "question": entry.body.get("question", ""),
                    "charges": [charge.to_json() for charge in charges],
                    "hash": entry.hash,
                }
            )
        cap, spent, left = ledger.cap(), ledger.spent(), ledger.left()
        largest = None if left is None else rounded_down(largest_epsilon(left), 6)
        return {
            "dataset": self.name,
            "cap": None if cap is None else said(cap),
            "spent": None if spent is None else said(spent),
            "left": None if left is None else said(left, left=True),
            "largest_epsilon": largest,
            "worst_case": "" if spent is None else self._worst_case(spent),
            "shares": [
                {
                    "scope": share.scope,
                    "cap": said(share.cap),
                    "spent": said(share.spent),
                    "left": said(share.left, left=True),
                }
                for share in ledger.shares()
            ],
            "by_version": {name: said(loss) for name, loss in ledger.loss_by_version(read).items()},
            "entry_count": len(entries),
            "entries": entries,
        }

    @property
    def worst_case(self) -> str:
        """What a reader could conclude about one unit from all that was spent so far, at worst."""
        spent = self._data.ledger().spent()
        return "" if spent is None else self._worst_case(spent)

    def _worst_case(self, spent: Loss) -> str:
        facts = self._data.description
        add_remove = facts.neighbours is Neighbours.ADD_REMOVE
        return worst_case(spent, facts.unit, add_remove=add_remove) or ""

    def share(
        self,
        scope: str,
        *,
        epsilon: str | None = None,
        delta: str | None = None,
        rho: str | None = None,
        who: str,
        reason: str,
    ) -> None:
        """Give `user:NAME` or `project:NAME` a share of the budget, change it, or take it away.

        A share is a limit of its own beside the data set's; what was charged before counts.
        Without a number it is taken away.
        """
        ledger = self._data.ledger()
        given = {"epsilon": epsilon, "delta": delta, "rho": rho}
        budget = loss_written({name: text for name, text in given.items() if text is not None})
        kind, _, name = scope.partition(":")
        known = kind in ("user", "project") and name and name == name.strip()
        if not known or not name.isprintable():
            raise InputError(f"A share is of user:NAME or project:NAME, got {scope[:80]!r}.")
        if not reason.strip():
            raise InputError("A share needs a reason, which stays in the ledger.")
        if budget is None and scope not in [held.scope for held in ledger.shares()]:
            raise InputError(f"{scope} has no share that could be taken away.")
        cap = ledger.cap()
        if budget and cap and cap.kind == budget.kind and not budget.fits(cap):
            raise InputError(
                f"A share of {budget} is more than the whole budget, {cap}. Give at most that."
            )
        ledger.set_subcap(scope, budget, who=who, reason=reason)

    def export_ledger(self, path: Path, form: str = "register") -> None:
        """Write the public loss register or dp-accounting events as JSON."""
        ledger = self._data.ledger()
        if form == "register":
            value: Any = ledger.export_register()
        elif form == "dp-accounting":
            value = ledger.export_events()
        else:
            raise InputError(f"--as must be register or dp-accounting, got {form!r}.")
        replace_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n", mode=SHARED)

    def close(self) -> None:
        """Let go of files."""
        self._data.close()

    def __enter__(self) -> DataSet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _scope(body: Mapping[str, Any]) -> str:
    """What an entry is about besides the data set: a share, or the project that was charged."""
    if body.get("scope"):
        return "" if body["scope"] == "dataset" else str(body["scope"])
    return f"project:{body['project']}" if body.get("project") else ""


class Draft:
    """A recipe that has been understood and not yet released."""

    def __init__(
        self, data: workspace.DataSet, recipe: recipes.Recipe, user: str, project: str
    ) -> None:
        self._data = data
        language = data.description.language_named(recipe.layouts[0].language)
        layouts = tuple(replace(layout, language=language) for layout in recipe.layouts)
        self._recipe = replace(recipe, layouts=layouts)
        self._payer = release.Payer(user, project)

    @property
    def language(self) -> str:
        """What its words are said in: as asked, else the data set's own."""
        return self._recipe.layouts[0].language or self._data.description.own_language

    @cached_property
    def _asked(self) -> release.Asked:
        return release.ask(self._data, self._recipe, self._payer)

    def preview(self) -> release.Asked:
        """Verdict, plan, cost, standing and expected error, from public facts; planned once."""
        return self._asked

    def forecast(self) -> str:
        """What comes out for people made up from public facts (suppression); empty elsewhere."""
        return self._asked.forecast()

    @property
    def cost(self) -> str:
        """What releasing would charge, in words."""
        charge = self._asked.plan.charge
        return charge.in_words() if charge is not None and self._asked.spends else say("nothing")

    @property
    def standing(self) -> str:
        """answered, free, affordable or refused, as things are now."""
        return str(self._asked.standing)

    @property
    def guarantee(self) -> Guarantee:
        """What the released table would promise."""
        return self._asked.plan.guarantee

    @property
    def query(self) -> str:
        """The question in its short form; empty where several tables are asked: they have none."""
        return "" if self._several else recipes.to_query(self._recipe)

    @property
    def _several(self) -> str:
        tables = len(self._recipe.question.tables)
        return f"{tables} tables" if tables > 1 else ""

    def release(self, *, free: bool = False, control: Control | None = None) -> Table:
        """Charge what it costs, then give the protected table.

        With `free`, answer from earlier releases only: nothing is charged.
        """
        if free:
            return Table(self._data, self._asked.derive(control=control))
        return Table(self._data, self._asked.release(control=control))

    def __repr__(self) -> str:
        return f"<draft of {self._data.name}: {self._several or self.query}>"

    def _repr_html_(self) -> str:
        return self.preview()._repr_html_()


class Table(Released):
    """A released table (or several): numbers, errors, guarantee, and files."""

    def __init__(self, data: workspace.DataSet, detail: release.Release) -> None:
        self._data = data
        self.detail = detail
        self.tables = detail.tables
        self.files: list[str] = []

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.detail.plan.guarantee

    @property
    def cost(self) -> str:
        """What was charged, in words."""
        charge = self.detail.plan.charge
        return charge.in_words() if charge is not None and self.detail.charged else say("nothing")

    def write(
        self,
        path: str | Path,
        formats: str | Sequence[str] | None = None,
        *,
        microdata: Sequence[str] = ("parquet",),
        control: Control | None = None,
    ) -> Path:
        """Write a file, where the path's ending or one format says which; else a folder.

        The folder holds tables (CSV and XLSX unless `formats` lists others), report and manifest;
        for consistent margins also the synthetic records and the noisy measurements, as each of
        `microdata`: parquet, csv.
        """
        from .report.publication import publish

        target = Path(path)
        name = writing.one_file(target, formats)
        if name:
            self.files = [file.name for file in writing.write(self.tables, target, name)]
            return target
        wanted = formats or writing.IN_FOLDERS
        published = publish(
            self._data, self.detail, target, wanted, microdata=microdata, control=control
        )
        self.files = list(published.files)
        return target

    def _repr_html_(self) -> str:
        return "".join(html.notebook(table) for table in self.tables)


def verify_ledger(path: str | Path, *, anchor: str | Path | None = None) -> dict[str, Any]:
    """Verify chain, sums, indexes and anchors of a data set's ledger; raises where they disagree.

    `anchor` is a copy of its anchor that was kept elsewhere, or many one below the other.
    """
    from . import store

    facts = vars(store.verify(_ledger_folder(path), copy=anchor))
    names = ("dataset", "entries", "answers", "spent", "head", "anchored", "anchored_outside")
    return {name: facts[name] for name in names} | {"spent": str(facts["spent"] or "nothing")}


def accept_restore(
    path: str | Path, *, who: str, reason: str, anchor: str | Path | None = None
) -> dict[str, Any]:
    """Let a ledger that was restored from a backup go on; what it forgot counts as spent."""
    from . import store
    from .workspace import description_file

    folder = _ledger_folder(path)
    neighbours = str(description_file.read(folder).description.neighbours)
    restored = store.accept_restore(
        folder, neighbours=neighbours, who=who, reason=reason, copy=anchor
    )
    return {
        "entry": restored.entry,
        "lost": restored.lost,
        "counted": str(restored.counted or "nothing"),
        "exact": restored.exact,
    }


def _ledger_folder(path: str | Path) -> Path:
    """The folder of a data set that has or may have a ledger."""
    from .workspace import dataset, description_file

    folder = workspace.resolve(path)
    if not any((folder / name).exists() for name in (STORE, ANCHOR)):
        policy = description_file.read(folder).policy
        if registry.declaration(policy.method).spends is Spends.NOTHING:
            raise InputError(dataset.unbudgeted(folder.name, policy))
    return folder
