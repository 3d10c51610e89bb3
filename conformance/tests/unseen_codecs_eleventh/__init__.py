"""The eleventh set of codecs that the suite has not seen."""
