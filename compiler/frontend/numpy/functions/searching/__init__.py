"""Sorting, searching, and what has as many elements as values say."""
