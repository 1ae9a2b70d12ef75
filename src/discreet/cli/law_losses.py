"""`discreet law`: what a law costs a reader. Losses, matching laws, cells left alone, two neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ..errors import LawError
from . import show
from .law_options import Epsilons, LawOptions, law_name, numbers, short_up, whole_numbers
from .laws import whole
from .pictures import Picture, write_picture
from .setting_options import gathering
from .tables import Json

if TYPE_CHECKING:
    from ..core.law_losses import Losses
    from ..core.noise_law import AnyLaw

_PANEL = "What a law costs a reader"
_chosen = gathering("chosen", LawOptions)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this room."""
    app.command("losses", rich_help_panel=_PANEL)(losses)
    app.command("match", rich_help_panel=_PANEL)(match)
    app.command("unchanged", rich_help_panel=_PANEL)(unchanged)
    app.command("neighbours", rich_help_panel=_PANEL)(neighbours)


@_chosen
def losses(
    chosen: LawOptions,
    counts: Annotated[str, Option(help="True counts whose negatives become 0.")] = "0:5",
    within: Annotated[str, Option(help="Shares within ± these.")] = "1:4",
    example: Annotated[
        bool, Option("--example", help="Add expected ℓ1, ℓ2, ℓ3 over rinott's Table 1.")
    ] = False,
    json: Json = False,
) -> None:
    """How far off is a published number? Shares unchanged and near, mean errors, clipped or not.

    [bold]discreet law losses --law normal --epsilon 0.5 -m 10[/bold]   (rinott Table 2, §5.6.1)
    """
    law = chosen.one()
    near = whole_numbers(within, "within")
    rows = [_losses_row(law, None, near)] if law.name != "hellinger" else []
    rows += [_losses_row(law, count, near) for count in whole_numbers(counts, "counts")]
    title = f"{law_name(law)}: a published number b of a true count a"
    columns = (">a", ">unchanged", *(f">± {k}" for k in near))
    means = (">E|b−a|", ">E(b−a)²", ">bias")
    lines = [
        (
            "any" if row["count"] is None else row["count"],
            *(f"{row['within'][str(k)]:.4f}" for k in (0, *near)),
            *(f"{row[name]:.4f}" for name in ("absolute", "squared", "bias")),
        )
        for row in rows
    ]
    facts: dict[str, Any] = {"law": law_name(law), "rows": rows}
    if example:
        facts["example"] = _over_example(law)
    if not show.study(json, facts, title, (*columns, *means), lines):
        return
    if law.name != "hellinger":
        words = "Row any: negatives are kept. All others: negatives are shown as 0."
        show.console().print(f"[dim]{words}[/dim]")
    if example:
        _print_example(facts["example"])


def _losses_row(law: AnyLaw, count: int | None, near: Sequence[int]) -> dict[str, Any]:
    from ..core import law_losses

    clip = count is not None
    found: Losses = law_losses.losses(law, count, clip=clip)
    shares = {
        str(k): float(law_losses.within(law, k, count, clip=clip))
        for k in dict.fromkeys((0, *near))
    }
    return {"count": count, "clipped": clip, "within": shares, **found.to_dict()}


def _over_example(law: AnyLaw) -> dict[str, Any]:
    from ..core.law_losses import table_losses
    from ..demo.uk_census import SOURCE, uk_census

    counts = uk_census().counts
    if law.name == "hellinger":
        raise LawError("The example has counts up to 307; the hellinger law here goes to 60.")
    return {
        "source": SOURCE,
        "cells": len(counts),
        "kept": asdict(table_losses(law, counts)),
        "clipped": asdict(table_losses(law, counts, clip=True)),
    }


def _print_example(facts: dict[str, Any]) -> None:
    rows = [
        (
            f"negatives {name}",
            *(f"{facts[name][one]:.4g}" for one in ("absolute", "squared")),
            "–" if facts[name]["root"] is None else f"{facts[name]['root']:.4g}",
            f"{facts[name]['unchanged']:.2%}",
        )
        for name in ("kept", "clipped")
    ]
    title = f"Expected over {facts['cells']} cells ({facts['source']})"
    show.grid(title, ("", ">ℓ1", ">ℓ2", ">ℓ3", ">cells unchanged"), rows)


