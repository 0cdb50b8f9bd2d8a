"""Why an implementation does not take part."""

from __future__ import annotations

__all__ = ["Absent"]


class Absent(Exception):
    """A library that is not installed, or that has no form of a program."""
