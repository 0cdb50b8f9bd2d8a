"""Indexing: views, gathers and scatters, and sizes that values decide."""
