"""A folder of checksummed files that survives crashes and is shared by processes: what the persistent cache stands on.

The folder must be the user's own, mode 0700 (an empty one is made so) and no symbolic link, since what lies in it is
executed.  A file is written under a temporary name and renamed, so that whoever looks sees all of it or nothing; there
are no locks.  It is not synced to the disk: what a power failure tears fails its checksum, and is a miss.
"""

from __future__ import annotations

import contextlib
import itertools
import marshal
import os
import stat
import struct
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

try:  # as CPython's `random` does: `hashlib` would load OpenSSL, which takes longer than all of a hit
    if sys.version_info >= (3, 12):
        from _sha2 import sha256  # pyright: ignore[reportMissingImports]
    else:
        from _sha256 import sha256  # pyright: ignore[reportMissingImports]
except ImportError:
    from hashlib import sha256

__all__ = [
    "DEFAULT_SIZE_MB", "FOLDER_VARIABLE", "SIZE_VARIABLE", "CacheWarning", "Entry", "Found", "Store", "StoreError",
    "default_folder", "open_store", "sha256", "size_limit",
]  # fmt: skip

FOLDER_VARIABLE, SIZE_VARIABLE = "TXC_CACHE_DIR", "TXC_CACHE_SIZE_MB"
DEFAULT_SIZE_MB = 512
_MAGIC, _VERSION = b"txcache\n", 2
_HEAD = struct.Struct("<8sIIQ")  # magic, version, bytes of metadata and payload; then the checksum of all the rest
#: Metadata are plain data as Python's own bytecode files hold them, in a form that every Python from 3.4 on reads.  It
#: is read only after the checksum held, as it is not proof against damage; `json` costs a process more than a hit does.
_MARSHAL_VERSION = 4
_CHECKSUM_BYTES = 32
_SUFFIX, _TEMPORARY = ".txc", ".tmp-"
_FOLDERS_HAVE_OWNERS = os.open in os.supports_dir_fd and hasattr(os, "geteuid")
#: A temporary file older than this has no writer any more.
_ABANDONED_SECONDS = 3600.0
_counter = itertools.count()
_warned: set[str] = set()


class CacheWarning(RuntimeWarning):
    """The persistent cache cannot be used, or not be written; programs are compiled as if there were none."""


class StoreError(OSError):
    """Why a folder is not used.  The text says what is wrong with it and what to do."""


class Entry(NamedTuple):
    """A file of the store, for listings."""

    name: str
    size: int
    used: float


class Found(NamedTuple):
    """What a look-up came to: the content, or why there is none."""

    metadata: dict[str, Any] | None
    payload: bytes
    why: str


