"""What is said before protection depends on public facts only; what is offered works."""

from __future__ import annotations

import csv
import gc
import json
import random
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet import workspace
from discreet.server import Settings

from .serving import serving

WIRE = httpx.Client(timeout=300)
VARIABLES = {
    "town": [f"t{i}" for i in range(24)],
    "trade": [f"w{i}" for i in range(12)],
    "age": [f"{i}" for i in range(8)],
    "sex": ["F", "M"],
}


@pytest.fixture(scope="module", autouse=True)
def wire_closed() -> Iterator[None]:
    yield
    WIRE.close()


def people(path: Path, *, without: int | None = None) -> None:
    """800 people who have every category; one of them may be missing."""
    rng = random.Random(7)
    with path.open("w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["id", *VARIABLES])
        for i in range(800):
            codes = [
                names[i] if i < len(names) else rng.choice(names) for names in VARIABLES.values()
            ]
            if i != without:
                out.writerow([f"p{i}", *codes])


def make(folder: Path, *, without: int | None = None) -> Path:
    """A workspace with those people under two families, everything declared."""
    folder.mkdir()
    people(folder / "people.csv", without=without)
    for name, family in (("keyed", "cell-key"), ("dp", "dp")):
        budget = {"epsilon": "5"} if family == "dp" else None
        workspace.init(folder / "people.csv", folder / name, family=family, budget=budget)
        workspace.declare(folder / name)
    return folder


@pytest.fixture(scope="module")
def neighbour_folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two workspaces that differ in one record."""
    base = tmp_path_factory.mktemp("neighbours")
    return [make(base / "first"), make(base / "second", without=700)]


@pytest.fixture(scope="module")
def neighbours(neighbour_folders: list[Path]) -> Iterator[tuple[str, str]]:
    """Two servers on them."""
    first, second = neighbour_folders
    settings_ = Settings(public=("*",), public_spends=True, calls_per_minute=10**6)
    with serving(first, settings_) as one, serving(second, settings_) as other:
        yield f"{one}/api/v1", f"{other}/api/v1"


def questions(seed: int, count: int) -> list[tuple[str, dict[str, object]]]:
    rng = random.Random(seed)
    made: list[tuple[str, dict[str, object]]] = []
    for _ in range(count):
        axes = rng.sample([*VARIABLES, "nothing"], rng.randint(1, 4))
        cut = rng.randint(0, len(axes))
        recipe: dict[str, object] = {"rows": axes[:cut], "columns": axes[cut:]}
        name = rng.choice(["keyed", "dp"])
        if name == "dp":
            recipe["epsilon"] = rng.choice(["0.1", "1/3", "7", "0", "x"])
        if rng.random() < 0.4:
            recipe["where"] = {"sex": rng.choice([["F"], ["X"], []])}
        if rng.random() < 0.2:
            recipe["method"] = rng.choice(["noise", "cell-key", "nothing"])
        made.append((name, recipe))
    return made


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_verdicts_and_refusals_are_the_same_bytes(neighbours: tuple[str, str], count: int):
    """20 or 200 random questions: verdicts, refusals and errors are byte-identical on two data sets
    that differ in one record."""
    seen = set()
    for name, recipe in questions(1, count):
        answers = [
            WIRE.post(f"{url}/datasets/{name}/tables:check", json=recipe) for url in neighbours
        ]
        assert answers[0].status_code == answers[1].status_code
        assert answers[0].content == answers[1].content
        options = [
            WIRE.post(f"{url}/datasets/{name}/tables:options", json=recipe) for url in neighbours
        ]
        assert options[0].content == options[1].content
        seen.add(answers[0].status_code)
        if answers[0].status_code != 200 or not answers[0].json()["allowed"]:
            refused = [
                WIRE.post(f"{url}/datasets/{name}/tables", json=recipe) for url in neighbours
            ]
            assert refused[0].status_code == refused[1].status_code >= 400
            assert refused[0].content == refused[1].content
    assert {200, 400, 422} <= seen
    searches = ("/search?query=t1", "/search?query=trade", "/search?query=kurru")
    lists = ("/datasets/dp/codelists/town?query=t&limit=2", "/datasets/dp/codelists/trade?offset=1")
    for path in (
        "/config",
        "/datasets",
        "/datasets/dp",
        "/datasets/keyed/variables?query=t1",
        *searches,
        *lists,
        "/datasets/dp/budget",
        f"/datasets/dp/questions/{'0' * 64}",
    ):
        first, second = (WIRE.get(url + path) for url in neighbours)
        assert first.content == second.content


def path_of(work: Callable[[], object]) -> list[str]:
    """Every function of ours that runs, in order."""
    names: list[str] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_globals.get("__name__", "").startswith("discreet."):
            names.append(frame.f_code.co_qualname)

    gc.collect()
    gc.disable()  # what is thrown away meanwhile may be anybody's
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return names


@pytest.mark.slow
def test_verdicts_take_the_same_path(neighbour_folders: list[Path]):
    """Planning and checking a question runs the same functions, as often and in the same order, on
    two data sets that differ in one record: how long it takes tells nothing of the data."""
    paths = []
    for folder in neighbour_folders:
        for name, more in (("dp", {"epsilon": "0.1"}), ("keyed", {})):
            with dc.open(folder / name) as data:

                def verdict(data=data, more=more) -> object:
                    return (
                        data.table(rows=["town", "trade"], columns=["age"], **more)
                        .preview()
                        .to_json()
                    )

                verdict()  # what is read once has been read
                paths.append(path_of(verdict))
    assert len(paths[0]) > 20
    for one, other in zip(paths[:2], paths[2:], strict=True):
        first = next(
            (n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0
        )
        assert one == other, (one[max(first - 3, 0) :][:9], other[max(first - 3, 0) :][:9])


AXES = ["ccg", "region", "country", "cause", "age", "sex", "month", "marital"]
LEVELS = st.sampled_from(AXES)
RULES = st.fixed_dictionaries(
    {},
    optional={
        "max_variables": st.integers(1, 4),
        "max_cells": st.integers(2, 20_000),
        "mandatory": st.lists(LEVELS, max_size=1),
        "blocked_levels": st.lists(LEVELS, max_size=2, unique=True),
        "at_most_one_of": st.lists(
            st.lists(LEVELS, min_size=2, max_size=3, unique=True), max_size=2
        ),
    },
)
TABLES = st.lists(
    LEVELS, max_size=4, unique_by=lambda name: "area" if AXES.index(name) < 3 else name
)


@pytest.fixture(scope="module")
def ruled(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A served copy of the demo whose rules a test may change."""
    folder = tmp_path_factory.mktemp("ruled") / "work"
    shutil.copytree(demo, folder)
    with serving(
        folder, Settings(public=("*",), public_spends=True, calls_per_minute=10**6)
    ) as url:
        yield folder, f"{url}/api/v1"


def with_rules(folder: Path, rules: dict[str, object]) -> None:
    """Replace the rules in discreet.yaml, in one step."""
    path = folder / "discreet.yaml"
    block = "rules:\n" + "".join(f"  {k}: {json.dumps(v)}\n" for k, v in rules.items())
    text = re.sub(
        r"^rules:.*\n(?:  .*\n)*",
        block if rules else "rules: {}\n",
        path.read_text("utf-8"),
        flags=re.M,
    )
    spare = folder / "spare.yaml"
    spare.write_text(text, "utf-8")
    spare.replace(path)


def offered_alternatives_work(
    ruled: tuple[Path, str], rules: dict[str, object], axes: list[str]
) -> int:
    """Ask; where it is refused, take every alternative; how many were taken."""
    folder, url = ruled
    with_rules(folder / "deaths", rules)
    asked = {"rows": axes[:2], "columns": axes[2:]}
    answer = WIRE.post(f"{url}/datasets/deaths/tables", json=asked)
    if answer.status_code in (200, 202):  # allowed; large ones become jobs
        return 0
    assert answer.status_code == 403, answer.text
    problem = answer.json()
    assert problem["rule"] in rules
    for offer in problem["alternatives"]:
        assert offer["checked"]
        done = WIRE.post(f"{url}/datasets/deaths/tables", json=offer["recipe"])
        assert done.status_code in (200, 202), (rules, asked, offer, done.text)
    return len(problem["alternatives"])


@pytest.mark.slow
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(RULES, TABLES)
def test_each_alternative_is_accepted_when_taken(
    ruled: tuple[Path, str], rules: dict[str, object], axes: list[str]
):
    """Random policies and questions: every alternative offered is answered when it is sent."""
    offered_alternatives_work(ruled, rules, axes)


@pytest.mark.proof
def test_each_alternative_is_accepted_when_taken_in_full(ruled: tuple[Path, str], record_property):
    """Every alternative offered over 1,000 random policies and questions is answered when sent."""
    taken = 0

    @settings(max_examples=1000, deadline=None)
    @given(RULES, TABLES)
    def run(rules: dict[str, object], axes: list[str]) -> None:
        nonlocal taken
        taken += offered_alternatives_work(ruled, rules, axes)

    run()
    record_property("alternatives taken", taken)
    assert taken > 100


def test_a_data_version_confirms_no_guess(neighbour_folders: list[Path], tmp_path: Path):
    """Every table names its data version; made without the custodian's secret it would let a reader
    who knows all records but one try guesses of the last. The same file loaded by two custodians
    has two versions, and the same one loaded twice by one has one."""
    first = neighbour_folders[0] / "dp"
    second = workspace.init(
        neighbour_folders[0] / "people.csv", tmp_path / "dp", family="dp"
    ).folder
    found = []
    for folder in (first, second):
        with workspace.DataSet.open(folder) as data:
            found.append(data.data_version)
    assert found[0] != found[1]
    workspace.load(first)
    with workspace.DataSet.open(first) as data:
        assert data.data_version == found[0]


def test_likely_alternatives_are_marked(ruled: tuple[Path, str]):
    """What depends on what others spend is likely, not checked."""
    _, url = ruled
    over = WIRE.post(
        f"{url}/datasets/deaths-dp/tables", json={"rows": ["sex"], "epsilon": "50"}
    ).json()
    assert over["rule"] == "budget"
    assert [offer["checked"] for offer in over["alternatives"]] == [False]
