"""Items of sequences and dicts at places that only the compiled function knows."""
