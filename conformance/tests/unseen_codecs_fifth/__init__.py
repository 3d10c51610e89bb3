"""A fifth set of codecs that the suite has not seen: twelve wrong ones, and four that are unusual and right."""
