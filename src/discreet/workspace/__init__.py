"""Data sets and workspaces on disk: descriptions, versions, secrets, loading and checks.

init(data, into)      profile, describe, load        declare(folder, names)   vouch for categories
declare_unit(folder, …)  say who one unit is
load(folder)          a new version of the data      check(folder)            what is not sound
DataSet.open(path)    one data set, ready to count   Workspace.open(path)     a folder of them
"""

from .checks import check
from .column_choice import ColumnChoice
from .dataset import DataSet, Workspace, resolve
from .finding import Finding
from .initialising import Started, init
from .loading import Loaded, load
from .status_change import declare
from .unit_choice import UnitChoice, declare_unit

__all__ = [
    "ColumnChoice", "DataSet", "Finding", "Loaded", "Started", "UnitChoice", "Workspace", "check",
    "declare", "declare_unit", "init", "load", "resolve",
]  # fmt: skip