def default_folder() -> str:
    """``TXC_CACHE_DIR``; unset: ``txc`` in the user's cache folder; empty or ``0``: none, as ``""``."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given is not None:
        return "" if given.strip() in ("", "0") else os.path.abspath(os.path.expanduser(given))
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "txc") if os.path.isabs(base) else ""


def size_limit() -> int:
    """``TXC_CACHE_SIZE_MB`` in bytes.  ValueError for a text that is no positive integer."""
    text = os.environ.get(SIZE_VARIABLE, "").strip()
    if not text:
        return DEFAULT_SIZE_MB << 20
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"{SIZE_VARIABLE} must be a positive integer, not {text!r}")
    return int(text) << 20


def open_store() -> Store | None:
    """The store of this process, as the environment says now; None where it is switched off or cannot be used.

    A folder that cannot be used is warned of once (`CacheWarning`).
    """
    folder = default_folder()
    if not folder:
        return None
    store = Store(folder, size_limit())
    try:
        with store.opened(create=True):
            return store
    except OSError as error:
        _warn(f"compiled code is not kept: {error if isinstance(error, StoreError) else f'{folder}: {error.strerror}'}")
        return None


def _warn(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        warnings.warn(text, CacheWarning, stacklevel=2)


def _make_private(folder: int) -> bool:
    """Give an empty folder, as `mkdir` made it, the mode that is needed; whether it is still empty then."""
    if os.listdir(folder):
        return False
    os.fchmod(folder, 0o700)
    return not os.listdir(folder)


class Store:
    """The files of one folder, at most `limit` bytes of them."""

    def __init__(self, folder: str, limit: int = DEFAULT_SIZE_MB << 20):
        self.folder, self.limit = folder, limit

    @contextlib.contextmanager
    def opened(self, create: bool = False) -> Iterator[int]:
        """A descriptor of the folder, once it is proved safe; all access goes through it.  StoreError where it is not.

        So nobody can exchange the folder between the check and the access.
        """
        if not _FOLDERS_HAVE_OWNERS:
            raise StoreError("this platform cannot say whether a folder is safe")
        if create and not os.path.lexists(self.folder):
            os.makedirs(os.path.dirname(self.folder), exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.folder, 0o700)
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except NotADirectoryError:
            raise StoreError(f"{self.folder} is no folder, or a symbolic link: set {FOLDER_VARIABLE}") from None
        try:
            found = os.fstat(folder)
            if found.st_uid != os.geteuid():
                raise StoreError(f"{self.folder} belongs to user {found.st_uid}: set {FOLDER_VARIABLE} to one of yours")
            if found.st_mode & 0o077 and not (create and _make_private(folder)):
                raise StoreError(f"others may enter {self.folder}: chmod 700 {self.folder}")
            yield folder
        finally:
            os.close(folder)

    def read(self, name: str) -> Found:
        """The entry of that name.  Damaged ones are removed; no state of the folder or the file raises."""
        try:
            with self.opened() as folder:
                return self._read(folder, name)
        except OSError as error:
            return Found(None, b"", error.args[0] if isinstance(error, StoreError) else f"{error.strerror}")

    def _read(self, folder: int, name: str) -> Found:
        try:
            file = os.open(name + _SUFFIX, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
        except FileNotFoundError:
            return Found(None, b"", "nothing was stored under this key")
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                return Found(None, b"", f"{name} is not a file that only its user, this one, may write")
            data = os.read(file, found.st_size) if found.st_size < 1 << 20 else _read_all(file, found.st_size)
        finally:
            os.close(file)
        try:
            metadata, payload = _decode(data)
        except ValueError as error:
            self._remove(folder, name + _SUFFIX)
            return Found(None, b"", f"{name} was damaged, and is removed: {error}")
        with contextlib.suppress(OSError):
            os.utime(name + _SUFFIX, dir_fd=folder)  # for the next eviction: it was used now
        return Found(metadata, payload, "")

    def publish(self, name: str, metadata: dict[str, Any], payload: bytes = b"") -> bool:
        """Store an entry, in place of one of the same name; False, with one warning, where that is not possible."""
        data = _encode(metadata, payload)
        if len(data) > self.limit:
            return False
        temporary = f"{_TEMPORARY}{os.getpid()}-{next(_counter)}-{os.urandom(4).hex()}"
        try:
            with self.opened(create=True) as folder:
                try:
                    self._write(folder, temporary, data)
                    os.rename(temporary, name + _SUFFIX, src_dir_fd=folder, dst_dir_fd=folder)
                except BaseException:
                    self._remove(folder, temporary)
                    raise
                self._evict(folder, keep=name + _SUFFIX)
            return True
        except OSError as error:
            reason = error.args[0] if isinstance(error, StoreError) else f"{self.folder}: {error.strerror}"
            _warn(f"compiled code is not kept: {reason}")
            return False

    def _write(self, folder: int, name: str, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(file, rest) :]
        finally:
            os.close(file)

    def _remove(self, folder: int, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=folder)

    def _evict(self, folder: int, keep: str) -> None:
        """Remove what was not used for longest until the rest fits, and what dead writers left."""
        files = self._files(folder)
        self._remove_abandoned(folder, files)
        total = sum(f.size for f in files)
        for file in sorted(files, key=lambda f: f.used):
            if total <= self.limit:
                break
            if file.name != keep and file.name.endswith(_SUFFIX):
                self._remove(folder, file.name)
                total -= file.size

    def _remove_abandoned(self, folder: int, files: list[Entry]) -> None:
        now = time.time()
        for file in files:
            if file.name.startswith(_TEMPORARY) and now - file.used > _ABANDONED_SECONDS:
                self._remove(folder, file.name)

    def _files(self, folder: int) -> list[Entry]:
        found = []
        with os.scandir(folder) as items:
            for item in items:
                with contextlib.suppress(FileNotFoundError):  # another process removed it
                    status = item.stat(follow_symlinks=False)
                    found.append(Entry(item.name, status.st_size, status.st_mtime))
        return found

    def entries(self) -> list[Entry]:
        """What is stored, the most recently used first.  StoreError or OSError where the folder cannot be read."""
        with self.opened() as folder:
            files = [f for f in self._files(folder) if f.name.endswith(_SUFFIX)]
        return [f._replace(name=f.name.removesuffix(_SUFFIX)) for f in sorted(files, key=lambda f: -f.used)]

    def clear(self) -> int:
        """Remove all entries, and what dead writers left; how many entries there were."""
        with self.opened() as folder:
            files = self._files(folder)
            self._remove_abandoned(folder, files)
            entries = [f for f in files if f.name.endswith(_SUFFIX)]
            for file in entries:
                self._remove(folder, file.name)
        return len(entries)


def _read_all(file: int, size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(file, min(size, 1 << 24))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _encode(metadata: dict[str, Any], payload: bytes) -> bytes:
    text = marshal.dumps(metadata, _MARSHAL_VERSION)
    head = _HEAD.pack(_MAGIC, _VERSION, len(text), len(payload))
    return head + sha256(head + text + payload).digest() + text + payload


def _decode(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Metadata and payload.  ValueError, saying what is wrong, for anything but what `_encode` made."""
    start = _HEAD.size + _CHECKSUM_BYTES
    if len(data) < start:
        raise ValueError("it is too short")
    magic, version, text_size, payload_size = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise ValueError(f"it does not begin as a file of version {_VERSION} does")
    if len(data) != start + text_size + payload_size:
        raise ValueError(f"it has {len(data)} bytes instead of {start + text_size + payload_size}")
    if sha256(data[: _HEAD.size] + data[start:]).digest() != data[_HEAD.size : start]:
        raise ValueError("its checksum is wrong")
    metadata = marshal.loads(data[start : start + text_size])
    if not isinstance(metadata, dict):
        raise ValueError("its description is no object")
    return metadata, data[start + text_size :]
