"""A second set of servers that the checks were not written for, with a clinic for animals as its base."""
