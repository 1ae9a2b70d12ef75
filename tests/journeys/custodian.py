"""A custodian's first hour on her own file, replayed from the README: where does she have to stop?

    python -m tests.journeys.custodian [--records 200000] [--into FOLDER]

Her file holds hospital stays: several of one patient, semicolons, latin-1, decimal commas, -9 and
blanks for missing, dates, ages, a hierarchy in which some hospitals have no trust. Every command is
run as a process of its own, in a folder of its own; what a command tells her to run next is run as
it was printed. A *stop* is a place where she cannot go on, is told something untrue, or has to
guess. `BEFORE` says which steps were stops when somebody first walked this way.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..patience import PATIENCE

BEFORE = frozenset(
    {
        "init names the column that stands for people",
        "the load says how many records, which version, what was left out",
        "check does not read the source again",
        "what is printed can be pasted",
        "a second load says that nothing is new",
        "a level that some branches skip is there",
        "months come from dates",
        "bands come from ages and amounts",
        "what is left out is said under every table",
        "files are named after their table",
        "a spreadsheet is no dead end",
        "the word alone says what to do",
        "a weight with decimal commas is found",
    }
)
"""The steps that stopped the first custodian who tried."""

NAMES = (
    "Fall_ID", "Patient_ID", "Klinik", "Klinik_Name", "Verbund", "Region", "Aufnahme", "Alter",
    "Geschlecht", "Kosten", "Gewicht", "Station",
)  # fmt: skip
RECIPE = """\
epsilon: "2"
tables:
  - rows: [region]
    columns: [geschlecht]
  - rows: [verbund]
  - rows: [aufnahme_quarter]
    columns: [geschlecht]
  - rows: [alter_10]
    columns: [station]
