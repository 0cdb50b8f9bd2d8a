"""Bessel functions, and Airy's, which are Bessel functions of thirds."""
