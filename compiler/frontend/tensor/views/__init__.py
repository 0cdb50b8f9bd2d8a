"""Views: which results share memory with their arguments, by their strides, and what follows from other tensors."""
