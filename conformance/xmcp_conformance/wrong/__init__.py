"""Servers, codecs and clients that are wrong on purpose: each breaks one requirement, and the suite must find it."""
