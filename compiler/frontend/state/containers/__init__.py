"""Lists and dicts of which compiled code decides what they hold."""
