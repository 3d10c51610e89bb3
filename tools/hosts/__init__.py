"""Measure what hosts do with a tool's result: `python -m tools.hosts` runs them and compares them with the data."""
