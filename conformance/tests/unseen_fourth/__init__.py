"""A fourth set of servers that the checks were not written for, with an airport as its base."""
