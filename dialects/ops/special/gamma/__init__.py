"""The gamma function and what is made of it: binomials, the incomplete gamma and beta functions, and their inverses."""
