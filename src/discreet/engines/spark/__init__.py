"""Spark 4 by Spark Connect: read by streaming, or counted where it is; no Java is needed here."""
