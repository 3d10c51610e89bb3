"""The checks of a server, one module for each subject; `judge` runs them."""
