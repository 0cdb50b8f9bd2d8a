"""The `.tx` language."""
