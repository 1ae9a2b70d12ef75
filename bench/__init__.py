"""Benches: every figure is a ratio to a peer measured in the same run on the same records."""
