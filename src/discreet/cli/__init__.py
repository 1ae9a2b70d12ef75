"""The command line: thin commands, the same verbs as Python.

Every command prints a table for people and, with --json, one JSON object. Exit codes: 0 done,
2 bad input, 3 refused, 4 engine, 5 store, 70 our bug, 130 stopped. Heavy imports wait until a
command runs, so that `discreet --help` answers at once.
"""

from .main import app, main

__all__ = ["app", "main"]
