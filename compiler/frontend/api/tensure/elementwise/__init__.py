"""Elementwise functions: arithmetic, comparisons, broadcasting, and Python functions of numbers mapped over tensors."""
