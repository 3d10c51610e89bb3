"""An eighth set of servers that the checks were not written for, with an observatory as its base."""
