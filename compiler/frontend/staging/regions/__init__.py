"""Structured control flow while tracing: regions of the graph, and the nodes that have them."""
