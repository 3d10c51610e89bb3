"""The XMCP conformance suite: it judges servers, documents, codecs and clients in any language.

It shares only the generated models and schemas with the reference implementation: a suite that ran the code that it
judges would prove nothing.
"""
