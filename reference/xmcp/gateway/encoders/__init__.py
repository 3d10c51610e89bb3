"""From the events of a run to what a caller reads. Pure: no I/O, no clock; the same events give the same bytes."""
