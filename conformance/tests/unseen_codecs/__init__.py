"""Codecs that their author wrote without having seen a vector, a generator or a check of the suite."""
