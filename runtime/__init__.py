"""What a compiled function needs while it runs; imports nothing of the compiler, nor xDSL."""

if not __name__.startswith("txc."):
    raise ImportError("import this package as txc.runtime, not as runtime: the top-level folder is its source")
