"""`discreet ptable`: design, audit and convert p-tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ..durable import SHARED, replace_text
from ..errors import LawError
from . import show
from .laws import AtEpsilon, Rule, whole
from .tables import Json

if TYPE_CHECKING:
    from ..methods.cellkey.ptable import Loss, PTable

ptable_app = typer.Typer(
    help="Design, audit and convert p-tables: a law for each true count.", no_args_is_help=True
)


@ptable_app.command("design")
def ptable_design(
    max_perturbation: Annotated[
        str | None, Option("--max-perturbation", "-m", help="Largest perturbation D.")
    ] = None,
    variance: Annotated[str | None, Option(help="Variance V of the noise.")] = None,
    epsilon: Annotated[
        str | None, Option(help="Instead of D and V: ε of one cell, empty cells included …")
    ] = None,
    delta: Annotated[str | None, Option(help="… with this δ.")] = None,
    rule: Rule = "smallest",
    blocked_below: Annotated[
        str, Option(help="Positive results up to this are impossible (js).")
    ] = "0",
    p_stay: Annotated[str | None, Option(help="Least probability of no change.")] = None,
    exact_variance: Annotated[
        bool, Option("--exact-variance", help="Variance V exactly, not at most.")
    ] = False,
    no_monotone: Annotated[
        bool, Option("--no-monotone", help="Let probabilities rise away from 0.")
    ] = False,
    keys: Annotated[int | None, Option(help="Number of cell keys: 256, 4096, 2^32 …")] = None,
    dialect: Annotated[str, Option(help="ons, cantabular or sdctools.")] = "sdctools",
    output: Annotated[Path | None, Option("--output", "-o", help="Write the p-table.")] = None,
    json: Json = False,
) -> None:
    """Maximum-entropy p-table from D and V, or from ε and δ: one row for each true count.

    From ε and δ every count has one law, cut at 0 for counts below D: they come out too large.

    [bold]discreet ptable design -m 5 --variance 3 --blocked-below 2 --dialect sdctools -o p.csv[/bold]
    [bold]discreet ptable design --epsilon 1 --delta 1e-3 -o p.csv[/bold]
    """
    from ..methods.cellkey.design import design as make

    if epsilon is not None or delta is not None:
        unused = {
            "--max-perturbation": max_perturbation,
            "--variance": variance,
            "--p-stay": p_stay,
            "--blocked-below": None if blocked_below == "0" else blocked_below,
            "--exact-variance": exact_variance or None,
            "--no-monotone": no_monotone or None,
        }
        table = _from_promise(epsilon, delta, rule, unused)
        _tell_ptable(table, json, epsilon, written=_text(table, output, dialect, keys))
        return
    if max_perturbation is None or variance is None:
        raise LawError(
            "A p-table is designed from --max-perturbation and --variance, or from --epsilon and "
            "--delta. Give one of the two pairs."
        )
    table = make(
        whole(max_perturbation, "max_perturbation"),
        variance,
        blocked_below=whole(blocked_below, "blocked_below"),
        p_stay=p_stay,
        exact_variance=exact_variance,
        monotone=not no_monotone,
    )
    _tell_ptable(table, json, written=_text(table, output, dialect, keys))


def _from_promise(
    epsilon: str | None, delta: str | None, rule: str, unused: Mapping[str, object]
) -> PTable:
    from ..methods.cellkey.design import design_for

    if epsilon is None or delta is None:
        raise LawError("--epsilon and --delta go together: ε 1 with δ 1e-3, say.")
    for name, value in unused.items():
        if value is not None:
            raise LawError(f"{name} is not used with --epsilon and --delta. Leave it out.")
    return design_for(epsilon, delta, rule=rule)


@ptable_app.command("audit")
def ptable_audit(
    path: Annotated[Path, Argument(help="A p-table in any of the three dialects.")],
    at_epsilon: AtEpsilon = None,
    json: Json = False,
) -> None:
    """Read a p-table, check every row and audit every pair of neighbouring counts.

    [bold]discreet ptable audit p.csv[/bold]
    """
    _tell_ptable(open_ptable(path), json, at_epsilon)


@ptable_app.command("convert")
def ptable_convert(
    source: Annotated[Path, Argument(metavar="IN", help="A p-table in any dialect.")],
    target: Annotated[Path, Argument(metavar="OUT", help="Where the new one goes.")],
    dialect: Annotated[str, Option(help="ons, cantabular or sdctools.")],
    keys: Annotated[int | None, Option(help="Number of cell keys: 256, 4096 …")] = None,
    json: Json = False,
) -> None:
    """Convert a p-table between the dialects of ONS, Cantabular and sdcTools.

    [bold]discreet ptable convert p.csv ons.csv --dialect ons --keys 256[/bold]
    """
    table = open_ptable(source)
    _tell_ptable(table, json, written=_text(table, target, dialect, keys))


def open_ptable(path: Path) -> PTable:
    """The p-table of a file in any dialect."""
    from ..methods.cellkey import dialects

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise LawError(
            f"{path} cannot be read as a p-table. Give a text file in one of the dialects ons, "
            "cantabular and sdctools."
        ) from None
    return dialects.read(text)


@dataclass(frozen=True)
class Written:
    """A p-table as its file will have it, and what the file's dialect cannot say."""

    path: Path
    text: str
    table: PTable
    notes: tuple[str, ...]


