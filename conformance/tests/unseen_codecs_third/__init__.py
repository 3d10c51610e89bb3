"""A third set of codecs that the suite has not seen: eleven wrong ones and four odd ones."""
