"""Views of tensors, which share their data: other shapes, parts, slices, and what is set through them."""
