"""A thirteenth set of servers that the checks were not written for, with a print shop as its base."""
