"""Independent noise under a budget (rinott §4, §7–8; ons method 1)."""

from .method import NoiseMethod

__all__ = ["NoiseMethod"]
