"""The gateway: an `AIClient` as a service over HTTP, in formats that existing front ends speak.

It consumes `stream_chat()` and owns no loop and no format of messages. Rooms: `decoders` (requests), `runs` (chats in
tasks of their own), `encoders` (answers), `http` (the application), `audit` (what it remembers), and `serving` (the
process).
"""
