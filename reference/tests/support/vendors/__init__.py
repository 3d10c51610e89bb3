"""Stand-ins for the vendors of models: each speaks the wire format of one, over HTTP on the loopback."""
