"""A third set of servers that the checks were not written for, with a freight yard as its base."""
