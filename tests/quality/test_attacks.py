"""Attacks: they succeed where they must, meet their computed numbers, and catch what is wrong."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.core.law_builders import laplace
from discreet.core.pure_laplace import PureLaplace
from discreet.errors import InputError
from discreet.file_names import DATA
from discreet.quality.attacks import blocks, counts, fitted, run, service, stars, tables
from discreet.quality.attacks.findings import Finding
from discreet.quality.attacks.game import Claim, lower, play, unprotected, upper
from discreet.quality.attacks.story import story
from discreet.quality.attacks.twin import Twin
from discreet.workspace import DataSet

from ..command import run as command

Mechanism = Callable[[np.ndarray], np.ndarray]


def noisy(law: PureLaplace | object) -> Mechanism:
    def release(rows: np.ndarray) -> np.ndarray:
        noise = law.draw(rows.size)  # type: ignore[attr-defined]
        return rows + noise.astype(np.int64).reshape(rows.shape)

    return release


def zeros_kept(rows: np.ndarray) -> np.ndarray:
    return np.where(rows == 0, 0, noisy(PureLaplace.of("1"))(rows))


def noise_reused(rows: np.ndarray) -> np.ndarray:
    noise = PureLaplace.of("1").draw(len(rows)).astype(np.int64)
    return rows + noise[:, None]


ROW = np.array([3, 0])


def more(first: int, second: int) -> np.ndarray:
    return ROW + np.array([first, second])


# what a mechanism is made wrong by: the mechanism, two neighbouring rows, what it claims
WRONG: dict[str, tuple[Mechanism, np.ndarray, np.ndarray, Claim]] = {
    "half the noise": (noisy(PureLaplace.of("2")), ROW, more(1, 0), Claim(1.0)),
    "zeros unperturbed": (zeros_kept, ROW, more(0, 1), Claim(1.0)),
    "sensitivity 1 under replace-one": (
        noisy(PureLaplace.of("1")), more(1, 0), more(0, 1), Claim(1.0),
    ),
    "δ ignored": (noisy(laplace("0.5", 7)), ROW, more(1, 0), Claim(0.5)),
    "noise reused": (noise_reused, ROW, more(1, 0), Claim(1.0)),
    "records per unit ignored": (noisy(PureLaplace.of("1")), ROW, more(3, 0), Claim(1.0)),
}  # fmt: skip
RIGHT: dict[str, tuple[Mechanism, np.ndarray, np.ndarray, Claim]] = {
    "as it should be": (noisy(PureLaplace.of("1")), ROW, more(1, 0), Claim(1.0)),
    "replace-one at 2ε": (noisy(PureLaplace.of("1")), more(1, 0), more(0, 1), Claim(2.0)),
    "δ counted": (noisy(laplace("0.5", 7)), ROW, more(1, 0), Claim(0.5, 0.007569)),
    "three records": (noisy(PureLaplace.of("1", 3)), ROW, more(3, 0), Claim(1.0)),
}


def caught(game: tuple[Mechanism, np.ndarray, np.ndarray, Claim], times: int) -> int:
    mechanism, first, second, claim = game
    return sum(play(mechanism, first, second, claim, 20_000).over for _ in range(times))


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_mechanism_is_caught(wrong: str) -> None:
    """Two games of 20,000 rounds each, both caught."""
    assert caught(WRONG[wrong], 2) == 2


@pytest.mark.parametrize("right", RIGHT)
def test_a_right_mechanism_is_not_accused(right: str) -> None:
    """Two games each; every bound has confidence 0.999, so an accusation by chance is below 1 %."""
    assert caught(RIGHT[right], 2) == 0


@pytest.mark.proof
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_mechanisms_are_caught_with_power(wrong: str, record_property: Callable) -> None:
    """Half the noise, zeros unperturbed, sensitivity 1 under replace-one, δ ignored, noise reused,
    records per unit ignored: each caught with power ≥ 0.99, 600 games of 20,000 rounds each.
    """
    games = 600
    found = caught(WRONG[wrong], games)
    record_property(
        wrong, f"{found} of {games} games, power surely ≥ {lower(found, games, 0.99):.3f}"
    )
    assert lower(found, games, 0.95) >= 0.99


@pytest.mark.proof
@pytest.mark.parametrize("right", RIGHT)
def test_right_mechanisms_are_rarely_accused(right: str, record_property: Callable) -> None:
    """What keeps its claim is accused in fewer than 1 of 100 games, 300 games each."""
    found = caught(RIGHT[right], 300)
    record_property(right, f"{found} of 300 accused")
    assert found <= 6


def test_bounds_are_those_of_clopper_and_pearson() -> None:
    """Against the binomial tail itself."""
    from scipy.stats import binom

    for times, of in ((3, 20), (19, 20), (50, 100)):
        low, high = lower(times, of, 0.99), upper(times, of, 0.99)
        assert abs(binom.sf(times - 1, of, low) - 0.01) < 1e-9
        assert abs(binom.cdf(times, of, high) - 0.01) < 1e-9
    assert (lower(0, 9), upper(9, 9)) == (0.0, 1.0)
    assert unprotected(np.array([4]), np.array([5])) == 1.0
    assert Claim(1.0, 0.1).ceiling == (np.e + 0.1) / (1 + np.e)


@pytest.fixture(scope="module", params=["deaths", "deaths-dp"])
def twin(demo: Path, request: pytest.FixtureRequest) -> Twin:
    with DataSet.open(demo / request.param) as data:
        return Twin.of(data)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["differencing", "same_set", "small_cells", "membership", "category"]
)
def test_attacks_on_counts_meet_their_numbers(twin: Twin, name: str) -> None:
    """On its baseline each succeeds; cell keys give the computed number, dp stays under its ceiling."""
    found = getattr(counts, name)(twin, 4_000)
    assert found.works
    assert not found.over, found.says
    if twin.method != "cell-key":
        assert found.ceiling is not None
        assert found.measured <= found.ceiling + 0.03
    elif name in ("differencing", "same_set", "small_cells"):
        assert abs(found.measured - found.expected) < 0.04


@pytest.mark.slow
def test_averaging_recovers_with_the_computed_chance(twin: Twin) -> None:
    found = counts.averaging(twin, 150)
    assert found.works
    if twin.method == "cell-key":
        assert found.expected is not None
        assert abs(found.measured - found.expected) < 0.1


def test_tables_give_themselves_away_by_subtraction_and_by_the_rule(twin: Twin) -> None:
    """nabar's figure: 42 of 3,121 tables are left for who knows the rule, 21 for each primary set."""
    assert tables._nabar() == 42
    found = tables.hidden_cells(twin, 400)
    assert found.baseline == 1.0
    assert 0 < found.measured < 0.4


