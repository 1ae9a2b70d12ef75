"""Every attack against one policy; refuted claims are said loudly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.control import Control
from ...core.exact import exact, plain
from ...core.family import Family
from ...core.table import Rehearsal
from ...errors import InputError, did_you_mean
from .counts import averaging, category, differencing, membership, same_set, small_cells
from .findings import Finding
from .service import composition, repetition, update
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
}
NOT_TRIED = (
    "Not tried: attacks on the machine (timing, memory, network), on the people who hold keys, and with "
    "other data sets about the same people."
)


class Attacked(Rehearsal):
    """What the attacks showed; a custodian's alone, because it tells how protection fails."""

    @property
    def found(self) -> Sequence[Finding]:
        """One for each attack."""
        return tuple(self.findings["attacks"])

    @property
    def story(self) -> Story:
        """The victim's."""
        told: Story = self.findings["story"]
        return told

    @property
    def refuted(self) -> Sequence[Finding]:
        """Attacks that exceed what is claimed, or that fail where they must succeed."""
        return tuple(one for one in self.found if one.over or not one.works)

    def sentences(self) -> tuple[str, ...]:
        """One for each attack."""
        return (*(f"{one.group}: {one.says}" for one in self.found), NOT_TRIED)

    def to_json(self) -> dict[str, Any]:
        """Plain values: made-up people only."""
        return {
            "rehearsal": True,
            "on": "a twin of made-up people under the policy; no record was read",
            "dataset": self.findings["data"],
            "family": self.findings["family"],
            "epsilon": self.findings["epsilon"],
            "attacks": [one.to_json() for one in self.found],
            "story": list(self.story.sentences()),
            "refuted": [one.group for one in self.refuted],
        }


def attack(
    data: DataSet,
    wanted: Sequence[str] = (),
    *,
    epsilon: str = "",
    control: Control | None = None,
) -> Attacked:
    """Run attacks against a data set's policy, on a twin of made-up people; reads no record."""
    control = control or Control()
    family = data.policy.family
    if family not in (Family.CELL_KEY, Family.DP):
        raise InputError(
            f"{data.name} is of family {family}: its tables say themselves what an intruder recovers "
            "(the notes under each), and the attacks here are on cell-key and dp policies."
        )
    for name in wanted:
        if name not in ATTACKS:
            raise InputError(
                f"There is no attack {name[:40]!r}; there are {', '.join(ATTACKS)}."
                f"{did_you_mean(name, ATTACKS)}"
            )
    said = plain(exact(epsilon, "epsilon", above=0, most=100)) if epsilon else ""
    if said and family is Family.CELL_KEY:
        raise InputError(f"{data.name} has cell keys, which spend no ε. Leave --epsilon out.")
    twin = Twin.of(data, said)
    chosen = {name: ATTACKS[name] for name in ATTACKS if not wanted or name in wanted}
    found = []
    for number, (name, run) in enumerate(chosen.items()):
        control.step(number / (len(chosen) + 1), name)
        found.append(run(twin))
    control.step(len(chosen) / (len(chosen) + 1), "telling the story")
    findings = {
        "attacks": tuple(found),
        "story": story(twin),
        "data": data.name,
        "family": str(family),
        "epsilon": None if family is Family.CELL_KEY else twin.epsilon,
    }
    return Attacked(f"{len(found)} attacks on the policy of {data.name}", findings)
