"""The codec profile: judge a codec, a formatter or a renderer by the vectors."""
