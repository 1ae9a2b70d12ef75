"""Which column holds survey weights: the one that is named so, or that the custodian names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import DataError
from .column_choice import NONE
from .draft import WeightDraft
from .vocabulary import is_weight_name

if TYPE_CHECKING:
    from ..engines.coding import ColumnProfile


def find_weight(columns: Sequence[ColumnProfile], chosen: str = "") -> WeightDraft | None:
    """The weight among the columns; `chosen` names it, or says that there is none."""
    if chosen == NONE:
        return None
    for column in columns:
        many = column.type == "integer" and column.distinct > 100
        likely = (many or column.type == "decimal") and _positive(column)
        if column.name == chosen and not may_be_weight(column):
            raise DataError(
                f"The column {column.name} cannot be the weight: a weight is a number above 0 in every "
                "record."
            )
        named = likely and is_weight_name(column.name) and not chosen
        if column.name == chosen or named:
            return WeightDraft(column.name, min(column.decimals or 0, 9), mark=column.mark)
    return None


def may_be_weight(column: ColumnProfile) -> bool:
    """Whether a column holds a number above 0 in every record."""
    return column.type in ("integer", "decimal") and not column.nulls and _positive(column)


def _positive(column: ColumnProfile) -> bool:
    positive = column.minimum is not None and not column.minimum.startswith(("-", "0"))
    return positive or _above_zero(column.minimum)


def _above_zero(text: str | None) -> bool:
    try:
        return text is not None and float(text.replace(",", ".")) > 0
    except ValueError:
        return False
