"""Loop programs for discrete Fourier transforms."""
