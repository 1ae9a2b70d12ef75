"""A German hospital's stays, described in German with an English translation; and English to look for."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from pathlib import Path

CSV = "aufenthalte.csv"

ABOUT = """\
dataset: aufenthalte
title: {de: Stationäre Aufenthalte, en: Hospital stays}
language: de
population: {de: Versicherte mit Wohnsitz im Land, en: Insured people living in the state}
period: {de: Jahr 2025, en: Year 2025}
licence: {de: Datenlizenz Deutschland 2.0, en: Data licence Germany 2.0}
contact: {de: Amt für Statistik, en: Office of Statistics}
attribution: {de: Krankenhausstatistik, en: Hospital statistics}
notes:
  - {de: Ohne Begleitpersonen., en: Companions are left out.}
synthetic: yes
source: {file: aufenthalte.csv}
unit: {de: Versicherte, en: insured person}
id: versicherte
variables:
  wohnort:
    status: declared
    label: {de: Wohnort, en: Residence}
    levels:
      kreis:
        column: kreis
        label: {de: Kreis, en: District}
        categories:
          k1: {label: {de: Nordstadt, en: North Town}, parent: n}
          k2: {label: {de: Altmark, en: Old March}, parent: n}
          k3: {label: {de: Südtal, en: South Valley}, parent: s}
      region:
        column: region
        label: {de: Region, en: Part of the state}
        categories:
          n: {label: {de: Norden, en: North}}
          s: {label: {de: Süden, en: South}}
  geschlecht:
    status: declared
    column: geschlecht
    label: {de: Geschlecht, en: Sex}
    categories:
      w: {label: {de: weiblich, en: female}}
      m: {label: {de: männlich, en: male}}
      u: {label: {de: keine Angabe, en: not stated}}
  diagnose:
    status: declared
    column: diagnose
    role: private
    label: {de: Diagnose, en: Diagnosis}
    categories:
      i: {label: {de: Kreislauf, en: Circulation}}
      c: {label: {de: Neubildungen, en: Neoplasms}}
      s: {label: {de: Verletzungen, en: Injuries}}
"""

ENGLISH = frozenset(
    re.findall(
        r"\w+",
        """
    the of and is are not with for to by from that this it or be no on at as which if one table
    tables cell cells noise number numbers shown published release releases total totals count
    counts guess sure becomes data unit neighbours privacy private interval error guarantee
    measured measurement records record their they you your has have about nothing left asked
    question rule rules sum sums zero below above between least most every each other only but
    were will would may can cannot sheet contents notes cover metadata title population period
    source licence contact cost more rows columns percent percentages female male stays hospital
    year state insured district sex north south diagnosis residence protected suppressed
    unreliable synthetic
    """,
    )
)
"""Words that no German text has; those that both languages have (in, an, was) are not here."""

_NAMES = re.compile(
    r"https?://\S+|`[^`]*`|\b[a-z]+_[a-z_]+\b|--[a-z]+( csv)?|\[low\]|\[[a-z]\]|\b(\w+_)?[0-9A-Fa-f]{8,}\b"
)
"""Names of columns, options, marks and digests."""


def english_in(texts: Iterable[str]) -> dict[str, str]:
    """English words that are there, each with a text it stands in."""
    found = {}
    for text in texts:
        for word in re.findall(r"[A-Za-zÄÖÜäöüß]+", _NAMES.sub(" ", text)):
            if word.casefold() in ENGLISH:
                found[word.casefold()] = text
    return found


def write_stays(folder: Path, policy: str, *, people: int = 900) -> Path:
    """The data set with its records, not loaded."""
    folder.mkdir(parents=True)
    (folder / "discreet.yaml").write_text(ABOUT + policy, "utf-8")
    draw = random.Random(5)
    lines = ["versicherte;kreis;region;geschlecht;diagnose"]
    for number in range(people):
        district = draw.choice(["k1", "k1", "k2", "k3"])
        region = "s" if district == "k3" else "n"
        sex = draw.choices("wmu", [50, 49, 1])[0]
        lines.append(f"v{number};{district};{region};{sex};{draw.choice('iics')}")
    kinds = [f"{k},{s},500" for k in ("k1", "k2", "k3") for s in "wmu"]
    populations = "\n".join(["wohnort,geschlecht,population", *kinds]) + "\n"
    (folder / "bevölkerung.csv").write_text(populations, "utf-8")
    (folder / CSV).write_text("\n".join(lines) + "\n", "utf-8")
    return folder
