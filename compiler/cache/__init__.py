"""The persistent cache and the keys of what is in it."""
