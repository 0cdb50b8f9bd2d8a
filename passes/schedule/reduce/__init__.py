"""Schedules of reductions."""
