"""discreet: publish the table, not the people."""

__version__ = "0.1.0"
