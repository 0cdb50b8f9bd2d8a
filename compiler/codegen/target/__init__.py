"""Targets, and LLVM as what makes machine code of text."""
