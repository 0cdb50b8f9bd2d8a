"""LLVM IR of CPU functions."""
