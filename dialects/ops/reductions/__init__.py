"""Reductions, scans, and what orders elements."""
