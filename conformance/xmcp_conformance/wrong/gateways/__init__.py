"""Gateways that break one sentence each, and the miniature that breaks none."""
