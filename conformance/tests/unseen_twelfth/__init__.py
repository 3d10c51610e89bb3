"""A twelfth set of servers that the checks were not written for, with a theatre as its base."""
