"""Maps: powers, logarithms, and the functions of angles."""
