"""A client in any language behind a command: the suite hosts models and servers, and drives it by a protocol."""
