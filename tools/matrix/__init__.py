"""The kill matrix of the suite: every wrong server under every condition."""
