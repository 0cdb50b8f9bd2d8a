"""One interpreter an IR level, in NumPy."""
