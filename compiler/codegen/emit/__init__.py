"""LLVM IR that all targets share."""
