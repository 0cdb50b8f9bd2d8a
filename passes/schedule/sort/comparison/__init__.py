"""Sorts that compare keys: networks, merges and heaps."""
