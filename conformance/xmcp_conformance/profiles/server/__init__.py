"""The server profile: judge a running server, in any language, by its tools and by what it puts on the wire."""
