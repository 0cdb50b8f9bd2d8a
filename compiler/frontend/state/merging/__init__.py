"""What places hold behind an `if` that compiled code decides: planned first, completed once its results are made."""
