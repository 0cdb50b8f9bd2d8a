"""Whatever happens to the cache's folder and files: no wrong result, no crash, no hang; one warning where it helps."""

import errno
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from txc.runtime.file_store import CacheWarning, Store, default_folder, open_store

from .conftest import Processes, python

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def f(x):
    return np.exp(x) + 1


EXPECTED = f(X)


def _right(processes: Processes) -> None:
    np.testing.assert_allclose(processes.fresh(f)(X), EXPECTED, rtol=1e-6)


def _files(folder: Path, kind: str = "") -> list[Path]:
    return sorted(folder.glob(f"{kind}*.txc"))


# Files


def test_every_truncation_is_a_miss_and_is_removed(store, folder):
    metadata, payload = {"key": {"a": "b"}}, bytes(range(64))
    assert store.publish("entry", metadata, payload)
    whole = (folder / "entry.txc").read_bytes()
    for length in range(len(whole)):
        (folder / "entry.txc").write_bytes(whole[:length])
        found = store.read("entry")
        assert found.metadata is None and "entry was damaged, and is removed" in found.why
        assert not (folder / "entry.txc").exists()
    (folder / "entry.txc").write_bytes(whole + b"\0")
    assert store.read("entry").metadata is None
    (folder / "entry.txc").write_bytes(whole)
    assert store.read("entry") == (metadata, payload, "")


def test_every_flipped_byte_is_a_miss(store, folder):
    store.publish("entry", {"key": {"a": "b"}}, bytes(range(64)))
    whole = (folder / "entry.txc").read_bytes()
    for at in range(len(whole)):
        for bit in (1, 0x80):
            (folder / "entry.txc").write_bytes(whole[:at] + bytes([whole[at] ^ bit]) + whole[at + 1 :])
            assert store.read("entry").metadata is None


@pytest.mark.parametrize("kind", ["code", "source", "runtime"])
def test_a_damaged_entry_is_compiled_again(processes, folder, kind):
    from txc.runtime.pool.code import code_of
    from txc.runtime.pool.pool import Pool

    def use_pool() -> None:
        code_of.cache_clear()  # as a process does that has not made its code, which is kept too
        Pool().stop()

    use_pool()
    _right(processes)
    (path,) = _files(folder, kind)
    whole = path.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole[:-1] + bytes([whole[-1] ^ 1]), os.urandom(len(whole))):
        path.write_bytes(damaged)
        _right(processes)
        use_pool()
        assert path.read_bytes()[:8] == b"txcache\n"
    assert processes.compiled == {"code": 5, "source": 1, "runtime": 1}[kind]


def test_an_entry_of_another_key_is_not_used(processes, folder, store):
    """As if two keys had one digest."""
    _right(processes)
    (code,) = _files(folder, "code")
    found = store.read(code.stem)
    store.publish(code.stem, {**found.metadata, "key": {**found.metadata["key"], "numpy": "1.0"}}, found.payload)
    _right(processes)
    assert processes.compiled == 2


def test_files_that_others_could_have_written_are_not_used(processes, folder, tmp_path):
    _right(processes)
    (code,) = _files(folder, "code")
    code.chmod(0o666)
    _right(processes)
    assert processes.compiled == 2
    assert stat.S_IMODE(code.stat().st_mode) == 0o600  # replaced
    elsewhere = tmp_path / "elsewhere"
    code.rename(elsewhere)
    code.symlink_to(elsewhere)
    _right(processes)
    assert processes.compiled == 3 and not code.is_symlink()
    code.unlink()
    os.mkfifo(code)  # reading it would wait for ever
    _right(processes)
    assert processes.compiled == 4


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_another_user_is_not_used(processes, folder):
    _right(processes)
    (code,) = _files(folder, "code")
    os.chown(code, 65534, -1)
    _right(processes)
    assert processes.compiled == 2 and code.stat().st_uid == os.geteuid()
    os.chown(folder, 65534, -1)
    with pytest.warns(
        CacheWarning, match="compiled code is not kept: .*cache belongs to user 65534: set TXC_CACHE_DIR"
    ):
        _right(processes)
    assert processes.compiled == 3


