"""`txc.map_chunks`: a function on an array that does not fit into memory, chunk by chunk, on one machine."""

from __future__ import annotations

import mmap
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..call.foreign_arrays import foreign

__all__ = ["map_chunks"]


def map_chunks(
    function: Callable[[Any], Any], array: np.ndarray, chunks: int | Sequence[int], axis: int = 0,
    out: np.ndarray | None = None, progress: bool | None = None,
) -> np.ndarray:  # fmt: skip
    """The results of a function for the chunks of an array along `axis`, one behind the other along it.

    `function`, jitted or not, is given one chunk after another, a view of `array`, and gives an array with that axis.
    `chunks` is the length of each chunk but the last, or all of their lengths.  With `out`, an array of the result's
    shape and dtype, results are written there; without, they are kept until the last one.  `array` and `out` may be
    `np.memmap`: of these no more than a chunk stays in memory.  With `progress` True a line on stderr says how far it
    is; None: where that is a terminal.

    TypeError for what is no array, and for results that are none; ValueError for chunks that do not make up the axis,
    and for results that do not fit.
    """
    if not isinstance(array, np.ndarray) or foreign(array):
        raise TypeError(f"map_chunks takes an array or np.memmap, not {type(array).__name__}: pass np.asarray(x)")
    if not callable(function):
        raise TypeError(f"map_chunks calls a function, not {function!r}")
    if out is not None and not isinstance(out, np.ndarray):
        raise TypeError(f"out= of map_chunks is an array or np.memmap, not {type(out).__name__}")
    axis = _axis(axis, array)
    lengths = _lengths(chunks, array.shape[axis])
    name = getattr(function, "__name__", type(function).__name__)
    parts: list[np.ndarray] = []
    done = 0
    for chunk in _reported(_chunks(array, lengths, axis), len(lengths), name, progress):
        part = _result(function(chunk), name, axis)
        if out is None:
            parts.append(part)
        else:
            _write(out, part, done, axis, name)
            _forget(out)
        done += part.shape[axis]
        _forget(array)
    if out is None:
        return np.concatenate(parts, axis)
    if done != out.shape[axis]:
        raise ValueError(f"{name} gives {done} elements along axis {axis}, and out has {out.shape[axis]}")
    return out


def _axis(axis: Any, array: np.ndarray) -> int:
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"axis of map_chunks is an int, not {axis!r}")
    number = axis.__index__()
    if not -array.ndim <= number < array.ndim:
        raise ValueError(f"axis {number} of map_chunks is out of range for an array of rank {array.ndim}")
    return number % array.ndim


def _lengths(chunks: Any, size: int) -> list[int]:
    """How long each chunk is; one of length 0 where the axis is."""
    if isinstance(chunks, (int, np.integer)) and _is_size(chunks) and chunks:
        length = int(chunks)
        return [min(length, size - start) for start in range(0, size, length)] or [0]
    if not isinstance(chunks, (tuple, list)) or not chunks or not all(map(_is_size, chunks)):
        raise ValueError(f"chunks of map_chunks is a length of at least 1, or a list of lengths, not {chunks!r}")
    if sum(chunks) != size:
        raise ValueError(f"chunks of map_chunks are {sum(chunks)} long together, and the axis is {size}")
    return [int(n) for n in chunks]


def _is_size(n: Any) -> bool:
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool) and bool(n >= 0)


def _chunks(array: np.ndarray, lengths: Sequence[int], axis: int) -> Iterator[np.ndarray]:
    start = 0
    for length in lengths:
        yield array[(slice(None),) * axis + (slice(start, start + length),)]
        start += length


def _result(result: Any, name: str, axis: int) -> np.ndarray:
    """What a function gave for a chunk.  TypeError where it is no array that has the axis."""
    if isinstance(result, (tuple, list, dict)) or result is None or foreign(result):
        raise TypeError(f"{name} gives a {type(result).__name__}, and map_chunks takes functions that give an array")
    made = np.asarray(result)
    if made.ndim <= axis:
        raise TypeError(
            f"{name} gives an array of rank {made.ndim}, which has no axis {axis} along which results of chunks follow "
            "each other: keep the axis, as with keepdims=True"
        )
    return made


def _write(out: np.ndarray, part: np.ndarray, start: int, axis: int, name: str) -> None:
    """Put the result of a chunk where it belongs.  ValueError where it does not fit there."""
    rest = [n for a, n in enumerate(out.shape) if a != axis]
    if part.ndim != out.ndim or [n for a, n in enumerate(part.shape) if a != axis] != rest:
        raise ValueError(f"{name} gives {part.shape} for a chunk, which does not fit out of shape {out.shape}")
    if part.dtype != out.dtype:
        raise ValueError(f"{name} gives {part.dtype}, and out has {out.dtype}")
    if start + part.shape[axis] > out.shape[axis]:
        raise ValueError(f"{name} gives more than the {out.shape[axis]} elements that out has along axis {axis}")
    out[(slice(None),) * axis + (slice(start, start + part.shape[axis]),)] = part


def _forget(array: np.ndarray) -> None:
    """Let the system have the memory of the parts of a file that were read or written; the file has them."""
    found: Any = array
    mapped: np.memmap | None = None
    while isinstance(found, np.ndarray):
        mapped = found if isinstance(found, np.memmap) else mapped
        found = found.base
    # Of a copy on write ("c"), what was written is nowhere else.
    if mapped is not None and mapped.mode != "c" and isinstance(found, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        found.madvise(mmap.MADV_DONTNEED)


def _reported(
    chunks: Iterator[np.ndarray], count: int, name: str, progress: bool | None
) -> Iterator[np.ndarray]:  # fmt: skip
    """The chunks, with a line on stderr that says how many are done and how long the rest will take."""
    if not (sys.stderr.isatty() if progress is None else progress):
        yield from chunks
        return
    start = time.monotonic()
    try:
        for done, chunk in enumerate(chunks):
            left = ""
            if done:
                seconds = (time.monotonic() - start) / done * (count - done)
                left = f", about {seconds:.0f} s left"
            sys.stderr.write(f"\r{name}: {done} of {count} chunks{left} ")
            sys.stderr.flush()
            yield chunk
        sys.stderr.write(f"\r{name}: {count} of {count} chunks, {time.monotonic() - start:.1f} s    ")
    finally:
        sys.stderr.write("\n")
