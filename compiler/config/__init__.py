"""Devices and environment variables."""
