"""Synthetic records of a release, as whoever knows no method's insides asks for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ....core.control import Control
from ....core.domain import Domain
from ...base import Measurements, Plan
from ...shared.microdata import MOST_RECORDS, write_microdata
from ...shared.synthetic_table import SyntheticTable
from ..derivation import standard_errors
from .measurements_file import write_measurements

if TYPE_CHECKING:
    from ..design import Design


class SyntheticRecords(ABC):
    """A method that makes synthetic records of what it measured (`Synthesises`)."""

    @abstractmethod
    def synthesise(
        self, plan: Plan, measurements: Measurements, control: Control | None = None
    ) -> SyntheticTable:
        """The synthetic table."""

    def synthetic_domain(self, plan: Plan) -> Domain:
        """What the synthetic records are records of."""
        return _design(plan).workload.domain

    def standard_errors(self, plan: Plan) -> list[tuple[tuple[str, ...], float]]:
        """For all variables measured and fitted together: their names, the error of a cell."""
        return standard_errors(_design(plan))

    def write_records(
        self, plan: Plan, measurements: Measurements, path: Path, control: Control
    ) -> int:
        """One row for each synthetic record, or for each cell where records are too many."""
        table = self.synthesise(plan, measurements, control)
        whole = table.total <= MOST_RECORDS
        domain = self.synthetic_domain(plan)
        return write_microdata(table, domain, path, records=whole, control=control)

    def synthetic_files(
        self,
        plan: Plan,
        measurements: Measurements,
        folder: Path,
        kinds: Sequence[str],
        control: Control,
    ) -> list[Path]:
        """The records and what they were fitted to, as files of these kinds."""
        files = []
        for kind in kinds:
            records, numbers = folder / f"microdata.{kind}", folder / f"measurements.{kind}"
            self.write_records(plan, measurements, records, control)
            write_measurements(_design(plan), measurements, numbers, control)
            files += [records, numbers]
        return files


def _design(plan: Plan) -> Design:
    from ..design import design_of

    return design_of(plan)
