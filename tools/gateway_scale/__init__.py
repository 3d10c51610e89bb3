"""Many tenants at one gateway over HTTP: `python -m tools.gateway_scale`."""
