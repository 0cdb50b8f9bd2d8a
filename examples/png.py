"""Reads and writes 8-bit grey PNG files, with the standard library and NumPy only."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def read_png(path: str | Path) -> np.ndarray:
    """The picture as u8[rows, columns].  Raises ValueError for a file that is not an 8-bit grey, plain PNG."""
    data = Path(path).read_bytes()
    if data[:8] != SIGNATURE:
        raise ValueError(f"{path} is no PNG file")
    at, packed, header = 8, b"", b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        header, packed = (body, packed) if kind == b"IHDR" else (header, packed + body if kind == b"IDAT" else packed)
        at += 12 + length
    columns, rows, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", header)
    if (depth, colour, interlace) != (8, 0, 0):
        raise ValueError(f"{path} is not an 8-bit grey picture without interlacing")
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(rows, columns + 1)
    picture = np.zeros((rows + 1, columns + 1), np.int64)  # a border of zeros above and to the left
    for r, (kind, *line) in enumerate(lines.tolist(), 1):
        above, current = picture[r - 1].tolist(), [0]
        for c, value in enumerate(line, 1):
            left, up, corner = current[c - 1], above[c], above[c - 1]
            near = min((left, up, corner), key=lambda p: abs(left + up - corner - p))  # Paeth's predictor
            current.append((value + (0, left, up, (left + up) // 2, near)[kind]) % 256)
        picture[r] = current
    return picture[1:, 1:].astype(np.uint8)


def write_png(path: str | Path, picture: np.ndarray) -> None:
    """Write u8[rows, columns], or any numbers from 0 to 255 (rounded and clipped)."""
    grey = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    rows, columns = grey.shape
    lines = np.concatenate([np.zeros((rows, 1), np.uint8), grey], axis=1).tobytes()

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    Path(path).write_bytes(SIGNATURE + body)
