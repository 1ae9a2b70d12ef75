"""Debian's Chromium for the journeys that are walked in a browser."""

from ..web.conftest import chromium

__all__ = ["chromium"]
