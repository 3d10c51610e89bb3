"""What hosts do with a tool's result, as data, and what follows from it for one result. No I/O and no judgement.

`hosts.json` has a rule for each host; `presentation` applies a rule to a result. This room imports only `core`.
"""
