"""What programs are made of: dims, dtypes, the op registry, and the tx, kernel and loop dialects."""

if not __name__.startswith("txc."):
    raise ImportError("import this package as txc.dialects, not as dialects: the top-level folder is its source")
