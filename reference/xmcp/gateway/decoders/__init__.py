"""From the body of a request to a `ChatRequest`. Pure: no I/O; what is wrong is said with its place."""
