"""LLVM IR and PTX text from the loop dialect."""
