"""Memory of results."""
