"""A whole hierarchy as one table of whole counts (ons method 2, with its bias cured)."""