# The folder


def test_the_folder_is_made_private(processes, folder):
    before = os.umask(0)
    try:
        _right(processes)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}


def test_an_empty_folder_is_made_private(processes, folder):
    """As `mkdir` makes one; one with content is not touched (below)."""
    folder.mkdir()
    folder.chmod(0o775)
    _right(processes)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and _files(folder, "code")


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o705, 0o710])
def test_a_folder_that_others_may_enter_is_not_used(processes, folder, mode):
    _right(processes)
    folder.chmod(mode)
    with pytest.warns(CacheWarning, match=r"others may enter .*cache: chmod 700 .*cache") as caught:
        _right(processes)
        _right(processes)
    assert len(caught) == 1 and processes.compiled == 3


def test_a_symbolic_link_or_a_file_in_place_of_the_folder_is_not_used(processes, folder, tmp_path, monkeypatch):
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    folder.symlink_to(real)
    with pytest.warns(CacheWarning, match="is no folder, or a symbolic link: set TXC_CACHE_DIR"):
        _right(processes)
    assert not list(real.iterdir())
    (tmp_path / "file").touch()
    for name in ("file", "file/below"):
        monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path / name))
        with pytest.warns(CacheWarning, match="compiled code is not kept"):
            _right(processes)


def test_a_folder_that_vanishes_is_made_again(processes, folder):
    _right(processes)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    _right(processes)
    assert processes.compiled == 2 and _files(folder, "code")