"""


def records(number: int, seed: int = 1) -> list[dict[str, str]]:
    """Stays of about a third as many patients; a few of them have very many."""
    chance = random.Random(seed)
    houses = {f"K{n:02d}": (f"V{n // 3}" if n % 5 else "", f"R{n // 6}") for n in range(18)}
    first = datetime.date(2022, 1, 1)
    stays = []
    for stay in range(number):
        house = chance.choice(list(houses))
        trust, region = houses[house]
        day = first + datetime.timedelta(chance.randrange(730))
        values = (
            f"F{seed}{stay:07d}", f"P{int(number * 0.4 * chance.random() ** 2):06d}", house,
            f"Klinikum Nr. {house[1:]} am Mühlbach", trust, region, day.strftime("%d.%m.%Y"),
            str(chance.choice([-9, *range(100)])), chance.choice(["m", "w", "-9"]),
            f"{chance.randrange(10_000, 900_000) / 100:.2f}".replace(".", ","),
            f"{chance.randrange(50, 300) / 100:.2f}".replace(".", ","),
            chance.choice(["Chirurgie", "Innere", "Säuglinge", ""]),
        )  # fmt: skip
        stays.append(dict(zip(NAMES, values, strict=True)))
    return stays


def write(path: Path, stays: list[dict[str, str]]) -> None:
    """The file as a German program writes it."""
    with path.open("w", newline="", encoding="cp1252") as file:
        lines = csv.DictWriter(file, NAMES, delimiter=";")
        lines.writeheader()
        lines.writerows(stays)


@dataclass
class Journey:
    """What was run, what it said, and where it stopped."""

    folder: Path
    stops: dict[str, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """One thing the custodian wants; where it fails, that is a stop and she goes on."""
        self.steps.append(what)
        began = time.perf_counter()
        try:
            yield
        except AssertionError as problem:
            self.stops[what] = str(problem)[:2000] or "an assertion failed"
        self.seconds[what] = time.perf_counter() - began

    def discreet(self, *words: str, code: int = 0, sent: str | None = None) -> str:
        """Run the command; what it wrote, on one line for each paragraph."""
        ran = subprocess.run(
            [sys.executable, "-m", "discreet", *words],
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            input=sent,
        )
        assert ran.returncode == code, f"{words}: exit {ran.returncode}\n{ran.stdout}{ran.stderr}"
        return ran.stdout + ran.stderr

    def paste(self, said: str, begins: str, **filled: str) -> str:
        """Run the command that was printed on a line of its own; its words in capitals filled in."""
        lines = [line.strip() for line in said.splitlines() if line.startswith("  discreet ")]
        (line,) = [line for line in lines if line.startswith(f"discreet {begins}")][:1] or [""]
        assert line, f"no line to paste begins with {begins!r}:\n{said}"
        words = [filled.get(word, word) for word in line.split()[1:]]
        return self.discreet(*words)


def flat(text: str) -> str:
    """A text on one line, to find sentences in."""
    return " ".join(text.split())


def walk(folder: Path, number: int) -> Journey:
    """The whole way, from the file to a table that others ask for over the network."""
    journey = Journey(folder)
    stays = records(number)
    write(folder / "stays.csv", stays)
    _begin(journey, stays)
    _tables(journey, stays)
    _release(journey)
    _serve(journey)
    _again(journey, stays)
    return journey


def _begin(journey: Journey, stays: list[dict[str, str]]) -> None:
    most = max(Counter(stay["Patient_ID"] for stay in stays).values())
    kept = sum(min(n, 4) for n in Counter(stay["Patient_ID"] for stay in stays).values())
    said = ""
    with journey.step("the word alone says what to do"):
        hint = journey.discreet(code=2)
        assert "Start with discreet demo" in hint, hint
        assert "discreet:" not in hint, hint
    with journey.step("init names the column that stands for people"):
        words = ("--unit", "person", "--into", "work/stays", "--family", "dp", "--budget", "20")
        said = journey.discreet("init", "stays.csv", *words)
        assert "nothing was loaded" in said, said
        assert (
            f"Patient_ID: {len({s['Patient_ID'] for s in stays}):,} values, up to {most:,}" in said
        )
    with journey.step("what is printed can be pasted"):
        declared = journey.paste(said, "declare", WORD="person", COLUMN="Patient_ID")
        assert "unit: person" in declared
        journey.discreet("declare", "work/stays", "--records-per-unit", "4", "--drop")
    with journey.step("the load says how many records, which version, what was left out"):
        loaded = flat(journey.paste(declared, "load"))
        assert f"Loaded {kept:,} records as version 0001-" in loaded, loaded
        assert f"{len(stays) - kept:,} records were left out: at most 4 of one person" in loaded
    with journey.step("a weight with decimal commas is found"):
        assert 'mark: ","' in (journey.folder / "work/stays/discreet.yaml").read_text()
    with journey.step("check does not read the source again"):
        with _unreadable(journey.folder / "stays.csv"):
            checked = journey.discreet("check", "work/stays", code=3)  # nothing is declared yet
        assert f"one value has up to {most:,} records" in flat(checked), checked
        assert "    discreet declare work/stays area" in checked, checked
    with journey.step("what was read is declared"):
        assert "Declared: area" in journey.discreet("declare", "work/stays", "--all")
        sound = journey.discreet("check", "work/stays")
        assert "error:" not in sound, sound
    with journey.step("a second load says that nothing is new"):
        assert "Nothing new" in journey.discreet("load", "work/stays")


@contextmanager
def _unreadable(source: Path) -> Iterator[None]:
    """The file with other bytes in it and nothing else changed: who reads it cannot use it."""
    content, state = source.read_bytes(), source.stat()
    times = (state.st_atime_ns, state.st_mtime_ns)
    source.write_bytes(b"\x00" * len(content))
    os.utime(source, ns=times)
    try:
        yield
    finally:
        source.write_bytes(content)
        os.utime(source, ns=times)


def _tables(journey: Journey, stays: list[dict[str, str]]) -> None:
    bound = "At most 4 records of each person are counted."
    with journey.step("a level that some branches skip is there"):
        said = journey.discreet("table", "work/stays", "--rows", "verbund", "--epsilon", "1")
        without = sorted({stay["Region"] for stay in stays if not stay["Verbund"]})
        assert all(f"{region} (Verbund: –)" in said for region in without), said
    with journey.step("what is left out is said under every table"):
        assert bound in flat(said)
        assert "add or remove one person (up to 4 records)" in flat(said)
    with journey.step("months come from dates"):
        words = ("--rows", "aufnahme_month", "--columns", "geschlecht", "--epsilon", "1")
        said = journey.discreet("table", "work/stays", *words, "-o", "months.csv")
        lines = (journey.folder / "months.csv").read_text(encoding="utf-8-sig").splitlines()
        found = {line.split(",")[0] for line in lines[1:]}
        assert {f"2022-{month:02d}" for month in range(1, 13)} <= found, sorted(found)
        facts = json.loads((journey.folder / "months.csv-metadata.json").read_text())
        assert bound in json.dumps(facts)
    with journey.step("bands come from ages and amounts"):
        for level in ("alter_5", "kosten"):
            said = journey.discreet("table", "work/stays", "--rows", level, "--epsilon", "1")
            assert level.partition("_")[0].capitalize() in said, said
    with journey.step("the price is known before"):
        said = journey.discreet(
            "table", "work/stays", "--rows", "klinik", "--epsilon", "1", "--dry-run"
        )
        assert "Nothing was read or spent." in said


def _release(journey: Journey) -> None:
    (journey.folder / "tables.yaml").write_text(RECIPE)
    with journey.step("four tables are one release with a report"):
        said = journey.discreet("release", "work/stays", "tables.yaml", "-o", "out")
        assert (journey.folder / "out" / "report.html").exists(), said
        page = (journey.folder / "out" / "report.html").read_text()
        assert "At most 4 records of each person are counted." in flat(page)
    with journey.step("files are named after their table"):
        names = sorted(file.name for file in (journey.folder / "out" / "tables").glob("*.csv"))
        assert len(names) == 4
        for words in ("region", "verbund", "aufnahme", "alter"):
            assert any(words in name for name in names), names


def _serve(journey: Journey) -> None:
    """A colleague asks over the network."""
    with journey.step("a colleague gets a token and the same table over the network"):
        added = journey.discreet("user", "add", "work", "ana", "--role", "analyst")
        (token,) = re.findall(r"\b(dsc_\S+|\S{30,})", added)[:1] or [""]
        assert token, added
        command = [sys.executable, "-m", "discreet", "serve", "work", "--port", "0"]
        environment = {**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
        server = subprocess.Popen(
            command, cwd=journey.folder, env=environment, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            (url,) = re.findall(r"http://127\.0\.0\.1:\d+", line)[:1] or [""]
            assert url, line
            _ask(url, token, journey.folder)
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=PATIENCE)


def _ask(url: str, token: str, folder: Path) -> None:
    script = (
        "import sys, discreet as dc\n"
        "url, token = sys.argv[1:]\n"
        "with dc.connect(url, token, timeout=300) as server:\n"
        "    stays = server.open('stays')\n"
        "    table = stays.table(rows=['verbund'], epsilon='1').release()\n"
        "    print(table)\n"
        "    table.write('mine.csv')\n"
    )
    waiting = (
        "import sys, time, httpx\n"
        "end = time.monotonic() + float(sys.argv[2])\n"
        "while time.monotonic() < end:\n"
        "    try:\n"
        "        httpx.get(sys.argv[1] + '/api/v1/health'); break\n"
        "    except httpx.TransportError:\n"
        "        time.sleep(0.05)\n"
    )
    subprocess.run([sys.executable, "-c", waiting, url, str(PATIENCE)], check=True)
    ran = subprocess.run(
        [sys.executable, "-c", script, url, token], cwd=folder, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert "(Verbund: –)" in ran.stdout, ran.stdout
    assert (folder / "mine.csv-metadata.json").exists(), "no metadata beside the client's CSV"


def _again(journey: Journey, stays: list[dict[str, str]]) -> None:
    """Another month of records, with a code that nobody declared."""
    more = records(len(stays) // 20 + 1, seed=2)
    strange = [{**more[0], "Geschlecht": "d"}]
    with journey.step("an unknown code stops the load and says what to do"):
        write(journey.folder / "stays.csv", [*stays, *more, *strange])
        said = flat(journey.discreet("load", "work/stays", code=2))
        assert "'d'" in said, said
        assert "Add them to the categories" in said, said
    with journey.step("the next version is loaded and said"):
        write(journey.folder / "stays.csv", [*stays, *more])
        said = flat(journey.discreet("load", "work/stays"))
        assert "as version 0002-" in said, said
    with journey.step("a spreadsheet is no dead end"):
        _spreadsheet(journey, more)


def _spreadsheet(journey: Journey, stays: list[dict[str, str]]) -> None:
    import xlsxwriter

    book = xlsxwriter.Workbook(str(journey.folder / "more.xlsx"))
    sheet = book.add_worksheet("Stays")
    sheet.write_row(0, 0, NAMES)
    for row, stay in enumerate(stays, start=1):
        sheet.write_row(row, 0, list(stay.values()))
    book.close()
    words = ("--unit", "person", "--id", "Patient_ID", "--into", "work/more")
    said = flat(journey.discreet("init", "more.xlsx", *words))
    assert f"Loaded {len(stays):,} records" in said, said


def report(journey: Journey) -> str:
    """Every step with its stop before and now, and the counts."""
    lines = [f"{'before':7}{'now':7}{'s':>6}  step"]
    for what in journey.steps:
        before, now = ("stop" if what in some else "–" for some in (BEFORE, journey.stops))
        lines.append(f"{before:7}{now:7}{journey.seconds[what]:6.1f}  {what}")
    lines.append(f"stops before: {len(BEFORE)}, now: {len(journey.stops)}")
    return "\n".join([*lines, *(f"\n{what}:\n{why}" for what, why in journey.stops.items())])


def main() -> None:
    """Walk and tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--into", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.into or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        journey = walk(folder, options.records)
    print(report(journey))
    sys.exit(1 if journey.stops else 0)


if __name__ == "__main__":
    main()
