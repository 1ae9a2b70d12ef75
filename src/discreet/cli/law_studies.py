"""`discreet law`: what laws promise side by side. Audits, curves, the least δ, sizes of keys."""

from __future__ import annotations

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
    from ..core.audit import AuditedLaw
    from ..core.law_studies import KeySize
    from ..core.noise_law import AnyLaw

_PANEL = "What laws promise, side by side"
_GRID = "0.1:3:0.1"
At = Annotated[str, Option("--at", help="ε to audit at: 0.5, or 0.5,1,2, or 0.1:3:0.1.")]
_chosen = gathering("chosen", LawOptions)


def add_to(app: typer.Typer) -> None:
    """Add the commands of this room."""
    app.command("audit", rich_help_panel=_PANEL)(audit)
    app.command("curve", rich_help_panel=_PANEL)(curve)
    app.command("least-delta", rich_help_panel=_PANEL)(least_delta)
    app.command("key-sizes", rich_help_panel=_PANEL)(key_sizes)


@_chosen
def audit(chosen: LawOptions, at: At, json: Json = False) -> None:
    """What a law promises at any ε: δ, and the chance that a likelihood ratio exceeds e^ε.

    [bold]discreet law audit --law normal --epsilon 1 -m 10 --at 0.25,0.5,1[/bold]   (rinott 4.4, 4.5)

    (ε, δ) differential privacy weighs how far a ratio exceeds e^ε; probabilistic DP counts that it
    does, so its δ is never smaller. The last column names a likelihood ratio of e^ε.
    """
    from ..core.audit import delta, probabilistic_delta
    from ..core.evidence import evidence
    from ..core.exact import float_up, rounded_up
    from ..core.pure_laplace import PureLaplace

    law = _auditable(chosen.one())
    rows = []
    for e in numbers(at, "--at"):
        strength = evidence(e)
        chance = None if isinstance(law, PureLaplace) else probabilistic_delta(law, e)
        rows.append((e, delta(law, e), chance, strength))
    facts: list[dict[str, Any]] = [
        {
            "epsilon": float(e),
            "delta": float_up(found),
            "probabilistic_delta": None if chance is None else float_up(chance),
            "likelihood_ratio": float_up(strength.ratio),
            "evidence": strength.words,
        }
        for e, found, chance, strength in rows
    ]
    lines = [
        (
            f"{float(e):g}",
            rounded_up(found),
            "–" if chance is None else rounded_up(chance),
            f"{float(strength.ratio):.4g}: {strength.words}",
        )
        for e, found, chance, strength in rows
    ]
    columns = (">ε", ">δ", ">probabilistic δ", "e^ε")
    title = f"{law_name(law)}, one cell asked once"
    show.study(json, {"law": law_name(law), "rows": facts}, title, columns, lines)


@_chosen
def curve(chosen: LawOptions, at: At = _GRID, picture: Picture = None, json: Json = False) -> None:
    """δ over ε for several laws side by side, with a picture.

    [bold]discreet law curve --law max-entropy -m 11,15 --variance 4,10 --picture curves.svg[/bold]
    (sadeghi Fig. 1)
    """
    from ..core.exact import float_up
    from ..core.law_studies import delta_curve
    from ..report import law_pictures

    grid = numbers(at, "--at")
    laws = [_auditable(law) for law in chosen.laws()]
    curves = {law_name(law): delta_curve(law, grid) for law in laws}
    if picture is not None:
        write_picture(law_pictures.delta_curves(curves), picture)
    facts: list[dict[str, Any]] = [
        {
            "law": name,
            "unchanged": float(law.for_count(0).probability(0)),
            "points": [{"epsilon": float(e), "delta": float_up(d)} for e, d in points],
        }
        for law, (name, points) in zip(laws, curves.items(), strict=True)
    ]
    lines = [
        (f"{float(e):g}", *(short_up(points[i][1]) for points in curves.values()))
        for i, e in enumerate(grid)
    ]
    lines.append(("unchanged", *(f"{one['unchanged']:.1%}" for one in facts)))
    columns = (">ε", *(f">{name}" for name in curves))
    show.study(json, {"curves": facts}, "δ by ε", columns, lines, picture=picture)


