"""Tests of what protection costs a table."""
