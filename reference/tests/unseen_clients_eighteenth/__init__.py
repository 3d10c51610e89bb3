"""The eighteenth set of clients that the suite's authors have not seen: twelve wrong ones and four that are right."""
