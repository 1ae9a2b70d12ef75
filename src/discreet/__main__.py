"""Run the command line with `python -m discreet`."""

from .cli import main

main()
