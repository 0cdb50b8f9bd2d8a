"""Schedules of stencils."""
