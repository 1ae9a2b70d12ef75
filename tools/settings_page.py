"""Writes docs/reference/settings.md from what the methods declare; a test holds the two together.

python tools/settings_page.py
"""

from __future__ import annotations

from pathlib import Path

from discreet.methods import registry
from discreet.methods.declaration import Declaration, Part, Setting

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "settings.md"
HEAD = """# Settings of the methods

Made from what each method declares (`src/discreet/methods/*/declaration.py`) by `tools/settings_page.py`.

A setting is **measured** (it shapes what is drawn or looked up: part of the question, its hash and its charge),
**treated** (a function of stored measurements: free, and had at any later time from the same answer) or of the
**policy** (a limit or a word: it changes no number). A policy writes settings under `methods`; *who asks* says
in a recipe, on the command line or over HTTP only what is marked so. Case, hyphens, blanks and the way a number
is written do not matter; numbers are exact (`0.1` is one tenth, `1/3` a third).
"""
SPENDS = {
    "nothing": "Spends nothing: its numbers are computed again at will, the same for ever.",
    "loss": "Spends privacy loss, charged to the budget before anything is answered.",
    "record": "Records what was released; later answers depend on it.",
}


def row(setting: Setting) -> str:
    """One setting as a row of its method's table."""
    who = "who asks, or the policy" if setting.asked else "the policy"
    cells = (f"`{setting.name}`", str(setting.part), who, setting.default, setting.help)
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def section(declared: Declaration) -> str:
    """One method with its settings."""
    lines = [f"## {declared.name}", "", f"{declared.summary[0].upper()}{declared.summary[1:]}."]
    lines += [SPENDS[str(declared.spends)], f"Family {declared.family}.", ""]
    if not declared.settings:
        return "\n".join([*lines[:-1], "It has no settings.", ""])
    lines += ["| setting | part | said by | default | what |", "|---|---|---|---|---|"]
    order = list(Part)
    lines += [row(s) for s in sorted(declared.settings, key=lambda s: order.index(s.part))]
    return "\n".join([*lines, ""])


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(section(declared) for declared in registry.METHODS.values())])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
