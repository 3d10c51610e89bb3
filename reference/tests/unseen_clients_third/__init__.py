"""A third set of clients for the conformance suite: twelve that are wrong, and four that are odd and right."""
