"""Schedules of scans."""
