"""A protected table as a pandas data frame; pandas is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.table import ProtectedTable
from ..errors import InputError
from .flat import STATUS_LETTERS, flatten

if TYPE_CHECKING:
    import pandas as pd


def to_pandas(table: ProtectedTable) -> pd.DataFrame:
    """Codes, labels, count, status and noise columns; beside a hidden count all are missing too."""
    try:
        import pandas as pd
    except ImportError:
        raise InputError(
            "pandas is not installed, and a data frame needs it. Run `pip install discreet[pandas]`."
        ) from None

    flat = flatten(table)
    columns: dict[str, Any] = {}
    for place, axis in enumerate(flat.axes):
        at = flat.positions(place)
        columns[axis.name] = pd.Categorical.from_codes(at, categories=pd.Index(axis.codes))
        columns[axis.label_name] = [axis.labels[i] for i in at]
    columns[flat.measure] = pd.arrays.IntegerArray(flat.values, ~flat.shown)
    columns["status"] = [STATUS_LETTERS[code] for code in flat.status]
    for name, numbers in flat.numbers.items():
        shown = flat.shown_in(name)
        whole = numbers.dtype.kind == "i"
        columns[name] = (
            pd.arrays.IntegerArray(numbers, ~shown) if whole else np.where(shown, numbers, np.nan)
        )
    return pd.DataFrame(columns)
