"""What other libraries ask of jitted functions: pickles, pointers for C, the protocols of pandas and numexpr."""
