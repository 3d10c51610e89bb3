"""Clients with one fault each, and some that are odd but right: by an author who read the specification, and no check.

Each fault is what a programmer could write by mistake: under a condition, for one kind of value, the second time, or
where two things meet.
"""
