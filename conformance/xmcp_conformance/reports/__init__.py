"""Reports for people and machines: each is a fold over the events of a run. Nothing is judged here."""
