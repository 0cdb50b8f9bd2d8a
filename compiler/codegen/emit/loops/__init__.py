"""Loops, reductions and scans as LLVM IR."""
