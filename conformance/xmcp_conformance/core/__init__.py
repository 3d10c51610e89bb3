"""What all four profiles share: requirements, the registry of checks, observations, events, and the judge."""
