"""The four kinds of implementation that the suite judges, one package each; they do not import each other."""
