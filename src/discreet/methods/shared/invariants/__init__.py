"""Margins that are public already, and tables of whole counts that keep them exactly."""
