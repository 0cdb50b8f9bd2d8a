"""Elements in another shape or order, joined, cut, put in and left out."""
