"""Control flow while staging: conditions, branches and loops, by the values at hand."""