@pytest.mark.slow
def test_reconstruction_and_the_norm(twin: Twin) -> None:
    """±2 on 400 counts gives the bits away; a whole question's ε does not; the norm always does."""
    bits = tables.reconstruction(twin)
    assert bits.works
    assert not bits.over
    norm = tables.fourier_norm(twin, 600)
    assert norm.baseline > 0.95
    assert not norm.over
    assert norm.applies == (twin.method != "cell-key")


@pytest.mark.slow
def test_blocks_impossible_cells_and_consistency(twin: Twin) -> None:
    """A9, A13, A15: each succeeds on its baseline; under the policy nothing of it is left but guessing."""
    for found in (
        service.impossible(twin),
        service.consistency(twin),
        blocks.block(twin, 20),
        fitted.marginals(twin) if twin.method == "cell-key" else fitted_few(twin, "marginals"),
        fitted.topdown(twin) if twin.method == "cell-key" else fitted_few(twin, "topdown"),
    ):
        assert found.works, found
        assert not found.over, found.says
        assert found.says


def fitted_few(twin: Twin, method: str) -> Finding:
    return fitted.fitted_membership(twin, method, 30)


@pytest.mark.slow
def test_a_consistency_step_that_holds_on_to_a_truth_is_caught(
    demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fits that read a record (here: the time of their making) come out otherwise and are refuted."""
    calls = iter(range(1000))
    right = service._values
    monkeypatch.setattr(service, "_values", lambda made: [*right(made), bytes([next(calls)])])
    with DataSet.open(demo / "deaths-dp") as data:
        assert service.consistency(Twin.of(data)).over


@pytest.mark.slow
@pytest.mark.parametrize("method", fitted.FITTED)
def test_a_method_that_fits_and_spends_more_than_it_says_is_caught(method: str) -> None:
    """Noise for ε = 6 that claims ε = 0.2: found in the fitted counts alone, in 60 releases."""
    wrong = fitted.FittedTwin(method, "6", said="0.2")
    assert play(wrong.release, *wrong.neighbours(), wrong.claim(), 60).over


@pytest.mark.proof
@pytest.mark.parametrize("method", fitted.FITTED)
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2"])
def test_methods_that_fit_stay_under_their_ceiling(
    method: str, epsilon: str, record_property: Callable
) -> None:
    """Who learns from fitted counts guesses no better than ε allows whether somebody is in the data.

    2,000 whole releases with the victim and as many without.
    """
    own = fitted.FittedTwin(method, epsilon)
    won = play(own.release, *own.neighbours(), own.claim(), 2_000)
    record_property("best guess right", f"{won.right:.3f}")
    record_property("ceiling", f"{won.claim.ceiling:.3f}")
    assert not won.over, won.sentence()


@pytest.mark.slow
def test_the_service_withstands_many_users_repetition_and_updates(twin: Twin) -> None:
    """Through the flow that answers analysts, on made-up people in a folder that goes away."""
    for attack in (service.composition, service.repetition, service.update):
        found = attack(twin)
        assert not found.over, found.says
        assert found.works


@pytest.mark.slow
def test_a_policy_made_wrong_is_refuted(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that draws half the noise it claims: the attacks say REFUTED."""
    from discreet.methods.noise import laws

    honest = laws.pure
    monkeypatch.setattr(laws, "pure", lambda one, reach: honest(one * 2, reach))
    monkeypatch.setattr(Twin, "claim", lambda self, questions=1: Claim(questions * 1.0))
    with DataSet.open(demo / "deaths-dp") as data:
        found = counts.membership(Twin.of(data), 20_000)
    assert found.over
    assert "REFUTES" in found.says


@pytest.mark.slow
def test_where_the_number_of_people_is_public_one_is_replaced(demo: Path) -> None:
    """Then ε is that of replacing one: the same ceilings hold for it, and half of the ε would not."""
    with DataSet.open(demo / "deaths-dp") as data:
        one = Twin.of(data, "1")
    known = replace(one, description=replace(one.description, records=529_655, records_per_unit=2))
    assert known.replaced
    assert known.claim().epsilon == 1.0
    for attack in (counts.membership, counts.category, counts.small_cells):
        found = attack(known, 8_000)
        assert not found.over, found.says
        assert found.works
    pair = counts._neighbours(known, 3, 3, 2)
    assert play(known.release, *pair, Claim(0.5), 20_000).over


def test_the_story_names_a_victim_and_lets_her_go(twin: Twin) -> None:
    """Recovered exactly from the small-number rule's row; rarely from the policy's."""
    told = story(twin)
    assert told.recovered == 1
    assert told.hits < 0.5
    said = " ".join(told.sentences())
    assert "Ada Quill" in said
    assert "made up" in said


@pytest.mark.slow
def test_the_command_reads_no_record_and_fills_the_internal_report(
    fresh_demo: Path, tmp_path: Path
) -> None:
    """With the records overwritten it runs; its report is the owner's; section 7 tells it inside only."""
    folder = fresh_demo / "deaths-dp"
    only = ["--only", "membership,small-cells"]
    done = command("attack", folder, *only, "-o", tmp_path / "a.html", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0
    assert told["refuted"] == []
    assert stat.S_IMODE((tmp_path / "a.html").stat().st_mode) == 0o600
    out = tmp_path / "out"
    with dc.open(folder) as data:
        data.table(rows="sex", epsilon="0.1").release().write(out)
    public, internal = (
        (out / name).read_text("utf-8") for name in ("report.html", "report-internal.html")
    )
    assert "membership: The best guess found" in internal
    assert "membership: The best guess found" not in public
    for path in folder.rglob(DATA):
        path.write_bytes(bytes(path.stat().st_size))
    again = command("attack", folder, *only, "-o", tmp_path / "b.html")
    assert again.returncode == 0
    assert "Ada Quill" in again.stdout


def test_what_cannot_be_attacked_is_said(demo: Path) -> None:
    """An unknown attack, an ε where none is spent: one sentence each."""
    with DataSet.open(demo / "deaths") as data:
        with pytest.raises(InputError, match="Did you mean"):
            run.attack(data, ["membrship"])
        with pytest.raises(InputError, match="spend no ε"):
            run.attack(data, [], epsilon="1")
    assert Fraction(tables._each("1")) * tables.QUERIES == 1


@pytest.mark.proof
@pytest.mark.parametrize("name", ["deaths", "deaths-dp", "genes"])
def test_the_demo_policies_under_all_attacks(
    demo: Path, name: str, record_property: Callable[[str, object], None]
) -> None:
    """Every attack succeeds on its baseline; the demo's cell keys give the computed numbers, its dp
    policy stays under every ceiling.
    """
    with DataSet.open(demo / name) as data:
        found = run.attack(data)
    for one in found.found:
        if one.measured is not None:
            limit = "" if one.ceiling is None else f", ceiling {one.ceiling:.3f}"
            computed = "" if one.expected is None else f", computed {one.expected:.3f}"
            record_property(f"{name}, {one.group}", f"{one.measured:.3f}{computed}{limit}")
    assert found.refuted == ()


@pytest.mark.slow
def test_stars_tell_nothing_and_a_rule_that_looks_is_caught() -> None:
    """Few tables under ε = 0.5, δ = 0.2; a rule that publishes just what it must not breaks every one."""
    right = stars.StarTwin(0.5, 0.2)
    for found in (
        stars.breaches(right, 4),
        stars.patterns(right, 3),
        stars.recovered(right, 3),
    ):
        assert not found.over, found.says
    assert stars.breaches(right, 2).works
    wrong = replace(stars.StarTwin(0.3, 0.05), looks=True)
    assert stars.breaches(wrong, 6).over


def test_suppression_is_attacked_by_attacks_of_its_own(demo: Path) -> None:
    """Names of other families are refused; its ε is the policy's."""
    with DataSet.open(demo / "genes") as data:
        with pytest.raises(InputError, match="there are breaches"):
            run.checked(data, ["averaging"])
        with pytest.raises(InputError, match="policy's"):
            run.checked(data, [], "1")
        twin = stars.StarTwin.of(data.policy)
    assert (twin.epsilon, twin.delta) == (0.5, 0.2)
