"""Schedules of row groups: nests that share outer iterations."""
