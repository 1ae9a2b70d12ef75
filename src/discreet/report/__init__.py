"""Reports: HTML pages with pictures, without scripts, the same in light, dark and on paper."""

from ..workspace.report_declarations import DECLARATIONS
from .facts import Edition, LedgerSummary, PlannedError, ReleaseFacts
from .release_report import render_report

__all__ = [
    "DECLARATIONS",
    "Edition",
    "LedgerSummary",
    "PlannedError",
    "ReleaseFacts",
    "render_report",
]
