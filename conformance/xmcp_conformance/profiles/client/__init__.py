"""The client profile: judge a client by a trace of what it did to its model, its servers and its application."""
