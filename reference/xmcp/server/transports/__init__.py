"""How a server is run: over HTTP with safe defaults, over stdio, and `serve()`."""
