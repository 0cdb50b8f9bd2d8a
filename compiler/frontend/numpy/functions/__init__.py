"""NumPy's functions that are no ufuncs, in terms of ops and methods: one module a family, all in one table.

`all.py` imports them all, which takes longer than tracing a short function that needs none of them.
"""
