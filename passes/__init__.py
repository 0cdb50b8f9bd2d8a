"""The rewrites between stages, one pass a file."""

if not __name__.startswith("txc."):
    raise ImportError("import this package as txc.passes, not as passes: the top-level folder is its source")