def least_delta(
    max_perturbation: Annotated[
        str, Option("--max-perturbation", "-m", help="Supports D: 11 or 11,15.")
    ],
    epsilon: Epsilons = _GRID,
    picture: Picture = None,
    json: Json = False,
) -> None:
    """Which variance gives the least δ for an ε and a support? Beside sadeghi's rule.

    [bold]discreet law least-delta -m 11,15 --picture least.svg[/bold]   (sadeghi Fig. 2)
    """
    from ..core import law_studies
    from ..core.exact import float_up
    from ..report import law_pictures

    rows = [
        law_studies.least_delta(e, support)
        for support in whole_numbers(max_perturbation, "max_perturbation")
        for e in numbers(epsilon, "epsilon")
    ]
    if picture is not None:
        write_picture(law_pictures.least_delta_chart(rows), picture)
    facts: list[dict[str, Any]] = [
        {
            "epsilon": float(row.epsilon),
            "max_perturbation": row.max_perturbation,
            "gamma": float(row.gamma),
            "variance": float(row.variance),
            "delta": float_up(row.delta),
            "unchanged": float(row.law.probability(0)),
            "rule": {
                "gamma": float(row.rule_gamma),
                "variance": float(row.rule_variance),
                "delta": float_up(row.rule_delta),
                "unchanged": float(row.rule_law.probability(0)),
            },
        }
        for row in rows
    ]
    lines = [
        (
            f"{float(row.epsilon):g}",
            row.max_perturbation,
            *(f"{float(v):.4g}" for v in (row.gamma, row.variance)),
            short_up(row.delta),
            f"{float(row.law.probability(0)):.1%}",
            f"{float(row.rule_variance):.4g}",
            short_up(row.rule_delta),
            f"{float(1 - row.delta / row.rule_delta):.1%}",
        )
        for row in rows
    ]
    columns = (">ε", ">D", ">γ", ">variance", ">least δ", ">unchanged", ">V by rule", ">δ by rule")
    title = "p(z) ∝ exp(−γ z²) with the least δ"
    show.study(json, {"rows": facts}, title, (*columns, ">saved"), lines, picture=picture)


def key_sizes(
    max_perturbation: Annotated[
        str, Option("--max-perturbation", "-m", help="Support D of the law.")
    ] = "10",
    epsilon: Epsilons = "0.1:2.5:0.1",
    key_bits: Annotated[str, Option(help="Sizes of cell keys, in bits.")] = "8,16,32",
    quantiser: Annotated[str, Option(help="ceil (sadeghi 39) or symmetric.")] = "ceil",
    picture: Picture = None,
    json: Json = False,
) -> None:
    """How many cell keys are enough? ε both ways, δ, bias and variance after quantising.

    [bold]discreet law key-sizes -m 10 --picture keys.svg[/bold]   (sadeghi V-C, Figs 4 and 5)
    """
    from ..core import law_studies
    from ..report import law_pictures

    rows = law_studies.key_sizes(
        whole(max_perturbation, "max_perturbation"),
        numbers(epsilon, "epsilon"),
        whole_numbers(key_bits, "key_bits"),
        quantiser=quantiser,
    )
    if picture is not None:
        write_picture(law_pictures.key_size_chart(rows), picture)
    facts = [_key_size_facts(row) for row in rows]
    lines = [
        (
            f"{float(row.epsilon):g}",
            f"2^{row.key_bits}",
            *(_up(value) for value in (row.epsilon_forward, row.epsilon_both)),
            *(short_up(value) for value in (row.designed_delta, row.delta)),
            *(f"{float(value):.2g}" for value in (row.bias, row.variance_error)),
            f"{float(row.law.probability(0)):.0%}",
            _verdict(row),
        )
        for row in rows
    ]
    columns = (">ε", ">keys", ">ε (45)", ">ε both", ">δ asked", ">δ", ">bias", ">V off", ">stay")
    title = f"Law on ± {max_perturbation}, quantised"
    show.study(json, {"rows": facts}, title, (*columns, "|verdict"), lines, picture=picture)


def _key_size_facts(row: KeySize) -> dict[str, Any]:
    from ..core.exact import float_up

    forward, both = row.epsilon_forward, row.epsilon_both
    return {
        "epsilon": float(row.epsilon),
        "key_bits": row.key_bits,
        "enough": row.enough,
        "epsilon_forward": None if forward is None else float_up(forward),
        "epsilon_both": None if both is None else float_up(both),
        "designed_delta": float_up(row.designed_delta),
        "delta": float_up(row.delta),
        "boundary_mass": float_up(row.boundary_mass),
        "bias": float(row.bias),
        "variance_error": float(row.variance_error),
        "unchanged": float(row.law.probability(0)),
        "unreachable": list(row.unreachable),
    }


def _verdict(row: KeySize) -> str:
    if row.enough:
        return "enough"
    return f"{len(row.unreachable)} lost" if row.unreachable else "ε above"


def _auditable(law: AnyLaw) -> AuditedLaw:
    from ..core.count_law import CountLaw
    from ..core.law import Law
    from ..core.pure_laplace import PureLaplace

    if isinstance(law, Law | PureLaplace | CountLaw):
        return law
    raise LawError(
        f"The {law.name} law has no audit of its own: it is charged as ρ = 1/2σ², and a table's "
        "--dry-run says the ε and δ that follow."
    )


def _up(value: Fraction | None) -> str:
    from ..core.exact import rounded_up

    return "–" if value is None else rounded_up(value)
