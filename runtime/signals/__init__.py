"""Signals while compiled code runs."""
