"""Compare the specification, the schemas, the examples and the generated types with each other."""
