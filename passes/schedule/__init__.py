"""Schedules: nests over buffers become loops, for CPU threads and GPU grids; one family of schedules a folder."""
