"""The profile `gateway`: chats of a gateway over HTTP, seen by a front end."""
