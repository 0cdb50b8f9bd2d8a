"""Ahead of time: object files, shared libraries and C headers."""
