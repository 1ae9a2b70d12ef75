"""A command whose options may be given once: of two values one would be lost without a word."""

from __future__ import annotations

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand, TyperOption


class Once(TyperCommand):
    """Refuses an option that is given twice and holds one value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, each single option at most once."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        times = Counter(id(parameter) for parameter in order)
        for parameter in order:
            single = isinstance(parameter, TyperOption) and not parameter.multiple
            if single and times[id(parameter)] > 1:
                raise typer.BadParameter(
                    f"{parameter.opts[0]} is given {times[id(parameter)]} times. Give it once.", ctx
                )
        return super().parse_args(ctx, args)
