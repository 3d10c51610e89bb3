"""One tool call: from what the model wrote to what the model reads (spec sections 11.4 to 11.8)."""
