"""Counts of records that were made from a release, as they are, and of no others."""
