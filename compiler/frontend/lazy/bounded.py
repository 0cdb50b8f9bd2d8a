"""Dicts of what was worked out before that keep the latest of it, whatever number of threads add to them."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["lru_put"]

T = TypeVar("T")


def lru_put(kept: dict[Any, T], key: Any, value: T, most: int) -> None:
    """Put a value into a dict of `most` at most; where it is full the older half goes."""
    kept[key] = value
    if len(kept) > most:
        for oldest in list(kept)[: -max(1, most // 2)]:  # a list at once: other threads may add
            kept.pop(oldest, None)
