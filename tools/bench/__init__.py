"""Measure the codec, the server and the client against floors, as ratios."""
