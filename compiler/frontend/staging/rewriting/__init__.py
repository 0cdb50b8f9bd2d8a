"""From a function's source to its staged form: rewriting of Python's syntax trees, before anything runs."""
