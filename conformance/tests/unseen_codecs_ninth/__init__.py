"""A ninth set of codecs, by an author who read the specification and none of the checks."""
