"""Postgres 14 and later: read by streaming, or counted where it is."""
