"""Wire formats of model vendors, one file each: requests written and answers read, without I/O."""
