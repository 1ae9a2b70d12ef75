"""Reports: HTML pages with pictures, without scripts, the same in light, dark and on paper."""

from ..workspace.report_declarations import DECLARATIONS
from .facts import (
    Approval,
    AttackRun,
    Edition,
    LedgerSummary,
    PlannedError,
    ReleaseFacts,
)
from .release_report import render_report

__all__ = [
    "DECLARATIONS",
    "Approval",
    "AttackRun",
    "Edition",
    "LedgerSummary",
    "PlannedError",
    "ReleaseFacts",
    "render_report",
]
