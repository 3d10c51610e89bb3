"""What a person and what a machine reads of a verdict. Nothing is decided here."""
