"""What Prometheus reads of a gateway: counts of what happened, and its state at the moment of the reading.

Nothing outside imports these modules unless `[metrics]` has a port: `prometheus_client` is loaded only then.
"""