def test_where_the_folder_is(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TXC_CACHE_DIR")
    assert default_folder() == str(tmp_path / "txc")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/someone")
    assert default_folder() == "/home/someone/.cache/txc"
    for off in ("", "0", " "):
        monkeypatch.setenv("TXC_CACHE_DIR", off)
        assert default_folder() == "" and open_store() is None


# Writing


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_one_warning(processes, folder, monkeypatch, number):
    write = os.write

    def half(file: int, data: bytes) -> int:
        if len(data) > 100:
            return write(file, data[:100])
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", half)
    with pytest.warns(CacheWarning, match=f"compiled code is not kept: .*{os.strerror(number)}") as caught:
        _right(processes)
        _right(processes)
    assert len(caught) == 1 and processes.compiled == 2
    assert list(folder.iterdir()) == []  # no temporary files either


FULL = """
import resource, sys, warnings
import numpy as np
import txc
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1))
@txc.jit
def f(x):
    return np.exp(x) + 1
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    f(np.ones(4)), f(np.ones((4, 4)))
print(len(caught), caught[0].message if caught else "")
"""


def test_a_file_size_limit_is_one_warning(tmp_path, folder):
    (tmp_path / "full.py").write_text(FULL)
    done = python(tmp_path / "full.py", folder, "1000")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 compiled code is not kept: ") and "File too large" in done.stdout
    assert not list(folder.glob(".tmp-*"))


def test_a_read_only_folder_is_read_and_one_warning(processes, folder, monkeypatch):
    _right(processes)
    open_ = os.open

    def read_only(path, flags, *args, **kwargs):
        if flags & (os.O_CREAT | os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return open_(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", read_only)
    monkeypatch.setattr(os, "utime", lambda *_, **__: read_only("", os.O_WRONLY))
    _right(processes)
    assert processes.compiled == 1
    with pytest.warns(CacheWarning, match="Read-only file system") as caught:
        processes.fresh(lambda x: x + 1)(X)
        processes.fresh(lambda x: x + 2)(X)
    assert len(caught) == 1


KILLED = """
import itertools, os, signal, sys
import numpy as np
import txc, txc.compiler.pipeline
from txc.runtime.file_store import open_store
x = np.arange(12.0).reshape(3, 4)

def f(x):
    return np.exp(x) + 1

def child(prepare):
    pid = os.fork()
    if pid == 0:
        prepare()
        os._exit(0 if np.allclose(txc.jit(f)(x), np.exp(x) + 1) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def killed_after(left):
    write, rename = os.write, os.rename
    def step():
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    def slow_write(file, data):
        step()
        return write(file, data[:2000])
    def killed_rename(*args, **kwargs):
        step()
        rename(*args, **kwargs)
        step()
    os.write, os.rename = slow_write, killed_rename

for steps in itertools.count():
    for entry in open_store().entries():
        os.unlink(os.path.join(open_store().folder, entry.name + ".txc"))
    killed = child(lambda: killed_after(steps))
    assert child(lambda: None) == 0, steps
    if killed == 0:
        break
    assert killed == -signal.SIGKILL, killed
print(steps)
"""


def test_a_writer_that_is_killed_leaves_nothing_wrong(tmp_path, folder):
    """Killed at each step of its publishing; the next process is right, and a later one removes what was left."""
    (tmp_path / "killed.py").write_text(KILLED)
    done = python(tmp_path / "killed.py", folder)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 9  # the pool's, the code's and the source's entry are each written and renamed
    left = list(folder.glob(".tmp-*"))
    assert len(left) >= 6
    for path in left:
        os.utime(path, (0, 0))
    assert Store(str(folder)).publish("entry", {})
    assert not list(folder.glob(".tmp-*"))


# Many at once


CONCURRENT = """
import sys
import numpy as np
import txc
from txc.compiler.driver import compile_cache as module
from txc.compiler.cache.disk_cache import open_cache
x = np.arange(12.0).reshape(3, 4)

def f(x):  # as little to compile as can be
    return x + 1

compiled = 0
for i in range(100):
    if i % int(sys.argv[1]) == 0:
        open_cache()[0].clear()
    module._code.clear()
    g = txc.jit(f, passes="tx-schedule-cpu{lanes=2 unroll=1}")
    np.testing.assert_array_equal(g(x), x + 1)
    compiled += "miss" in g.explain_cache()
print(compiled)
"""


def test_two_processes_compile_one_function_a_hundred_times_at_once(tmp_path, folder):
    (tmp_path / "twice.py").write_text(CONCURRENT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TXC_CACHE_DIR": str(folder)}
    running = [
        subprocess.Popen(
            [sys.executable, tmp_path / "twice.py", every],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )
        for every in ("2", "3")
    ]  # fmt: skip
    for process in running:
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        assert 30 <= int(out) <= 100 and err == ""
    assert not list(folder.glob(".tmp-*"))


# Size


def test_what_was_not_used_for_longest_goes_first(folder):
    store = Store(str(folder), 40_000)
    for i in range(4):
        assert store.publish(f"entry{i}", {}, bytes(9_000))
        os.utime(folder / f"entry{i}.txc", (i + 1, i + 1))
    assert store.read("entry0").metadata == {}  # used now
    assert store.publish("entry4", {}, bytes(9_000))
    assert [e.name for e in sorted(store.entries())] == ["entry0", "entry2", "entry3", "entry4"]
    assert sum(e.size for e in store.entries()) <= store.limit
    assert not store.publish("huge", {}, bytes(50_000))
    assert len(store.entries()) == 4


def test_reading_marks_an_entry_as_used(store, folder):
    store.publish("entry", {})
    os.utime(folder / "entry.txc", (1, 1))
    before = time.time() - 10
    store.read("entry")
    assert (folder / "entry.txc").stat().st_mtime > before


def test_clear_removes_entries_only(store, folder):
    store.publish("a", {})
    store.publish("b", {})
    (folder / "mine.txt").touch()
    assert store.clear() == 2
    assert [p.name for p in folder.iterdir()] == ["mine.txt"]
