"""From a front end to machine code: front ends, lowering, the pipeline, interpreters, code generation."""

if not __name__.startswith("txc."):
    raise ImportError("import this package as txc.compiler, not as compiler: the top-level folder is its source")
