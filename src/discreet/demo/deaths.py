"""The demo deaths: 529,655 synthetic records with the region counts of ons Table 8.

Everything below the region counts is made up, with the dependence one would expect: causes follow
age and sex, respiratory deaths peak in winter, marital status follows age and sex, areas differ in
how old their people are. No real person is in it.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

import numpy as np

from ..workspace.draft import CategoryDraft, Draft, LevelDraft, VariableDraft
from . import featured
from .draws import Draws, Whole
from .places import COUNTRIES, REGIONS, UNKNOWN, areas

SEED = 20_210_402

CAUSES = (
    ("A00-B99", "Certain infectious and parasitic diseases"),
    ("C00-D48", "Neoplasms"),
    ("D50-D89", "Diseases of the blood and blood-forming organs and certain immune disorders"),
    ("E00-E90", "Endocrine, nutritional and metabolic diseases"),
    ("F00-F99", "Mental and behavioural disorders"),
    ("G00-G99", "Diseases of the nervous system"),
    ("I00-I99", "Diseases of the circulatory system"),
    ("J00-J99", "Diseases of the respiratory system"),
    ("K00-K93", "Diseases of the digestive system"),
    ("M00-M99", "Diseases of the musculoskeletal system and connective tissue"),
    ("N00-N99", "Diseases of the genitourinary system"),
    ("P00-P96", "Certain conditions originating in the perinatal period"),
    ("Q00-Q99", "Congenital malformations, deformations and chromosomal abnormalities"),
    ("R00-R99", "Symptoms, signs and abnormal clinical and laboratory findings"),
    ("V01-Y98", "External causes of morbidity and mortality"),
)
AGES = (
    ("0", "Under 1 year"),
    ("1-14", "1 to 14 years"),
    ("15-24", "15 to 24 years"),
    ("25-34", "25 to 34 years"),
    ("35-44", "35 to 44 years"),
    ("45-54", "45 to 54 years"),
    ("55-64", "55 to 64 years"),
    ("65-74", "65 to 74 years"),
    ("75-84", "75 to 84 years"),
    ("85+", "85 years and over"),
)
SEXES = (("F", "Female"), ("M", "Male"))
_MONTH_NAMES = (
    "January, February, March, April, May, June, "
    "July, August, September, October, November, December"
)
MONTHS = tuple((str(number), name) for number, name in enumerate(_MONTH_NAMES.split(", "), 1))
MARITAL = (
    ("single", "Never married"),
    ("married", "Married"),
    ("civil", "In a civil partnership"),
    ("divorced", "Divorced"),
    ("widowed", "Widowed"),
    ("unknown", "Not stated"),
)
SINGLE = (
    ("cause", "Underlying cause of death (ICD-10 chapter)", CAUSES, "classification"),
    ("age", "Age at death", AGES, "classification"),
    ("sex", "Sex", SEXES, "classification"),
    ("month", "Month of death", MONTHS, "time"),
    ("marital", "Marital status", MARITAL, "classification"),
)
"""Variables of one level: name, label, categories, kind."""
GROUPS = {
    "cause": "The death",
    "age": "The person",
    "sex": "The person",
    "month": "Place and time",
    "marital": "The person",
}
_SHORT_CAUSES = (
    "Infections, Cancers, Blood, Metabolism, Mind, Nerves, Circulation, Respiration, Digestion, "
    "Muscles and bones, Kidneys, Perinatal, Malformations, Symptoms, External causes"
)
SHORT = {
    **{words: words.removesuffix(" years") for _, words in AGES if words.endswith(" years")},
    "Under 1 year": "Under 1",
    "85 years and over": "85 and over",
    **{words: words[:3] for _, words in MONTHS},
    **{words: short for (_, words), short in zip(CAUSES, _SHORT_CAUSES.split(", "), strict=True)},
    "Yorkshire and The Humber": "Yorkshire",
    "Northern Ireland": "N. Ireland",
}
"""Shorter labels, for heads and charts."""

# deaths by age in 1,000s, for five kinds of area: young city … retirement coast
_AGE = (
    (9, 4, 9, 17, 30, 62, 105, 180, 272, 312),
    (6, 3, 6, 11, 20, 47, 92, 175, 282, 358),
    (5, 2, 5, 8, 15, 39, 82, 168, 283, 393),
    (4, 2, 4, 6, 12, 34, 76, 166, 288, 408),
    (3, 1, 3, 5, 9, 27, 65, 155, 290, 442),
)
# of 1,000 deaths at an age, how many are women's
_FEMALE = (445, 450, 300, 320, 375, 400, 410, 420, 470, 610)
# causes by age, in 10,000s, in the order of CAUSES
_CAUSE = (
    (150, 80, 40, 90, 2, 300, 120, 250, 60, 0, 20, 6200, 2200, 400, 88),
    (350, 2300, 130, 480, 10, 1250, 450, 750, 200, 60, 40, 120, 1400, 420, 2040),
    (120, 1250, 60, 260, 160, 720, 520, 280, 110, 40, 20, 4, 256, 300, 5900),
    (130, 1500, 50, 260, 300, 520, 850, 330, 700, 60, 30, 2, 120, 348, 4800),
    (140, 2600, 40, 260, 260, 480, 1600, 480, 1500, 90, 50, 1, 90, 209, 2200),
    (130, 3750, 30, 230, 140, 420, 2150, 720, 1250, 90, 70, 0, 80, 140, 800),
    (110, 4600, 30, 210, 100, 430, 2250, 1060, 720, 80, 90, 0, 50, 70, 200),
    (100, 4250, 25, 170, 210, 530, 2300, 1440, 500, 80, 120, 0, 20, 55, 200),
    (110, 2900, 25, 150, 900, 780, 2560, 1540, 440, 80, 180, 0, 8, 107, 220),
    (110, 1400, 25, 130, 1800, 720, 2800, 1550, 390, 100, 260, 0, 2, 463, 250),
)
# how much more (of 100) each cause weighs among men than among women
_MEN = (100, 110, 90, 100, 65, 85, 108, 100, 105, 50, 90, 105, 100, 60, 190)
# deaths by month: winter causes, other natural causes, causes without a season
_MONTH_WINTER = (132, 115, 112, 98, 91, 82, 80, 77, 82, 95, 100, 136)
_MONTH_OTHER = (112, 101, 106, 98, 97, 92, 95, 94, 93, 100, 101, 111)
_MONTH_EVEN = (100, 92, 101, 98, 102, 100, 104, 103, 99, 102, 98, 101)
_WINTER = {"J00-J99", "I00-I99", "F00-F99", "G00-G99"}
_EVEN = {"C00-D48", "P00-P96", "Q00-Q99", "V01-Y98"}
# marital status by age: women, men
_MARITAL_WOMEN = (
    (1, 0, 0, 0, 0, 0),
    (1, 0, 0, 0, 0, 0),
    (940, 40, 3, 5, 1, 11),
    (640, 280, 10, 50, 4, 16),
    (400, 400, 10, 160, 12, 18),
    (230, 460, 7, 250, 36, 17),
    (130, 500, 4, 230, 120, 16),
    (75, 450, 2, 160, 300, 13),
    (55, 290, 1, 85, 560, 9),
    (65, 90, 0, 40, 800, 5),
)
_MARITAL_MEN = (
    (1, 0, 0, 0, 0, 0),
    (1, 0, 0, 0, 0, 0),
    (965, 20, 2, 2, 0, 11),
    (740, 180, 9, 50, 2, 19),
    (500, 310, 11, 150, 5, 24),
    (330, 390, 8, 235, 14, 23),
    (210, 495, 5, 220, 50, 20),
    (120, 590, 3, 150, 122, 15),
    (70, 600, 2, 80, 238, 10),
    (50, 475, 1, 40, 427, 7),
)


@lru_cache(maxsize=1)
def codes() -> dict[str, Whole]:
    """The records as positions in their lists of categories; the same on every machine."""
    draws, places = Draws(SEED), areas()
    region = np.repeat(np.arange(len(REGIONS)), [one.deaths for one in REGIONS])
    widest = max(one.areas for one in REGIONS)
    first, weights, at = [], [], 0
    for position in range(len(REGIONS)):
        inside = [area.weight for area in places if area.region == position]
        first.append(at)
        weights.append(inside + [0] * (widest - len(inside)))
        at += len(inside)
    ccg = np.array(first, dtype=np.int64)[region] + draws.choose(region, weights)
    profile = np.array([area.profile for area in places], dtype=np.int64)[ccg]
    age = draws.choose(profile, _AGE)
    sex = draws.choose(age, [(women, 1000 - women) for women in _FEMALE])
    cause = draws.choose(age * 2 + sex, _causes())
    month = draws.choose(cause, [_season(code) for code, _ in CAUSES])
    marital = draws.choose(
        age * 2 + sex,
        [row for pair in zip(_MARITAL_WOMEN, _MARITAL_MEN, strict=True) for row in pair],
    )
    order = draws.order(len(region))
    columns = {"ccg": ccg, "region": region, "cause": cause, "age": age, "sex": sex}
    columns |= {"month": month, "marital": marital}
    return {name: values[order] for name, values in columns.items()}


def _causes() -> list[list[int]]:
    rows = []
    for row in _CAUSE:
        rows.append([weight * 100 for weight in row])
        rows.append([weight * men for weight, men in zip(row, _MEN, strict=True)])
    return rows


def _season(cause: str) -> tuple[int, ...]:
    if cause in _WINTER:
        return _MONTH_WINTER
    return _MONTH_EVEN if cause in _EVEN else _MONTH_OTHER


def table() -> Any:
    """The records as an Arrow table of dictionary-coded texts with a record number as `id`."""
    pa: Any = importlib.import_module("pyarrow")

    positions = codes()
    country_of = {code: i for i, (code, _) in enumerate(COUNTRIES)}
    country = np.array([country_of[one.country] for one in REGIONS], dtype=np.int64)
    coded = {"country": COUNTRIES, **{name: categories for name, _, categories, _ in SINGLE}}
    lists = {
        "ccg": [area.code for area in areas()],
        "region": [one.code for one in REGIONS],
        **{name: [code for code, _ in categories] for name, categories in coded.items()},
    }
    columns = {"id": pa.array(np.arange(len(positions["sex"]), dtype=np.int64) + 1_000_001)}
    for name, words in lists.items():
        places = country[positions["region"]] if name == "country" else positions[name]
        columns[name] = pa.DictionaryArray.from_arrays(
            pa.array(places.astype(np.int16)), pa.array(words)
        )
    return pa.table(columns)


def _area() -> VariableDraft:
    return VariableDraft(
        "area",
        [
            LevelDraft(
                "ccg",
                "ccg",
                [CategoryDraft(a.code, a.name, REGIONS[a.region].code) for a in areas()],
                "Clinical commissioning group",
            ),
            LevelDraft(
                "region",
                "region",
                [
                    CategoryDraft(
                        one.code,
                        one.name,
                        one.country,
                        short=SHORT.get(one.name, ""),
                        tile=one.tile,
                    )
                    for one in REGIONS
                ],
                "Region",
            ),
            LevelDraft("country", "country", [CategoryDraft(*one) for one in COUNTRIES], "Country"),
        ],
        label="Area of usual residence",
        group="Place and time",
        declared=True,
        kind="geography",
        missing=[UNKNOWN],
    )


def draft(name: str, source: dict[str, str]) -> Draft:
    """The description as shipped; declared, because its code lists are public classifications."""
    variables = [_area()]
    for variable, label, categories, kind in SINGLE:
        listed = [
            CategoryDraft(code, words, short=SHORT.get(words, "")) for code, words in categories
        ]
        level = LevelDraft(variable, variable, listed)
        variables.append(
            VariableDraft(
                variable, [level], label, declared=True, kind=kind, group=GROUPS[variable]
            )
        )
    variables[-1].missing = ["unknown"]
    return Draft(
        dataset=name,
        title="Synthetic deaths",
        source=source,
        variables=variables,
        synthetic=True,
        population="Deaths registered in England and Wales",
        period="one year",
        licence="CC0-1.0",
        attribution="Synthetic; region counts as in the Office for National Statistics' mortality "
        "pilot (2021), Table 8",
        notes=[
            "Region counts are those of a published table; everything else is made up, "
            "the areas and their names included.",
        ],
        id="id",
        structural_zeros=[
            (
                {"age": ["0", "1-14"], "marital": ["married", "civil", "divorced", "widowed"]},
                "nobody under 16 could marry",
            )
        ],
        methods={"cell-key": {"max_perturbation": 5, "variance": 3, "keys": "strong"}},
        rules={"max_variables": 4, "max_cells": 1_000_000},
        featured=list(featured.KEYED),
    )
