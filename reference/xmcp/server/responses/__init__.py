"""From what a tool returned or raised to what the client is sent."""
