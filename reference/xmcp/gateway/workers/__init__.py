"""One gateway in several processes: which of them a request belongs to, and how they reach each other."""
