"""The assistant as an HTTP service, with a memory of its chats."""
