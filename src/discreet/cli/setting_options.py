"""Options that a command gets together; those of every setting come from the methods themselves."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

from typer import Option

from ..methods import registry
from ..methods.declaration import Part

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_PANELS = {
    Part.MEASURED: "What is measured (part of the question)",
    Part.TREATED: "What is done to it (free, and can be changed later)",
}


def gathering(
    name: str, gather: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the parameters of `gather` as options; what that makes of them is its `name`."""
    options = inspect.signature(gather, eval_str=True).parameters

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            gathered = gather(**{option: given.pop(option) for option in options})
            command(**given, **{name: gathered})

        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.name != name]
        every = [one.replace(kind=_KEYWORD) for one in (*own, *options.values())]
        run.__signature__ = signature.replace(parameters=every)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in every}
        return run

    return with_options


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each setting; it gets those given together as `settings`."""
    by_name = registry.asked_settings()
    names = sorted(by_name, key=lambda name: list(_PANELS).index(by_name[name][0][1].part))

    def given(**settings: str | None) -> dict[str, str]:
        return {name: text for name, text in settings.items() if text is not None}

    given.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, _KEYWORD, default=None, annotation=_option(n)) for n in names]
    )
    return gathering("settings", given)(command)


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
        Option(
            f"--{name.replace('_', '-')}",
            help=words[0].upper() + words[1:] if words[0].isascii() else words,
            rich_help_panel=_PANELS[first.part],
        ),
    ]
