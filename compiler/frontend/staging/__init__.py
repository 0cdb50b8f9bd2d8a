"""Staging: Python's control flow on symbolic values."""
