"""What staged code calls in place of Python's: builtins, constructors, methods of lists, tests of patterns."""
