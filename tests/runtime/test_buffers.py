"""Recycled memory of results: used again when nothing refers to it, never before; bounded."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import txc
from txc.runtime.buffers import buffer_pool
from txc.runtime.buffers.buffer_pool import empty, kept_bytes
from txc.runtime.buffers.buffer_pool_ir import CLASSES
from txc.runtime.loader.loader import can_load

pytestmark = pytest.mark.skipif(not can_load(b"\x7fELF"), reason="needs our loader")
F32 = np.dtype(np.float32)
MB = 1 << 20


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch):
    """Each test begins without free blocks."""
    monkeypatch.setenv("TXC_BUFFER_CACHE_MB", "1")
    big = empty((MB,), np.dtype(np.uint8))
    del big  # makes room by freeing everything else
    monkeypatch.setenv("TXC_BUFFER_CACHE_MB", "64")


#: What the kernel knows of the memory of a result: the process is fresh, so no block is used again.
ASKS_FOR_HUGE_PAGES = """
import numpy as np
from txc.runtime.buffers.buffer_pool import empty

place = empty((1 << 22,), np.dtype("f4")).ctypes.data + (1 << 22)
inside = False
for line in open("/proc/self/smaps"):
    first, _, last = line.split()[0].partition("-")
    if last:
        inside = int(first, 16) <= place < int(last, 16)
    elif inside and line.startswith("VmFlags:"):
        print("hg" in line.split())
"""


def kernel_tells() -> bool:
    maps = Path("/proc/self/smaps")
    return Path("/sys/kernel/mm/transparent_hugepage").exists() and maps.exists() and "VmFlags:" in maps.read_text()


@pytest.mark.skipif(not kernel_tells(), reason="this kernel has no huge pages, or does not say where")
@pytest.mark.parametrize(("given", "asked"), [("", "True"), ("1", "True"), ("0", "False"), ("false", "False")])
def test_huge_pages_are_a_wish_that_can_be_left_out(given, asked):
    environment = {**os.environ, "TXC_HUGE_PAGES": given}
    done = subprocess.run(
        [sys.executable, "-c", ASKS_FOR_HUGE_PAGES], env=environment, text=True, capture_output=True, check=True
    )
    assert done.stdout.split() == [asked]


def test_wishes_that_are_neither_yes_nor_no(monkeypatch):
    monkeypatch.setenv("TXC_HUGE_PAGES", "few")
    with pytest.raises(ValueError, match="TXC_HUGE_PAGES must be 0, 1, false or true, not 'few'"):
        empty((MB,), F32)


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_memory_is_used_again_once_nothing_refers_to_it():
    first = empty((3, 1 << 18), F32)
    at = address(first)
    view = first[1:, ::2]
    del first
    second = empty((3, 1 << 18), F32)
    assert address(second) != at  # the view still has it
    view[...] = 7
    second[...] = 1
    assert (view == 7).all()
    del view
    assert address(empty((3, (1 << 18) - 100), F32)) == at


def test_results_of_compiled_functions_are_recycled_and_views_keep_them(monkeypatch):
    @txc.jit
    def f(x, y):
        return x + y

    x = np.arange(1 << 19, dtype=np.float32)
    kept, seen = [], set()
    for i in range(20):
        result = f(x, np.float32(i))
        assert get_handler_name(result) == "txc"
        seen.add(address(result))
        if i % 5 == 0:
            kept.append((i, result[::1000]))
    assert len(seen) < 20
    for i, view in kept:
        np.testing.assert_array_equal(view, x[::1000] + i)


def test_other_arrays_are_not_concerned():
    made = empty((1 << 20,), F32)
    assert get_handler_name(made) == "txc"
    for array in (np.empty(1 << 20), np.zeros(1 << 20), empty((10,), F32)):
        assert get_handler_name(array) == "default_allocator"
    assert address(made) % 64 == 0


@pytest.mark.parametrize("shape", [(), (0,), (0, 1 << 40), (5,), (1 << 20,), (1, 1 << 19, 1)])
def test_shapes(shape):
    made = empty(shape, F32)
    assert made.shape == shape and made.dtype == F32 and made.flags.c_contiguous and made.flags.owndata


def test_too_much_is_a_memory_error():
    with pytest.raises((MemoryError, ValueError)):
        empty((1 << 50,), F32)


def test_resizing_and_zeros_work_on_such_memory():
    handler = buffer_pool._handler()
    assert handler is not None
    before = handler.set(handler.capsule)
    try:
        array = np.ones(1 << 20, np.uint8)
        array.resize(1 << 16, refcheck=False)
        array.resize(1 << 22, refcheck=False)
        zeros = np.zeros(1 << 20)
    finally:
        handler.set(before)
    assert (array[: 1 << 16] == 1).all() and (array[1 << 16 :] == 0).all()
    assert (zeros == 0).all() and get_handler_name(zeros) == "txc"


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_does_not_grow_over_many_calls_of_varying_shapes(monkeypatch):
    monkeypatch.setenv("TXC_BUFFER_CACHE_MB", "2")

    @txc.jit
    def f(x):
        return x + 1

    x = np.zeros((700, 250), np.float32)
    random = np.random.default_rng(1)
    sizes = random.integers(70, 700, 10_000)
    for n in sizes[:500]:
        f(x[:n])
    before = _resident()
    for n in sizes:
        f(x[:n])
        assert kept_bytes() <= 2 * MB
    assert kept_bytes() > 0
    assert _resident() - before < 16 * MB


def test_what_is_kept_is_bounded_and_old_sizes_make_room():
    held = [empty((n * MB,), np.dtype(np.uint8)) for n in range(1, 13)]
    del held
    assert 0 < kept_bytes() <= 64 * MB
    last = empty((40 * MB,), np.dtype(np.uint8))
    at = address(last)
    del last
    assert kept_bytes() <= 64 * MB
    assert address(empty((40 * MB,), np.dtype(np.uint8))) == at
    assert CLASSES == 512
    huge = empty((100 * MB,), np.dtype(np.uint8))
    del huge  # more than is kept at all
    assert kept_bytes() <= 64 * MB


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("TXC_BUFFER_CACHE_MB", "0")
    assert get_handler_name(empty((1 << 20,), F32)) == "default_allocator"
    monkeypatch.setenv("TXC_BUFFER_CACHE_MB", "-1")
    with pytest.raises(ValueError, match="TXC_BUFFER_CACHE_MB must be an integer from 0 on, not '-1'"):
        empty((1 << 20,), F32)


def test_many_threads_never_share_memory():
    wrong = []

    def work(mark: int) -> None:
        random = np.random.default_rng(mark)
        held: list[np.ndarray] = []
        for _ in range(400):
            made = empty((int(random.integers(1 << 18, 1 << 20)),), np.dtype(np.uint8))
            made[:: 1 << 12] = mark
            held.append(made)
            if len(held) > 4:
                old = held.pop(int(random.integers(4)))
                if not (old[:: 1 << 12] == mark).all():
                    wrong.append(mark)

    threads = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_lists_of_its_own():
    array = empty((1 << 20,), F32)
    array[...] = 3
    spare = empty((1 << 20,), F32)
    del spare
    child = os.fork()
    if child == 0:
        right = kept_bytes() == 0 and (array == 3).all()
        del array
        again = empty((1 << 20,), F32)
        again[...] = 5
        os._exit(0 if right and kept_bytes() <= 64 * MB else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (array == 3).all()
