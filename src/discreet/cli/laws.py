"""`discreet law`: design and audit laws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ..errors import LawError
from . import show
from .pictures import Picture, write_picture
from .setting_options import gathering
from .tables import Json

if TYPE_CHECKING:
    from ..core.audit import Audit, AuditedLaw
    from ..core.law import Law
    from ..core.pure_laplace import PureLaplace

_LISTED = 20_000
"""How far out the perturbations of an untruncated law are listed and drawn."""

_REACH = Option("--max-perturbation", "-m", help="Largest perturbation.")

Epsilon = Annotated[str, Option(help="ε, as exact text: 0.5, 1e-1 or 1/2.")]
Delta = Annotated[str | None, Option(help="Refuse a law whose δ exceeds this.")]
MostD = Annotated[str, Option("--max-perturbation", "-m", help="Largest perturbation D.")]
KeyBits = Annotated[int, Option(help="Weights are integers over 2^this: 8 … 64.")]
Quantiser = Annotated[str, Option(help="symmetric (mean exactly 0) or ceil (sadeghi 39).")]
Rule = Annotated[
    str, Option(help="smallest (D, then V) or sadeghi (III-D: V by the paper's rule).")
]
AtEpsilon = Annotated[str | None, Option(help="Audit δ at this ε. Default: the one asked for.")]


@dataclass(frozen=True)
class Telling:
    """What is told of a law, and how."""

    at_epsilon: AtEpsilon = None
    cells: Annotated[int, Option(help="Cells one person touches together.")] = 1
    neighbours: Annotated[str, Option(help="'add or remove one' or 'replace one'.")] = (
        "add or remove one"
    )
    picture: Picture = None
    json: Json = False


PLAINLY = Telling()
told = gathering("telling", Telling)

law_app = typer.Typer(
    help="Design and audit a law: the exact distribution of a perturbation.", no_args_is_help=True
)


@law_app.command("laplace")
@told
def laplace(
    epsilon: Epsilon,
    max_perturbation: Annotated[str | None, _REACH] = None,
    delta: Delta = None,
    key_bits: KeyBits = 64,
    quantiser: Quantiser = "symmetric",
    telling: Telling = PLAINLY,
) -> None:
    """The discrete Laplace law: pure ε untruncated, or truncated at m with a δ.

    [bold]discreet law laplace --epsilon 0.5 -m 7[/bold]
    """
    from ..core import law_builders

    if max_perturbation is None:
        law: Law | PureLaplace = law_builders.laplace(epsilon)
        if delta is not None:
            raise LawError("delta is for truncated laws. Give --max-perturbation, or no --delta.")
    else:
        most = whole(max_perturbation, "max_perturbation")
        law = law_builders.laplace(
            epsilon, most, delta=delta, key_bits=key_bits, quantiser=quantiser
        )
    tell(law, telling)


@law_app.command("normal")
@told
def normal(
    epsilon: Epsilon,
    max_perturbation: Annotated[str, _REACH],
    delta: Delta = None,
    key_bits: KeyBits = 64,
    quantiser: Quantiser = "symmetric",
    telling: Telling = PLAINLY,
) -> None:
    """The truncated normal law of rinott (5.3).

    [bold]discreet law normal --epsilon 1 -m 10[/bold]
    """
    from ..core import law_builders

    most = whole(max_perturbation, "max_perturbation")
    law = law_builders.normal(epsilon, most, delta=delta, key_bits=key_bits, quantiser=quantiser)
    tell(law, telling)


@law_app.command("hellinger")
@told
def hellinger(
    epsilon: Epsilon,
    max_count: Annotated[int, Option(help="Largest true count.")] = 20,
    max_value: Annotated[int, Option(help="Largest published value.")] = 200,
    count: Annotated[int, Option(help="Show the law of this true count.")] = 3,
    key_bits: KeyBits = 64,
    telling: Telling = PLAINLY,
) -> None:
    """The Hellinger-type law of rinott (5.4): it depends on the count, and performs poorly.

    [bold]discreet law hellinger --epsilon 1 --count 3[/bold]
    """
    from ..core import law_builders

    if count < 0:
        raise LawError(f"count must be a whole number from 0 to {max_count}, got {count}.")
    rows = law_builders.hellinger(epsilon, max_count, max_value, key_bits=key_bits)
    shown = {
        **law_facts(rows.row(count)),
        "name": rows.name,
        "parameters": {**rows.parameters, "count": str(count)},
        "key_bits": key_bits,
    }
    print_law(rows, shown, rows.row(count).pmf, (), telling)


@law_app.command("max-entropy")
@told
def max_entropy(
    max_perturbation: MostD,
    variance: Annotated[str | None, Option(help="Variance V, below D(D+1)/3.")] = None,
    epsilon: Annotated[
        str | None, Option(help="Or choose the variance from this ε (sadeghi 30).")
    ] = None,
    delta: Annotated[
        str | None, Option(help="With --epsilon: refuse a law whose δ exceeds this.")
    ] = None,
    key_bits: KeyBits = 64,
    quantiser: Quantiser = "symmetric",
    telling: Telling = PLAINLY,
) -> None:
    """The law of greatest entropy with support ±D and variance V (the ABS law).

    [bold]discreet law max-entropy -m 11 --variance 4[/bold]
    """
    from ..core import law_builders

    most = whole(max_perturbation, "max_perturbation")
    if (variance is None) == (epsilon is None):
        raise LawError("Give either --variance or --epsilon: one of them fixes the law.")
    if delta is not None and epsilon is None:
        raise LawError("--delta goes with --epsilon: δ is held against the ε that was asked for.")
    if variance is not None:
        law = law_builders.max_entropy(most, variance, key_bits=key_bits, quantiser=quantiser)
    else:
        assert epsilon is not None
        law = law_builders.max_entropy_for(
            epsilon, most, delta=delta, key_bits=key_bits, quantiser=quantiser
        )
    tell(law, telling)


@law_app.command("design")
@told
def design(
    epsilon: Epsilon,
    delta: Annotated[str, Option(help="δ, between 0 and 1.")],
    key_bits: KeyBits = 64,
    quantiser: Quantiser = "symmetric",
    rule: Rule = "smallest",
    telling: Telling = PLAINLY,
) -> None:
    """From ε and δ to the law with the smallest support, then the least variance, that keeps both.

    [bold]discreet law design --epsilon 0.5 --delta 1e-4[/bold]
    """
    from ..core import design as guide

    designed = guide.design(epsilon, delta, rule=rule, key_bits=key_bits, quantiser=quantiser)
    tell(designed.law, replace(telling, at_epsilon=telling.at_epsilon or epsilon))
    beyond = telling.at_epsilon or telling.cells > 1 or telling.neighbours != "add or remove one"
    if beyond and not telling.json:
        show.console().print(
            f"The law was designed for one cell asked once, where δ ≤ {delta} holds. The audit above "
            "is for what was asked beyond that."
        )


@law_app.command("choose")
def choose(
    within: Annotated[
        int | None, Option(help="Accuracy wanted: cells within ± this of the truth.")
    ] = None,
    of: Annotated[str, Option(help="… in this share of releases.")] = "0.95",
    cells: Annotated[int, Option(help="… for a sum of so many cells.")] = 1,
    prior: Annotated[str | None, Option(help="Risk allowed: a guess that was so sure …")] = None,
    at_most: Annotated[str | None, Option(help="… may become at most so sure.")] = None,
    json: Json = False,
) -> None:
    """How large should ε be? A floor from the accuracy wanted, a ceiling from the risk allowed.

    [bold]discreet law choose --within 5 --prior 0.1 --at-most 0.25[/bold]
    """
    from ..core import design as guide
    from ..core.exact import plain, rounded_down
    from ..core.pure_laplace import PureLaplace

    if (prior is None) != (at_most is None):
        raise LawError("--prior and --at-most go together: 0.1 may become at most 0.25.")
    if within is None and prior is None:
        raise LawError("Say --within for the accuracy wanted, --prior and --at-most for the risk.")
    floor = None if within is None else guide.epsilon_for_accuracy(within, of, cells=cells)
    ceiling = None
    if prior is not None and at_most is not None:
        ceiling = guide.epsilon_for_risk([(prior, at_most)])
    crossed = floor is not None and ceiling is not None and floor > ceiling
    if json:
        show.as_json(
            epsilon_floor=None if floor is None else plain(floor),
            epsilon_ceiling=None if ceiling is None else plain(ceiling),
            both_can_be_had=not crossed,
        )
        return
    out = show.console()
    lines: list[tuple[str, object]] = []
    if floor is not None:
        sum_of = f"a sum of {cells} cells" if cells > 1 else "a cell"
        lines.append(
            ("at least", f"ε = {plain(floor)} keeps {sum_of} within ± {within} in {of} of releases")
        )
    if ceiling is not None:
        shown = rounded_down(ceiling, 6)
        lines.append(
            ("at most", f"ε = {shown} keeps a guess that was {prior} sure at {at_most} or less")
        )
    show.pairs(*lines)
    if crossed:
        out.print(
            "The two cross: no ε gives both. Use coarser levels, or allow more error or risk."
        )
        return
    chosen = floor if floor is not None else ceiling
    assert chosen is not None
    for words in _in_odds(PureLaplace.of(chosen), prior or "0.1"):
        out.print(f"[dim]· {words}[/dim]")


def _in_odds(law: Law | PureLaplace, prior: str = "0.1") -> tuple[str, ...]:
    """What a law tells a reader about one person: whether there, and in which category."""
    from ..core.odds import odds

    chances, category = odds(law), odds(law, category=True)
    return chances.out_of_100(), chances.guess_meter(prior), category.of_category(prior)


def tell(law: Law | PureLaplace, telling: Telling) -> None:
    """Print a law of every count: its facts, audit, picture and odds."""
    print_law(law, law_facts(law), _pmf(law), _in_odds(law), telling)


def law_facts(law: Any) -> dict[str, Any]:
    """A law as plain data."""
    return {
        "name": law.name,
        "parameters": dict(law.parameters),
        "max_perturbation": getattr(law, "max_perturbation", None),
        "key_bits": getattr(law, "key_bits", None),
        "mean": float(law.mean),
        "variance": float(law.variance),
        "unchanged": float(law.probability(0)),
        "from": getattr(law, "start", None),
        "to": getattr(law, "end", None),
        "pmf": {str(z): float(p) for z, p in _pmf(law).items()},
        "unreachable": list(law.unreachable),
        "digest": law.digest,
    }


def _pmf(law: Any) -> Mapping[int, Fraction]:
    """The pmf; of an untruncated law as far out as one in a million, or as can be listed."""
    if hasattr(law, "pmf"):
        pmf: Mapping[int, Fraction] = law.pmf
        return pmf
    width = min(law.half_width("0.999999"), _LISTED)
    side = [law.probability(0)]
    for _ in range(width):  # to 256 bits: exact powers of the ratio would grow without end
        p = side[-1] * law.ratio
        side.append(Fraction((p.numerator << 256) // p.denominator, 1 << 256))
    return {z: side[abs(z)] for z in range(-width, width + 1)}


def _beyond(law: AuditedLaw, own: Audit) -> str:
    """Where rounding to few key bits made a law exceed the ε it was asked for; else nothing."""
    if "epsilon" not in law.parameters or own.holds or own.epsilon is None:
        return ""
    from ..core.exact import plain, rounded_up

    bits = getattr(law, "key_bits", 64)
    return (
        f"rounding to {bits} key bits makes steps of up to ε = {rounded_up(own.epsilon, 6)}: ε = "
        f"{plain(own.at_epsilon)} holds with δ = {rounded_up(own.delta)}, where the ends alone "
        f"would be {rounded_up(own.boundary_mass)}"
    )


def print_law(
    law: AuditedLaw,
    facts: dict[str, Any],
    pmf: Mapping[int, Fraction],
    odds: Sequence[str],
    telling: Telling,
) -> None:
    """The audit of a law with the facts and the picture of what is shown of it."""
    from ..core.audit import audit
    from ..report import charts

    audited = audit(law, telling.at_epsilon, cells=telling.cells, neighbours=telling.neighbours)
    figures = audited.to_dict()
    beyond = _beyond(law, audit(law))
    if telling.picture is not None:
        write_picture(charts.law_chart(pmf, f"{facts['name']} law"), telling.picture)
    if telling.json:
        facts |= {"delta": figures["delta"], "audit": figures, "odds": list(odds)}
        show.as_json(facts | ({"beyond": beyond} if beyond else {}))
        return
    out = show.console()
    parameters = ", ".join(f"{name} {value}" for name, value in facts["parameters"].items())
    low, high = facts["from"], facts["to"]
    lines: list[tuple[str, object]] = [
        ("law", f"{facts['name']} ({parameters})"),
        ("perturbations", "any whole number" if low is None else f"{low:+d} … {high:+d}"),
        ("mean", facts["mean"] if facts["mean"] else "0, exactly"),
        ("variance", f"{facts['variance']:.6g} (sd {facts['variance'] ** 0.5:.4g})"),
        ("unchanged", f"{facts['unchanged']:.2%} of cells"),
        ("audit", str(audited)),
    ]
    if (forward := figures["epsilon_forward"]) is not None:
        backward = figures["epsilon_backward"]
        lines.append(("two directions", f"ε {forward:.10g} forward, {backward:.10g} backward"))
    if beyond:
        lines.append(("too few bits", beyond))
    if facts["unreachable"]:
        lines.append(
            ("unreachable", f"{facts['unreachable']}: {facts['key_bits']} bits are too few")
        )
    show.pairs(*lines)
    out.print()
    for line in charts.law_bars(pmf, out.width):
        out.print(line)
    for words in odds:
        out.print(f"[dim]· {words}[/dim]")
    if telling.picture is not None:
        out.print(f"[dim]Picture: {telling.picture}[/dim]")


def whole(value: str, name: str) -> int:
    """A whole number from an option's text."""
    from ..core.exact import exact

    number = exact(value, name, least=0, most=10**6, error=LawError)
    if number.denominator != 1:
        raise LawError(f"{name} must be a whole number, got {value}.")
    return int(number)
