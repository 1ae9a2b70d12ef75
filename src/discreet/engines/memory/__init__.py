"""Records as arrays of small integers, mapped into memory and shared by all processes."""
