"""Every attack against one policy; refuted claims are said loudly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.control import Control
from ...core.exact import exact, plain
from ...core.family import Family
from ...core.table import Rehearsal
from ...errors import InputError, did_you_mean
from ...languages import say, together
from .blocks import block
from .counts import averaging, category, differencing, membership, same_set, small_cells
from .findings import Finding
from .fitted import marginals, topdown
from .served import ASKED, Ask, ServedTwin, games
from .service import composition, consistency, impossible, repetition, update
from .stars import STARS, StarTwin
from .story import Story, story
from .tables import fourier_norm, hidden_cells, reconstruction
from .twin import Twin

if TYPE_CHECKING:
    from ...workspace import DataSet

ATTACKS: Mapping[str, Callable[[Twin], Finding]] = {
    "differencing": differencing,
    "averaging": averaging,
    "same-set": same_set,
    "small-cells": small_cells,
    "hidden-cells": hidden_cells,
    "reconstruction": reconstruction,
    "norm": fourier_norm,
    "membership": membership,
    "category": category,
    "many-users": composition,
    "repetition": repetition,
    "update": update,
    "impossible-cells": impossible,
    "block": block,
    "consistency": consistency,
    "marginals": marginals,
    "topdown": topdown,
}
NOT_TRIED = say(
    "Not tried: attacks on the machine (timing, memory, network), on the people who hold keys, and with "
    "other data sets about the same people."
)
OVER_HTTP = say(
    "Asked of a live server over HTTP, as an analyst asks; attacks that need more than an analyst has "
    "(new data, erased records, fits) run without a server."
)


class Attacked(Rehearsal):
    """What the attacks showed; a custodian's alone, because it tells how protection fails."""

    @property
    def language(self) -> str:
        """The data set's own, in which its custodian reads the report."""
        return str(self.findings.get("language", ""))

    @property
    def found(self) -> Sequence[Finding]:
        """One for each attack."""
        return tuple(self.findings["attacks"])

    @property
    def story(self) -> Sequence[str]:
        """The victim's; none is told of stars."""
        told: Story | None = self.findings["story"]
        return () if told is None else told.sentences()

    @property
    def refuted(self) -> Sequence[Finding]:
        """Attacks that exceed what is claimed, or that fail where they must succeed."""
        return tuple(one for one in self.found if one.over or not one.works)

    def sentences(self) -> tuple[str, ...]:
        """One for each attack, and what was not tried."""
        return (
            *(together(one.group, one.says, between=": ") for one in self.found),
            self.not_tried,
        )

    @property
    def not_tried(self) -> str:
        """What these attacks leave open."""
        return together(OVER_HTTP, NOT_TRIED) if self.findings.get("over_http") else NOT_TRIED

    def to_json(self) -> dict[str, Any]:
        """Plain values: made-up people only."""
        return {
            "rehearsal": True,
            "on": say("a twin of made-up people under the policy; no record was read"),
            "dataset": self.findings["data"],
            "family": self.findings["family"],
            "epsilon": self.findings["epsilon"],
            "over_http": self.findings["over_http"],
            "attacks": [one.to_json() for one in self.found],
            "story": list(self.story),
            "refuted": [one.group for one in self.refuted],
        }


AnyTwin = TypeVar("AnyTwin")


def _run(
    attacks: Mapping[str, Callable[[AnyTwin], Finding]],
    twin: AnyTwin,
    wanted: Sequence[str],
    control: Control,
) -> tuple[Finding, ...]:
    """Those that are wanted, one after another."""
    chosen = {name: attacks[name] for name in attacks if not wanted or name in wanted}
    found = []
    for number, (name, one) in enumerate(chosen.items()):
        control.step(number / (len(chosen) + 1), name)
        found.append(one(twin))
    control.step(len(chosen) / (len(chosen) + 1), "telling the story")
    return tuple(found)


def checked(data: DataSet, wanted: Sequence[str] = (), epsilon: str = "") -> str:
    """Refuse attacks that are not there or do not go with the policy; the ε in its plain form."""
    family = data.policy.family
    if family not in (Family.CELL_KEY, Family.DP, Family.SUPPRESSION):
        raise InputError(
            f"{data.name} is of family {family}: its tables say themselves what an intruder recovers "
            "(the notes under each), and the attacks here are on cell-key, dp and suppression policies."
        )
    known: Mapping[str, object] = STARS if family is Family.SUPPRESSION else ATTACKS
    for name in wanted:
        if name not in known:
            raise InputError(
                f"There is no attack {name[:40]!r} on {data.name}; there are {', '.join(known)}."
                f"{did_you_mean(name, known)}"
            )
    said = plain(exact(epsilon, "epsilon", above=0, most=100)) if epsilon else ""
    if said and family is Family.CELL_KEY:
        raise InputError(f"{data.name} has cell keys, which spend no ε. Leave --epsilon out.")
    if said and family is Family.SUPPRESSION:
        raise InputError(f"The ε of {data.name} is its policy's. Leave --epsilon out.")
    return said


def check_served(data: DataSet, wanted: Sequence[str] = ()) -> None:
    """Refuse what cannot be tried over HTTP."""
    if data.policy.family is Family.SUPPRESSION:
        raise InputError(
            f"{data.name} is of family suppression, whose attacks run in this process alone. Leave "
            "--server, --over-http and --keep-twin out."
        )
    known = {**games(Twin.of(data)), **ASKED}
    for name in wanted:
        if name not in known:
            raise InputError(
                f"The attack {name[:40]!r} needs more than an analyst has; over HTTP there are "
                f"{', '.join(known)}."
            )


def attack(
    data: DataSet,
    wanted: Sequence[str] = (),
    *,
    epsilon: str = "",
    ask: Ask | None = None,
    control: Control | None = None,
) -> Attacked:
    """Run attacks against a data set's policy, on a twin of made-up people; reads no record.

    With `ask`, a live server answers for the twin.
    """
    control = control or Control()
    family, said = data.policy.family, checked(data, wanted, epsilon)
    told: Story | None = None
    spent: str | None
    if ask is not None:
        check_served(data, wanted)
        bare = Twin.of(data, said)
        served = ServedTwin(bare.description, bare.policy, bare.epsilon, ask=ask)
        found = _run({**games(served), **ASKED}, served, wanted, control)
        told = served.story()
        spent = None if family is Family.CELL_KEY else served.epsilon
    elif family is Family.SUPPRESSION:
        stars = StarTwin.of(data.policy)
        found = _run(STARS, stars, wanted, control)
        spent = f"{stars.epsilon:g}"
    else:
        twin = Twin.of(data, said)
        found = _run(ATTACKS, twin, wanted, control)
        told = story(twin)
        spent = None if family is Family.CELL_KEY else twin.epsilon
    findings = {
        "attacks": found,
        "story": told,
        "data": data.name,
        "family": str(family),
        "epsilon": spent,
        "language": data.description.own_language,
        "over_http": ask is not None,
    }
    return Attacked(f"{len(found)} attacks on the policy of {data.name}", findings)
