"""A ninth set of servers that the checks were not written for, with a workshop that repairs instruments as its base."""
