"""The clock of the conformance scenarios, for the tests that still import it from here."""

from xmcp_conformance.profiles.client.virtual_time import Stuck, VirtualTimeLoop, run

__all__ = ["Stuck", "VirtualTimeLoop", "run"]
