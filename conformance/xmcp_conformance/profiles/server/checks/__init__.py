"""The checks of a server, one subject a module; `judge` runs them."""
