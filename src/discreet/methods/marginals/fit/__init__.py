"""From noisy measurements to one table of whole, non-negative counts."""
