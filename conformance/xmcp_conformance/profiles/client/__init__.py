"""The client profile: drive a client through scenarios, record a trace of what it did, and judge the trace."""
