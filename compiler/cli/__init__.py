"""The commands `tensor-compile` and `tx-opt`."""
