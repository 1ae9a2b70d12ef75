"""The methods there are, by name: declared here, loaded when asked for.

>>> names()
('cell-key', 'noise', 'marginals', 'topdown', 'suppression', 'classic', 'synthetic')

A new method is its room and one line of `METHODS`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

from ..core.family import Family
from ..errors import RecipeError
from ..languages import meant, say
from .cellkey.declaration import DECLARATION as CELL_KEY
from .classic.declaration import DECLARATION as CLASSIC
from .declaration import Declaration, Setting
from .marginals.declaration import DECLARATION as MARGINALS
from .noise.declaration import DECLARATION as NOISE
from .suppression.declaration import DECLARATION as SUPPRESSION
from .synthetic.declaration import DECLARATION as SYNTHETIC
from .topdown.declaration import DECLARATION as TOPDOWN

if TYPE_CHECKING:
    from .base import Method

METHODS: dict[str, Declaration] = {
    declared.name: declared
    for declared in (CELL_KEY, NOISE, MARGINALS, TOPDOWN, SUPPRESSION, CLASSIC, SYNTHETIC)
}


def names() -> tuple[str, ...]:
    """The names of all methods."""
    return tuple(METHODS)


def declaration(name: str) -> Declaration:
    """What the method of that name is."""
    if name not in METHODS:
        raise RecipeError(
            say(
                "There is no method {name}; there are {names}.{name_2}",
                name=repr(str(name)[:40]),
                names=", ".join(METHODS),
                name_2=meant(str(name), METHODS),
            )
        )
    return METHODS[name]


def get(name: str) -> Method:
    """The method of that name."""
    return _loaded(declaration(name).home)


@cache
def _loaded(home: tuple[str, str]) -> Method:
    module, kind = home
    return cast("Method", getattr(import_module(module, __package__), kind)())


def families() -> tuple[Family, ...]:
    """The families that have a method, in the order of their methods."""
    return tuple(dict.fromkeys(declared.family for declared in METHODS.values()))


def of_family(family: Family) -> tuple[str, ...]:
    """The names of a family's methods, the one used by default first."""
    found = [declared for declared in METHODS.values() if declared.family is family]
    return tuple(d.name for d in sorted(found, key=lambda declared: not declared.default))


def asked_settings() -> dict[str, list[tuple[Declaration, Setting]]]:
    """Every setting an asker may say, by name, with the methods that have it."""
    by_name: dict[str, list[tuple[Declaration, Setting]]] = {}
    for declared in METHODS.values():
        for setting in declared.asked():
            by_name.setdefault(setting.name, []).append((declared, setting))
    return by_name
