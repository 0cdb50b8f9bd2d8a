"""GPUs and arrays in their memory."""
