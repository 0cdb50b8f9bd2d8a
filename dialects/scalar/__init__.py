"""The language of scalar bodies, and what bodies are built from."""
