"""A seventh set of servers that the checks were not written for, with a bakery as its base."""
