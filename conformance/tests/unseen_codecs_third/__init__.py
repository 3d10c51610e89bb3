"""A third set of codecs that the suite has not seen: twelve wrong ones and four odd ones."""