def _text(table: PTable, path: Path | None, dialect: str, keys: int | None) -> Written | None:
    """The file of a p-table, before it is written; its table is read from that very text."""
    from ..methods.cellkey import dialects

    dialects.check_dialect(dialect)
    if keys is None and table.keys > 2**16:
        keys = 10**8 if dialect == "sdctools" else 256
    if path is None:
        return None
    text = dialects.write(table, dialect, keys=keys)
    again = dialects.read(text, dialect, negatives=True)
    designed = table.support[: len(again.rows)]
    again = replace(again, name=table.name, parameters=table.parameters, support=designed)
    notes = dialects.notes(table, dialect)
    if keys is None and dialect != "sdctools" and again.keys != table.keys:
        several = again.keys // table.keys
        notes = (
            *notes,
            f"{table.keys} keys are written as {again.keys}, {several} for each of them.",
        )
    return Written(path, text, again, notes)


def _tell_ptable(
    designed: PTable, json: bool, at_epsilon: str | None = None, *, written: Written | None = None
) -> None:
    table = designed if written is None else written.table
    found = table.audit(at_epsilon)
    above = table.audit(at_epsilon, least_count=1)
    lost = {str(keys): designed.loss(keys) for keys in (256, 4096) if keys < designed.keys}
    if written is not None:  # all that can fail has been done
        replace_text(written.path, written.text, mode=SHARED)
    if json:
        audits = {"audit": found.to_dict(), "audit_without_zeros": above.to_dict()}
        file = {"file": str(written.path), "notes": written.notes} if written else {}
        show.as_json(_facts(table, lost), **audits, **file)
        return
    out = show.console()
    _print_rows(table)
    show.pairs(
        ("last row", f"serves every count from {table.max_count} on"),
        *_bias_line(table),
        ("one cell, from 1 on", str(above)),
        ("with empty cells", str(found)),
        *(
            (
                f"cut to {keys} keys",
                f"bias {float(loss.bias):.2g}, variance off by {float(loss.variance_error):.2%}, "
                f"{loss.outcomes_lost} of {loss.outcomes} outcomes lost",
            )
            for keys, loss in lost.items()
        ),
    )
    if table.unreachable:
        out.print(
            f"[yellow]unreachable (count, perturbation): {list(table.unreachable)[:8]}[/yellow]"
        )
    if written is not None:
        for words in written.notes:
            out.print(f"[yellow]{words}[/yellow]")
        out.print(f"[dim]Written to {written.path}[/dim]")


def _bias_line(table: PTable) -> list[tuple[str, object]]:
    """How far off counts come out on average, where a table is not right on average."""
    off = [count for count, row in enumerate(table.rows) if row.mean]
    if not off:
        return []
    worst = max(off, key=lambda count: abs(table.rows[count].mean))
    mean = float(table.rows[worst].mean)
    return [
        (
            "bias",
            f"counts from {off[0]} to {off[-1]} are not right on average: a true {worst} comes out "
            f"{abs(mean):.3g} too {'large' if mean > 0 else 'small'}, the others by less",
        )
    ]


def _facts(table: PTable, lost: Mapping[str, Loss]) -> dict[str, Any]:
    """A p-table as plain data."""
    return {
        "name": table.name,
        "parameters": dict(table.parameters),
        "keys": table.keys,
        "max_perturbation": table.max_perturbation,
        "rows": [
            {
                "count": count,
                "mean": float(row.mean),
                "variance": float(row.variance),
                "unchanged": float(row.pmf.get(0, 0)),
                "pmf": {str(v): float(p) for v, p in row.pmf.items()},
            }
            for count, row in enumerate(table.rows)
        ],
        "bias": float(table.bias),
        "unreachable": [list(pair) for pair in table.unreachable],
        "quantisation": {
            keys: {
                "bias": float(loss.bias),
                "variance_error": float(loss.variance_error),
                "outcomes_lost": loss.outcomes_lost,
                "outcomes": loss.outcomes,
            }
            for keys, loss in lost.items()
        },
        "digest": table.digest,
    }


def _print_rows(table: PTable) -> None:
    """A line for each row; of many, the first and the last."""
    shown = table.rows if len(table.rows) <= 20 else (*table.rows[:19], table.rows[-1])
    rows = [
        (
            f"{count if count < 19 or len(table.rows) <= 20 else table.max_count}",
            len(row.weights),
            "0" if row.mean == 0 else f"{float(row.mean):.2g}",
            f"{float(row.variance):.6f}",
            f"{float(row.pmf.get(0, 0)):.4f}",
            " ".join(f"{v:+d}" if v else "0" for v in list(row.weights)[:13]),
        )
        for count, row in enumerate(shown)
    ]
    columns = (">true count", ">outcomes", ">mean", ">variance", ">unchanged", "perturbations")
    show.grid(f"p-table: {table.name}, {table.keys:,} keys", columns, rows)
