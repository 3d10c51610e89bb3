"""The miniature server, and the servers made of it that break one requirement each."""
