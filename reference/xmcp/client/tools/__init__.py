"""What the model is offered: the catalogue, names, schemas, dependencies and the client's own tools. No I/O."""
