"""Loads and stores as LLVM IR."""
