"""A tenth set of servers that the checks were not written for, with a harbour as its base."""
