"""The PTX language: syntax, types and the reader."""
