"""`xmcp chat`: a conversation in the terminal with any model and any servers.

`command` reads the command line; `server_files` and `model_choice` say with whom one talks. `session` is the
conversation, which runs in a thread of its own (`background`); `screen` draws its events in the lines of `live_lines`.
"""
