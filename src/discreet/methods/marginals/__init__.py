"""Margins that are private, accurate, consistent, non-negative and whole (barak, taken further)."""
