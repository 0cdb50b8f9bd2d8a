"""What sorts compare: keys of integers made of elements, shortened where values allow it."""
