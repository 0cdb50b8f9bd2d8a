"""Contractions, transforms and factorizations."""
