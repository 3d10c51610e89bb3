"""The twelfth set of codecs that the suite has not seen."""
