"""The schedule of a CPU function, and what CPU loops are refined by."""
