"""Products, norms, factorizations and equations."""
