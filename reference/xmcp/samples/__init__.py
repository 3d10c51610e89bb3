"""Sample servers: small, realistic, conforming. The demo, the docs and the conformance suite run them.

Only the command line depends on them.
"""
