"""A small method that lives in the tests alone: it remembers what it released, and stops giving."""
