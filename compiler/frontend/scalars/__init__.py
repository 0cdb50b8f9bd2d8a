"""Numbers of Python and NumPy that compiled code knows."""
