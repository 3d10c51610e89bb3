"""Clients that were written from the specification alone, to see whether the suite finds them out."""
