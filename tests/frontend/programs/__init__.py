"""Random Python programs, run by Python and by txc."""
