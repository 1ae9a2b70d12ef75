"""Where the demo's people live: 13 regions with the counts of ons Table 8, and 251 invented areas.

Region and country codes and names are the official ones. The areas below them, their names and
their sizes are made up: England has 224, Wales 7, Scotland 14, Northern Ireland 5 and the unknown 1.
"""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN = "_U"
"""As SDMX says it; NA would be read as no value at all by pandas and R."""


@dataclass(frozen=True)
class Region:
    """A region: code, name, country, deaths (ons Table 8), how many areas it has, its tile."""

    code: str
    name: str
    country: str
    deaths: int
    areas: int
    tile: tuple[int, int] | None = None
    """Where it lies on a grid of tiles."""


REGIONS = (
    Region("E12000001", "North East", "E92000001", 28075, 11, (2, 1)),
    Region("E12000002", "North West", "E92000001", 71299, 33, (1, 2)),
    Region("E12000003", "Yorkshire and The Humber", "E92000001", 51692, 23, (2, 2)),
    Region("E12000004", "East Midlands", "E92000001", 45015, 20, (2, 3)),
    Region("E12000005", "West Midlands", "E92000001", 54562, 23, (1, 3)),
    Region("E12000006", "East of England", "E92000001", 56406, 22, (3, 3)),
    Region("E12000007", "London", "E92000001", 50541, 33, (3, 4)),
    Region("E12000008", "South East", "E92000001", 81052, 38, (2, 4)),
    Region("E12000009", "South West", "E92000001", 56667, 21, (1, 4)),
    Region("W99999999", "Wales", "W92000004", 33198, 7, (0, 3)),
    Region("S99999999", "Scotland", "S92000003", 170, 14, (1, 0)),
    Region("N99999999", "Northern Ireland", "N92000002", 13, 5, (0, 1)),
    Region(UNKNOWN, "Unknown", UNKNOWN, 965, 1),
)

COUNTRIES = (
    ("E92000001", "England"),
    ("W92000004", "Wales"),
    ("S92000003", "Scotland"),
    ("N92000002", "Northern Ireland"),
    (UNKNOWN, "Unknown"),
)

_CODES = {"E": "E38{:06d}", "W": "W11{:06d}", "S": "S08{:06d}", "N": "ZC0{:d}0"}


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",")]


_FIRST = _listed(
    """
    Alder, Ash, Bram, Black, Bracken, Briar, Carl, Clay, Copper, Cran, Dun, Elder, Fair, Fallow,
    Fern, Gold, Gran, Hazel, Heather, High, Kings, Lang, Lark, Long, Maple, Marl, Mill, North,
    Oak, Otter, Raven, Red, Rose, Rowan, Silver, South, Stan, Stone, Thorn, Wester, Whit, Wil,
    Wind, Winter, Wolf, Wood, Yarrow
    """
)
_LAST = _listed(
    """
    beck, borough, bridge, by, combe, dale, den, field, ford, gate, ham, hurst, ley, mere,
    mouth, shaw
    """
)
_WELSH = _listed(
    "Aberllyn, Brynmorlais, Cwmderwen, Dyffryn Celyn, Glanrhyd Fawr, Llanfedwen, Penarwel Isaf"
)
_SCOTTISH = _listed(
    """
    Achnabreck, Balvannoch, Carrickmoss, Drumlassie, Eilean Dorcha, Fearnaig, Glen Tarsan,
    Inverlair, Kilmorach, Lochandorb, Muirfoot, Orkadale, Strathcarrow, Tarskavaig
    """
)
_IRISH = _listed("Ballymagarry, Carrowdale, Drumcask, Glenmoyle, Lisnaree")


@dataclass(frozen=True)
class Area:
    """An area: code, invented name, the position of its region, weight within it, age profile."""

    code: str
    name: str
    region: int
    weight: int
    profile: int


def areas() -> tuple[Area, ...]:
    """All 251, region by region.

    >>> len(areas()), len({area.name for area in areas()})
    (251, 251)
    """
    placed: list[Area] = []
    english = 0
    for position, region in enumerate(REGIONS):
        for number in range(region.areas):
            # a size between 500 and 3,700, spread without pattern by a fixed multiplier
            spread = (len(placed) * 7919 + 104_729) % 3_203
            weight = 500 + spread
            profile = (len(placed) * 31 + position * 7) % 5
            if region.code == UNKNOWN:
                placed.append(Area(UNKNOWN, "Unknown", position, 1, 2))
                continue
            letter = region.code[0]
            if letter == "E":
                code, name = _CODES["E"].format(english + 1), _english(english)
                english += 1
            else:
                names = {"W": _WELSH, "S": _SCOTTISH, "N": _IRISH}[letter]
                code, name = _CODES[letter].format(number + 1), names[number]
            placed.append(Area(code, name, position, weight, profile))
    return tuple(placed)


def _english(number: int) -> str:
    step = number * 53 % (len(_FIRST) * len(_LAST))
    name = _FIRST[step % len(_FIRST)] + _LAST[step // len(_FIRST)]
    if number % 9 == 4:
        other = (step + 389) % (len(_FIRST) * len(_LAST))
        return f"{name} and {_FIRST[other % len(_FIRST)]}{_LAST[other // len(_FIRST)]}"
    if number % 11 == 7:
        return f"{('North', 'East', 'South', 'West')[number % 4]} {name}"
    return name