def match(
    epsilon: Epsilons,
    max_perturbation: Annotated[
        str, Option("--max-perturbation", "-m", help="Where the Laplace law is cut.")
    ],
    key_bits: Annotated[int, Option(help="Weights are integers over 2^this.")] = 64,
    json: Json = False,
) -> None:
    """The normal law that promises as much as a truncated Laplace: the smallest m, and its price.

    [bold]discreet law match --epsilon 0.1,0.5,1,1.5,2,3 -m 7[/bold]   (rinott §5.6.2)
    """
    from ..core.audit import audit
    from ..core.exact import float_up
    from ..core.law_builders import laplace
    from ..core.law_losses import losses as losses_of
    from ..core.law_studies import matching_normal

    m = whole(max_perturbation, "max_perturbation")
    rows: list[dict[str, Any]] = []
    for e in numbers(epsilon, "epsilon"):
        cut = laplace(e, m, key_bits=key_bits)
        other = matching_normal(cut)
        pair = {"laplace": cut, "normal": other}
        deltas = {name: audit(law, e).delta for name, law in pair.items()}
        rows.append(
            {
                "epsilon": float(e),
                "max_perturbation": {name: law.max_perturbation for name, law in pair.items()},
                "delta": {name: float_up(one) for name, one in deltas.items()},
                "losses": {name: losses_of(law).to_dict() for name, law in pair.items()},
            }
        )
    lines = [
        (
            f"{row['epsilon']:g}",
            row["max_perturbation"]["normal"],
            *(short_up(Fraction(delta)) for delta in row["delta"].values()),
            *(f"{row['losses'][n]['squared'] ** 0.5:.2f}" for n in row["losses"]),
            *(f"{row['losses'][n]['unchanged']:.1%}" for n in row["losses"]),
        )
        for row in rows
    ]
    columns = (">ε", ">m normal", ">δ Laplace", ">δ normal", ">sd Laplace", ">sd normal")
    unchanged = (">unchanged Laplace", ">unchanged normal")
    title = f"Laplace cut at ± {m}, and the smallest normal law whose δ is no larger"
    show.study(json, {"rows": rows}, title, (*columns, *unchanged), lines)


def unchanged(
    epsilon: Epsilons = "0.1,1,2,5,10",
    gaussian_delta: Annotated[str, Option(help="δ of the Gaussian noise.")] = "0.05",
    max_perturbation: Annotated[
        str | None, Option("--max-perturbation", "-m", help="Beside: a cell-key law on ± D …")
    ] = None,
    variance: Annotated[str | None, Option(help="… with this variance.")] = None,
    json: Json = False,
) -> None:
    """The share of cells that noise leaves alone, for three laws, beside a cell-key perturbation.

    [bold]discreet law unchanged -m 5 --variance 3[/bold]   (ons Tables 1 to 3)
    """
    from ..core import unchanged as shares
    from ..core.law_builders import max_entropy

    if (max_perturbation is None) != (variance is None):
        raise LawError("A cell-key law beside needs both --max-perturbation and --variance.")
    rows = [shares.unchanged(e, gaussian_delta=gaussian_delta) for e in numbers(epsilon, "epsilon")]
    names = ("rounded_laplace", "rounded_gaussian", "discrete_laplace")
    facts: dict[str, Any] = {
        "rows": [
            {"epsilon": float(row.epsilon)} | {name: getattr(row, name) for name in names}
            for row in rows
        ]
    }
    lines = [
        (f"{float(row.epsilon):g}", *(f"{getattr(row, name):.4f}" for name in names))
        for row in rows
    ]
    columns = (">ε", ">Laplace, rounded", ">Gaussian, rounded", ">discrete Laplace")
    if max_perturbation is not None and variance is not None:
        law = max_entropy(whole(max_perturbation, "max_perturbation"), variance)
        facts["cell_key"] = {"law": law_name(law), "unchanged": float(law.probability(0))}
    for_people = show.study(json, facts, "Share of cells left unchanged", columns, lines)
    if for_people and "cell_key" in facts:
        show.console().print(
            f"A cell-key table with the {facts['cell_key']['law']} law leaves "
            f"{facts['cell_key']['unchanged']:.4f} of large cells unchanged."
        )


@_chosen
def neighbours(
    chosen: LawOptions,
    count: Annotated[int, Option(help="The smaller of the two true counts.")] = 10,
    picture: Picture = None,
    json: Json = False,
) -> None:
    """What may be published when one person more is counted: two laws, and their ratio.

    [bold]discreet law neighbours --epsilon 1 --count 10 --picture two.svg[/bold]   (ons Figure 1)
    """
    from ..report import law_pictures

    law = chosen.one()
    if count < 0:
        raise LawError(f"count must be a whole number ≥ 0, got {count}.")
    here, there = law.for_count(count), law.for_count(count + 1)
    reach = max(one.half_width("0.999") for one in (here, there))
    values = range(count - reach, count + reach + 2)
    first = {v: float(here.probability(v - count)) for v in values}
    second = {v: float(there.probability(v - count - 1)) for v in values}
    asked = law.parameters.get("epsilon")
    if picture is not None:
        bound = None if asked is None else Fraction(asked)
        write_picture(law_pictures.neighbours_chart(first, second, count, bound), picture)
    facts: list[dict[str, Any]] = [
        {
            "value": v,
            "probability": [first[v], second[v]],
            "ratio": first[v] / second[v] if second[v] else None,
        }
        for v in values
        if first[v] or second[v]
    ]
    lines = [
        (
            one["value"],
            *(f"{p:.4%}" for p in one["probability"]),
            "never under the other" if not all(one["probability"]) else f"{one['ratio']:.4g}",
        )
        for one in facts
    ]
    columns = (">published", f">of {count:,} people", f">of {count + 1:,} people", ">ratio")
    title = f"{law_name(law)}, one person more or less"
    found = {"law": law_name(law), "rows": facts}
    show.study(json, found, title, columns, lines, picture=picture)
