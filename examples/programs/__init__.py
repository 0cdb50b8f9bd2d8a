"""Programs of five fields, as users of NumPy write them; each module has a table of arguments, `CASES`."""
