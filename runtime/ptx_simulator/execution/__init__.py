"""How kernels run: blocks, warps, divergence, barriers, counters."""
