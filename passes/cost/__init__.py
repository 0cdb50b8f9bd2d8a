"""The cost model and what is reported of its decisions."""
