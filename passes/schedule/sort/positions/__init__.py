"""Sorts of positions, beside keys or inside of them."""
