"""The methods there are, by name. A method is imported when it is asked for.

>>> names()
('cell-key', 'noise', 'marginals', 'synthetic')
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from ..errors import RecipeError, did_you_mean
from .base import Method

_METHODS = {
    "cell-key": ("cellkey.method", "CellKeyMethod"),
    "noise": ("noise.method", "NoiseMethod"),
    "marginals": ("marginals.method", "MarginalsMethod"),
    "synthetic": ("synthetic", "SyntheticMethod"),
}


def names() -> tuple[str, ...]:
    """The names of all methods."""
    return tuple(_METHODS)


@cache
def get(name: str) -> Method:
    """The method of that name."""
    if name not in _METHODS:
        raise RecipeError(
            f"There is no method {str(name)[:40]!r}; there are {', '.join(_METHODS)}."
            f"{did_you_mean(str(name), _METHODS)}"
        )
    module, kind = _METHODS[name]
    return cast(Method, getattr(import_module(f"{__package__}.{module}"), kind)())
