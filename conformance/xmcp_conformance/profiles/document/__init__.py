"""The document profile: judge documents that lie in files."""
