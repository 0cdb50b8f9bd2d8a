"""txc beside its peers: ``python -m benchmarks``; `README.md` has the table of families and how to read the figures."""
