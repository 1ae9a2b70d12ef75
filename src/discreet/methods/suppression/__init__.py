"""Exact counts or a star, decided without looking: simulatable suppression (nabar)."""
