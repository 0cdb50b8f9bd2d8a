"""`Tensor`: values, views and their storage."""
