"""The state of a staged program: what Python's names and containers hold, through branches and loops."""
