"""An eleventh set of servers that the checks were not written for, with a garden that keeps seeds as its base."""
