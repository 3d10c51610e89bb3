"""One script per host. It runs in the host's own environment, connects it to the fixture server and the stand-in model.

Each takes three arguments in JSON: the address of the server, that of the model, and the names of the tools. For each
tool it begins a chat whose prompt makes the model call it; the model records what the host then gives it. A chat that
fails prints `NAME: error`, and the next one begins.
"""
