"""The vocabulary of a chat: messages, tool schemas, arguments, completions, events, usage, errors and records.

Nothing here does I/O, and nothing here knows a model vendor, an MCP server or the client.
"""
