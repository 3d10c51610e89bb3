"""A fourteenth set of servers that the checks were not written for, with a harbour office as its base."""
