"""LLVM IR of GPU kernels."""
