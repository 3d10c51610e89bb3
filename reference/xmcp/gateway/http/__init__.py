"""The HTTP application: routes, doors, and the responses that follow a run."""
