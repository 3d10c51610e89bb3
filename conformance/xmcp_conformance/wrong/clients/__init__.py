"""Traces of wrong clients, each with a twin that differs in the fault only and is right.

A fault is a function of one flag, and returns a trace: with the flag the client is wrong.
"""
