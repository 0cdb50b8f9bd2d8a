"""Tensors that live in memory: what has it, how it is allocated, and stores that go through to it."""
