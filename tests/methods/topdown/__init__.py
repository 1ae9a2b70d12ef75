"""Tests of the top-down method."""
