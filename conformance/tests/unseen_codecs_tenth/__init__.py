"""The tenth set of codecs that the suite has not seen: wrong ones, and odd ones that are right."""
