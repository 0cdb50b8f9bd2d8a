"""Methods of tensors whose arguments are NumPy's, or that are more than one op: the registry has the others."""
