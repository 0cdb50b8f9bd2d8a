"""Integer expressions over sizes, and index maps."""
