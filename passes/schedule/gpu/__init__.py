"""The schedules of a GPU function."""
