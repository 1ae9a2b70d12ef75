"""Tests of classic suppression."""
