"""What a table could become, variable by variable, as `tables:options` and the page show it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..core.description import Description
from ..options import Option, Possible
from .asking import Asking
from .service import told


def listed(asking: Asking, language: str = "") -> dict[str, Any]:
    """The variables an asker is told of, each level with what it could do in the table asked for."""
    shown = told(asking.asker, asking.data).askable(asking.data.policy.family)
    levels: dict[str, list[Option]] = defaultdict(list)
    for option in asking.asked.options(shown):
        levels[option.ref.variable].append(option)
    return {
        "variables": [
            {
                "name": variable.name,
                "label": variable.label.says(language),
                "kind": variable.kind,
                "group": variable.group.says(language),
                "levels": [_level(option, shown, language) for option in levels[variable.name]],
            }
            for variable in shown.variables
        ]
    }


def _level(option: Option, shown: Description, language: str) -> dict[str, Any]:
    level = shown.axis(option.ref).level
    return {
        "name": level.name,
        "label": level.label.says(language),
        "categories": len(level),
        "used": option.used,
        "filters": option.filters,
        "in_table": _possible(option.in_table),
        "as_filter": _possible(option.as_filter),
    }


def _possible(possible: Possible) -> dict[str, Any]:
    return {
        "allowed": possible.allowed,
        "cells": possible.cells,
        "rule": possible.rule,
        "sentence": possible.sentence,
    }
