"""What the application adds: middleware, quotas, callbacks, logging and tracing."""
