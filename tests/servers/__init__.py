"""Servers that tests start for themselves, on this machine only, and stop again."""
