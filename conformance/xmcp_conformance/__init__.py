"""The XMCP conformance suite: judges any server, in any language, by what it puts on the wire.

It shares the generated models and schemas with the reference implementation and nothing else: a suite
that ran the code it judges would prove nothing.
"""
