"""Scalars, vectors and indices as LLVM IR."""
