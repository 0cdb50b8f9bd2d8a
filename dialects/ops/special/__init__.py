"""Maps: special functions."""
