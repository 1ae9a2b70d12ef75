"""From noisy measurements to one table of whole counts for a whole tree; sees no record."""
