"""The checks of a document, one subject a module. The reader runs them while it reads."""
