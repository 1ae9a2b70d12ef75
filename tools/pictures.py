"""Draw the pictures of the docs again, from the demo workspace: `python tools/pictures.py demo`."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

import discreet as dc
from discreet.formats import terminal

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"


def main() -> None:
    """Write docs/pictures/table.svg."""
    workspace = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
    with dc.open(workspace / "deaths") as deaths:
        made = deaths.table(rows="region", columns="sex").release()
    console = Console(record=True, width=84, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ discreet table demo/deaths --rows region --columns sex", style="bold"))
    console.print()
    limits = terminal.Limits(width=84)
    console.print(terminal.render(made.protected, limits=limits, notes=False))
    svg = console.export_svg(title="discreet")
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "table.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
