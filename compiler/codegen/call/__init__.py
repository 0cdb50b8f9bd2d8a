"""Call stubs: what stands between a caller, Python or C, and a compiled function."""
