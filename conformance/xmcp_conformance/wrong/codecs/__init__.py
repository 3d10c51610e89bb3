"""The miniature codec, and the codecs made of it that have one mistake each."""
