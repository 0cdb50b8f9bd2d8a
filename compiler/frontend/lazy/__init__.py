"""Lazy expressions: recorded, recognized and run."""
