"""Parameters that the server fills in, and their values that must not be disclosed."""
