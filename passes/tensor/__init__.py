"""Rewrites of tensor ops: canonical form, layouts, the order of reductions, what is materialized."""
