"""What loops and comprehensions go through: iterables of compiled code, and Python's iterators."""
