"""A methodologist new to discreet: which method and which ε for her file, and why?

    python -m tests.journeys.methodologist [--records 3000] [--into FOLDER]

From the README to a decision she can defend, every command a process of its own, what is printed
pasted as it stands. A *stop* is a place where she cannot go on, is told something untrue, or has to
guess. `BEFORE` says which steps were stops when somebody first walked this way.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import stat
import tempfile
from pathlib import Path

from .custodian import Journey, report

BEFORE = frozenset(
    {"the simulator says what to run next", "fitted methods and hidden cells are compared too"}
)
ROOT = Path(__file__).parent.parent.parent
REGIONS, JOBS = [f"R{n}" for n in range(8)], [f"J{n}" for n in range(12)]


def write(path: Path, number: int) -> None:
    """People by region, job, age and sex; a job hangs together with age."""
    chance = random.Random(2)
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(("person", "region", "job", "age", "sex"))
        for n in range(number):
            age = chance.randrange(7)
            job = JOBS[min(11, int(abs(chance.gauss(age, 3))))]
            lines.writerow((f"p{n}", chance.choice(REGIONS), job, f"{age}0s", chance.choice("fm")))


def walk(folder: Path, number: int = 3_000) -> Journey:
    """The whole way."""
    journey = Journey(folder)
    write(folder / "people.csv", number)
    with journey.step("the README leads to choosing a policy"):
        readme = (ROOT / "README.md").read_text("utf-8")
        assert "discreet policy simulate" in readme
        assert "docs/how-to/choose-a-policy.md" in readme
    with journey.step("a file is ready in two commands"):
        unit = ("--unit", "person", "--id", "person")
        words = ("--into", "work/people", "--family", "dp", "--budget", "4", *unit)
        journey.discreet("init", "people.csv", *words)
        journey.discreet("declare", "work/people", "--all")
    _choose(journey)
    _look(journey)
    return journey


def _choose(journey: Journey) -> None:
    said = ""
    with journey.step("floor, ceiling and a law with its reasons"):
        said = journey.discreet(
            "policy",
            "simulate",
            "work/people",
            "--within",
            "4",
            "--risk",
            "10:35",
            "--records",
            "3000",
        )
        for words in ("no record was read", "Floor: ε = ", "Ceiling: ε = ", "Recommended: Laplace"):
            assert words in said, said
    with journey.step("a table that is too fine is seen before it is asked"):
        told = json.loads(
            journey.discreet("policy", "simulate", "work/people", "--records", "3000", "--json")
        )
        shares = {tuple(one["axes"]): one["share_reliable"] for one in told["tables"]}
        assert shares[("region",)] == 1
        assert min(shares.values()) == 0
    with journey.step("the simulator says what to run next"):
        dry = journey.paste(said, "table")
        assert "0." in dry
    with journey.step("what to give up where floor and ceiling cross"):
        crossed = journey.discreet(
            "policy", "simulate", "work/people", "--within", "1", "--tables", "9"
        )
        assert "They cross" in crossed
        assert "instead of ± 1" in crossed


def _look(journey: Journey) -> None:
    with journey.step("methods side by side on her own tables"):
        words = (
            "--table",
            "job,age",
            "--table",
            "region,sex",
            "--epsilon",
            "0.5,1",
            "-o",
            "own.html",
        )
        said = journey.discreet("compare", "work/people", *words)
        assert "Custodian only" in said
        assert "laplace is off by less than others on average" in " ".join(said.split())
        page = journey.folder / "own.html"
        assert stat.S_IMODE(page.stat().st_mode) == 0o600
        assert "CUSTODIAN ONLY" in page.read_text("utf-8")
    with journey.step("fitted methods and hidden cells are compared too"):
        words = ("--table", "job,age", "--methods", "laplace,marginals,classic", "--epsilon", "1")
        said = journey.discreet("compare", "work/people", *words, "-o", "fitted.html")
        assert "marginals ε 1" in said
        assert "classic below 5" in said
    with journey.step("the attacks, and a story to tell"):
        words = ("--only", "differencing,membership,hidden-cells", "-o", "attacks.html")
        said = journey.discreet("attack", "work/people", *words)
        assert "Ada Quill" in said
        assert "does not exceed" in " ".join(said.split())
    with journey.step("that she looked is said where it must be"):
        ledger = journey.discreet("ledger", "show", "work/people")
        assert "rehearsal" in ledger
        table = journey.discreet(
            "table", "work/people", "--rows", "sex", "--epsilon", "0.5", "--notes"
        )
        assert "tried on the true records" in " ".join(table.split())


def main() -> None:
    """Walk, and say where it stopped and how long each step took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=3_000)
    parser.add_argument("--into", type=Path)
    asked = parser.parse_args()
    folder = asked.into or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    journey = walk(folder, asked.records)
    print(report(journey))
    print(f"{sum(journey.seconds.values()):.0f} seconds in all")


if __name__ == "__main__":
    main()
