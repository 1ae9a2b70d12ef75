"""Make every table and figure of the five papers again, beside their print: `make papers`.

Writes docs/papers.md and its pictures in docs/papers. Each section is a module of `paper_sections`;
what it shows comes from public commands and functions. The page is the same on every run.
"""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from paper_sections import SECTIONS
from paper_sections.bench import Bench, Figure, Grid, Section, Verdict, bench

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "papers.md"
PICTURES = ROOT / "docs" / "papers"
PAPERS = {
    "rinott": "Rinott, O'Keefe, Shlomo, Skinner 2018: Confidentiality and differential privacy in the "
    "dissemination of frequency tables",
    "barak": "Barak, Chaudhuri, Dwork, Kale, McSherry, Talwar 2007: Privacy, accuracy, and consistency "
    "too: a holistic solution to contingency table release",
    "sadeghi": "Sadeghi, Chien 2022: On the connection between the ABS perturbation methodology and "
    "differential privacy",
    "nabar": "Nabar, Mishra: Releasing private contingency tables",
    "ons": "Office for National Statistics 2021: Applying differential privacy protection to ONS "
    "mortality data, pilot study",
}
HEAD = """# The papers, table by table

Made by `make papers` from public commands and functions of discreet; the test suite makes it again and compares.
A figure is **equal** if it rounds to the very digits that are printed. Where a print is wrong or short, the
erratum stands beside it. *Not yet*: no command makes it so far.
"""


def made(work: Bench) -> list[Section]:
    """Every section, in order."""
    return [import_module(f"paper_sections.{name}").section(work) for name in SECTIONS]


def page(sections: list[Section]) -> str:
    """The whole page."""
    counts = Counter(figure.verdict for one in sections for figure in one.figures)
    lines = [HEAD, "| verdict | rows |", "|---|---|"]
    lines += [f"| {verdict} | {counts[verdict]} |" for verdict in Verdict if counts[verdict]]
    for paper, title in PAPERS.items():
        lines += ["", f"## {paper}", "", f"{title}."]
        for section in sections:
            if section.paper == paper:
                lines += ["", *section_lines(section)]
    return "\n".join(lines) + "\n"


def section_lines(section: Section) -> list[str]:
    """A section as the page shows it."""
    lines = [f"### {section.title}", ""]
    if section.commands:
        lines += ["```text", *(f"$ {command}" for command in section.commands), "```", ""]
    lines += ["| what | printed | found | verdict |", "|---|---|---|---|"]
    lines += [_row(figure) for figure in section.figures]
    for grid in section.grids:
        lines += ["", *_grid(grid)]
    for picture in section.pictures:
        lines += ["", f"![{picture.shows}](papers/{picture.file})", "", f"*{picture.shows}.*"]
    return lines


def _row(figure: Figure) -> str:
    verdict = f"{figure.verdict}: {figure.why}" if figure.why else str(figure.verdict)
    return f"| {figure.name} | {figure.printed} | {figure.found} | {verdict} |"


def _grid(grid: Grid) -> list[str]:
    rows = [f"| {' | '.join(row)} |" for row in grid.rows]
    rule = f"|{'---|' * len(grid.header)}"
    return [f"**{grid.title}**", "", f"| {' | '.join(grid.header)} |", rule, *rows]


def main() -> int:
    """Write the page; a figure that differs without a reason is an error."""
    with bench(PICTURES) as work:
        sections = made(work)
    PAGE.write_text(page(sections), encoding="utf-8")
    wrong = [f for one in sections for f in one.figures if f.verdict is Verdict.WRONG]
    for figure in wrong:
        print(f"{figure.name}: printed {figure.printed}, found {figure.found}", file=sys.stderr)
    print(f"Written to {PAGE.relative_to(ROOT)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
