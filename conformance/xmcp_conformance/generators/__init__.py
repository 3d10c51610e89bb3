"""Responses that are drawn, with what codecs and servers get wrong, and smaller ones for one that shows a fault."""
