"""Tests of simulatable suppression."""
