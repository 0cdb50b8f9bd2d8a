"""Reductions, running totals, and what statistics are made of them."""
