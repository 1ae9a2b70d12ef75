"""Options for every setting of every method, made from the methods' own declarations."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..methods import registry
from ..methods.declaration import Part

_PANELS = {
    Part.MEASURED: "What is measured (part of the question)",
    Part.TREATED: "What is done to it (free, and can be changed later)",
}


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each setting; it gets them together as `settings`."""
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.name != "settings"]
    by_name = registry.asked_settings()
    names = sorted(by_name, key=lambda name: list(_PANELS).index(by_name[name][0][1].part))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        settings = {name: given.pop(name) for name in names}
        command(**given, settings={n: v for n, v in settings.items() if v is not None})

    added = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_option(name)
        )
        for name in names
    ]
    keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    run.__signature__ = signature.replace(parameters=[*keyword, *added])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in [*keyword, *added]}
    return run


def _option(name: str) -> Any:
    having = registry.asked_settings()[name]
    helps = dict.fromkeys(setting.help for _, setting in having)
    if len(helps) == 1:
        methods = ", ".join(declared.name for declared, _ in having)
        words = f"{having[0][1].help} ({methods})."
    else:
        words = "; ".join(f"{declared.name}: {setting.help}" for declared, setting in having) + "."
    first = having[0][1]
    if first.default != "none":
        words += f" Default: {first.default}."
    return Annotated[
        str | None,
        typer.Option(
            f"--{name.replace('_', '-')}",
            help=words[0].upper() + words[1:] if words[0].isascii() else words,
            rich_help_panel=_PANELS[first.part],
        ),
    ]
