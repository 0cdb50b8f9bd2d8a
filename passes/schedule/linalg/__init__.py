"""Loop programs for factorizations and eigenvalues of stacks of matrices."""
