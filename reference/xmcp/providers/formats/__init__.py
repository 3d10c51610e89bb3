"""Wire formats of model vendors, read and written without I/O."""
