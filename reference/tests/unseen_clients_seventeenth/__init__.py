"""The seventeenth set of clients that the suite has not seen: twelve are wrong, and four odd but right."""
