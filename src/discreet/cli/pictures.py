"""Pictures that commands write: .svg or .png, by the ending of the name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ..errors import InputError

if TYPE_CHECKING:
    from ..report.charts import Spec

Picture = Annotated[Path | None, Option("--picture", help="Write a picture: a .svg or .png file.")]


def write_picture(spec: Spec, path: Path) -> None:
    """Draw the picture into the file; its ending says how."""
    from ..durable import SHARED, replace_bytes
    from ..report import charts

    if path.suffix == ".svg":
        replace_bytes(path, charts.to_svg(charts.on_white(spec)).encode(), mode=SHARED)
    elif path.suffix == ".png":
        replace_bytes(path, charts.to_png(spec), mode=SHARED)
    else:
        raise InputError(f"A picture is a .svg or a .png, got {path.name}.")
