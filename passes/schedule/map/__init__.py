"""Schedules of elementwise nests."""
