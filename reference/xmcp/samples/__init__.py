"""Sample servers: small, believable, conforming. The demo, the docs and the conformance suite run them.

What may live here: servers anybody may start, with their data beside them. Nothing in the package depends on them
but the command line.
"""
