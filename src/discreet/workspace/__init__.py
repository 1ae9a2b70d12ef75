"""Data sets and workspaces on disk: descriptions, versions, secrets, loading and checks.

init(data, into)      profile, describe, load        declare(folder, names)   vouch for categories
load(folder)          a new version of the data      check(folder)            what is not sound
DataSet.open(path)    one data set, ready to count   Workspace.open(path)     a folder of them
"""

from .checks import Finding, check
from .dataset import DataSet, Workspace, resolve
from .initialising import Started, init
from .loading import Loaded, load
from .status_change import declare

__all__ = [
    "DataSet", "Finding", "Loaded", "Started", "Workspace", "check", "declare", "init", "load",
    "resolve",
]  # fmt: skip
