"""Files of six fields as they come: several records of one person, odd encodings, ragged levels."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

Row = dict[str, str]


@dataclass(frozen=True)
class Field:
    """One file: how it is written, and the column that names whoever has several records."""

    name: str
    rows: Callable[[random.Random], Iterable[Row]]
    unit: str
    id: str
    encoding: str = "utf-8"
    delimiter: str = ","
    newline: str = "\n"
    level: str = ""
    """A column that some branches of a hierarchy leave empty, and the column above it."""
    above: str = ""

    @cached_property
    def records(self) -> list[Row]:
        """What is in the file."""
        return list(self.rows(random.Random(self.name)))

    @cached_property
    def repeats(self) -> Counter[str]:
        """How many records each unit has."""
        return Counter(row[self.id] for row in self.records)

    def write(self, folder: Path) -> Path:
        """The file in `folder`, as another program would write it."""
        text = io.StringIO(newline="")
        names = list(self.records[0])
        pages = csv.DictWriter(text, names, delimiter=self.delimiter, lineterminator=self.newline)
        pages.writeheader()
        pages.writerows(self.records)
        path = folder / f"{self.name}.csv"
        path.write_bytes(text.getvalue().encode(self.encoding))
        return path


def _german(number: float) -> str:
    return f"{number:.2f}".replace(".", ",")


def _stays(chance: random.Random) -> Iterable[Row]:
    """Hospital stays: 180 patients, trusts that one region does not have."""
    houses = {
        "Süd-Klinik": ("Verbund A", "Süden"),
        "Ärztehaus": ("Verbund A", "Süden"),
        "Nordstift": ("Verbund B", "Norden"),
        "Inselspital": ("", "Inseln"),
        "Leuchtturm": ("", "Inseln"),
    }
    number = 7000
    for patient in range(180):
        for _ in range(chance.choice([1, 1, 2, 3, 5])):
            number += 1
            house = chance.choice(list(houses))
            yield {
                "Fallnummer": f"F{number}",
                "Patient": f"P{patient:05d}",
                "Klinik": house,
                "Verbund": houses[house][0],
                "Region": houses[house][1],
                "Aufnahme": f"{chance.randrange(1, 29):02d}.{chance.randrange(1, 13):02d}.2023",
                "Kosten": _german(chance.randrange(200, 9000) / 7),
            }


def _pupils(chance: random.Random) -> Iterable[Row]:
    """Absences of 150 pupils by term; academies lie under no authority."""
    schools = {
        "Ash": ("Kent", "South"),
        "Bay": ("Kent", "South"),
        "Elm": ("Leeds", "North"),
        "Fir": ("York", "North"),
        "Oak": ("", "North"),
    }
    for pupil in range(150):
        school = chance.choice(list(schools))
        for term in range(1, chance.choice([3, 4, 4, 7])):
            yield {
                "upn": f"A{pupil * 37 % 150:07d}",
                "term": str(term),
                "school": school,
                "authority": schools[school][0],
                "region": schools[school][1],
                "year group": str(1 + pupil % 6),
                "days absent": str(chance.randrange(0, 12)),
            }


def _loans(chance: random.Random) -> Iterable[Row]:
    """Library loans: 120 cards, shelf marks in quotes over two lines."""
    for loan in range(700):
        yield {
            "loan": str(100000 + loan),
            "card": f"C{int(120 * chance.random() ** 2):04d}",
            "branch": chance.choice(["Hill", "Quay, old", 'The "Ark"']),
            "shelf": chance.choice(["Novels", "Maps", "Law\nand order"]),
            "renewed": chance.choice(["yes", "no"]),
        }


def _meters(chance: random.Random) -> Iterable[Row]:
    """Readings of 90 electricity meters, half of which are read every month."""
    for meter in range(90):
        tariff = chance.choice(["day", "night", "flat"])
        for month in range(1, chance.choice([2, 13, 13])):
            yield {
                "Zählernummer": f"1ESY{meter:08d}",
                "Ablesung": f"2022-{month:02d}-{28 if month == 2 else 30}",
                "Tarif": tariff,
                "kWh": _german(chance.randrange(1000, 90000) / 100),
                "Netz": chance.choice(["Ost", "West"]),
            }


def _cases(chance: random.Random) -> Iterable[Row]:
    """Court cases: one defendant may have several, and one case several defendants."""
    courts = {"Assise A": ("Est", "FR"), "Assise B": ("Est", "FR"), "Cour C": ("", "FR")}
    courts["Cour D"] = ("", "BE")
    for case in range(400):
        court = chance.choice(list(courts))
        for _ in range(chance.choice([1, 1, 1, 2])):
            yield {
                "numéro": f"{case:05d}/21",
                "justiciable": f"{chance.randrange(160) * 7919 % 100003:06d}",
                "tribunal": court,
                "ressort": courts[court][0],
                "pays": courts[court][1],
                "issue": chance.choice(["non-lieu", "condamné", "relaxé"]),
                "sexe": chance.choice("HF"),
            }


def _staff(chance: random.Random) -> Iterable[Row]:
    """A payroll: 100 employees, a line for each month worked; one division has no departments."""
    teams = {"Press": ("Media", "Sales"), "Shop": ("Retail", "Sales"), "Lab": ("", "Research")}
    for person in range(100):
        team = chance.choice(list(teams))
        for month in range(1, 1 + chance.choice([1, 6, 12])):
            yield {
                "employee_no": str(5_000_000 + person * 13),
                "month": f"2024-{month:02d}",
                "team": team,
                "department_name": teams[team][0],
                "division": teams[team][1],
                "pay": f"€{chance.randrange(2, 6)}k",
                "contract": chance.choice(["full-time", "part-time"]),
            }


FIELDS = (
    Field("stays", _stays, "patient", "Patient", "cp1252", ";", "\r\n", "Verbund", "Region"),
    Field("pupils", _pupils, "pupil", "upn", "utf-16", "\t", "\r\n", "authority", "region"),
    Field("loans", _loans, "cardholder", "card", "utf-8-sig", ","),
    Field("meters", _meters, "household", "Zählernummer", "latin-1", ";", "\r\n"),
    Field("cases", _cases, "defendant", "justiciable", "utf-16-le", ";", "\n", "ressort", "pays"),
    Field("staff", _staff, "employee", "employee_no", "cp1252", "|", "\n", "department_name", "division"),
)  # fmt: skip
