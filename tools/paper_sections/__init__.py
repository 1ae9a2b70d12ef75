"""The sections of docs/papers.md, one small module each; `tools/papers.py` writes the page.

A section is a function `section(bench)` that gives a `Section`: figures as printed beside figures as
found, tables and pictures. A new method adds a module and its name to SECTIONS.
"""

from __future__ import annotations

SECTIONS = (
    "rinott_example",
    "rinott_figures",
    "rinott_laws",
    "rinott_inference",
    "rinott_overlap",
    "barak_bounds",
    "sadeghi_design",
    "sadeghi_keys",
    "nabar_suppression",
    "ons_shares",
    "ons_pilot",
    "ons_topdown",
)
