"""Servers that the checks were not written for: they measure how easily the suite is fooled."""
