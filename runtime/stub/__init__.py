"""Native call stubs."""
