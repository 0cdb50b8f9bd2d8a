"""Sorts that distribute keys to buckets: by digits, or by splitters drawn from a sample."""
