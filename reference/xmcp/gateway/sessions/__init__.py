"""Sessions: what a model is told of what was said before, for callers who leave that to the gateway."""
