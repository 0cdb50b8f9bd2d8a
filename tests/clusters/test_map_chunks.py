"""`txc.map_chunks`: results of chunks one behind another, and no more of a file in memory than a chunk."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import txc

X = np.arange(60.0).reshape(10, 6)


@txc.jit
def centred(x):
    return x - x.mean(axis=1, keepdims=True)


def test_chunks_of_any_length_along_any_axis():
    expected = X - X.mean(axis=1, keepdims=True)
    for chunks in (1, 4, 10, 100, [3, 0, 7], (10,)):
        assert np.array_equal(txc.map_chunks(centred, X, chunks), expected)
    assert np.array_equal(txc.map_chunks(np.sqrt, X, 4, axis=1), np.sqrt(X))
    assert np.array_equal(txc.map_chunks(np.sqrt, X.T, 4, axis=-1), np.sqrt(X.T))
    assert np.array_equal(txc.map_chunks(np.sqrt, X[:0], 4), np.sqrt(X[:0]))
    assert np.array_equal(txc.map_chunks(lambda x: x[x[:, 0] > 20], X, 3), X[X[:, 0] > 20])


def test_only_one_chunk_is_given_at_a_time_and_out_is_filled():
    given = []

    def double(x):
        given.append(x.shape)
        return (x * 2).sum(axis=1)

    out = np.empty(10)
    assert txc.map_chunks(double, X, 4, out=out) is out
    assert np.array_equal(out, (X * 2).sum(axis=1))
    assert given == [(4, 6), (4, 6), (2, 6)]


def one(x):
    return x


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((one, [1.0, 2.0], 1), {}, "map_chunks takes an array or np.memmap, not list: pass np.asarray"),
        ((one, np.ma.array([1.0]), 1), {}, "map_chunks takes an array or np.memmap, not MaskedArray"),
        ((3, X, 1), {}, "map_chunks calls a function, not 3"),
        ((one, X, 0), {}, "chunks of map_chunks is a length of at least 1, or a list of lengths, not 0"),
        ((one, X, 2.5), {}, "not 2.5"),
        ((one, X, True), {}, "not True"),
        ((one, X, [4, 4]), {}, "chunks of map_chunks are 8 long together, and the axis is 10"),
        ((one, X, [11, -1]), {}, r"or a list of lengths, not \[11, -1\]"),
        ((one, X, 4), {"axis": 2}, "axis 2 of map_chunks is out of range for an array of rank 2"),
        ((one, X, 4), {"axis": None}, "axis of map_chunks is an int, not None"),
        ((one, np.array(1.0), 4), {}, "axis 0 of map_chunks is out of range for an array of rank 0"),
        ((one, X, 4), {"out": [0.0]}, "out= of map_chunks is an array or np.memmap, not list"),
        ((one, X, 4), {"out": np.empty((10, 5))}, r"one gives \(4, 6\) for a chunk, which does not fit out of shape"),
        ((one, X, 4), {"out": np.empty((10, 6), "f4")}, "one gives float64, and out has float32"),
        ((one, X, 4), {"out": np.empty((11, 6))}, "one gives 10 elements along axis 0, and out has 11"),
        ((one, X, 4), {"out": np.empty((7, 6))}, "one gives more than the 7 elements that out has along axis 0"),
        ((np.sum, X, 4), {}, "sum gives an array of rank 0, which has no axis 0 .* keepdims=True"),
        ((lambda x: (x, x), X, 4), {}, "<lambda> gives a tuple, and map_chunks takes functions that give an array"),
        ((lambda x: None, X, 4), {}, "gives a NoneType"),
        ((np.ma.array, X, 4), {}, "gives a MaskedArray"),
    ],
)
def test_what_is_refused(arguments, options, text):
    with pytest.raises((TypeError, ValueError), match=text):
        txc.map_chunks(*arguments, **options)


def test_progress_is_said_on_stderr_where_it_is_asked_for(capsys):
    txc.map_chunks(one, X, 4)
    assert capsys.readouterr().err == ""  # no terminal
    txc.map_chunks(one, X, 4, progress=True)
    said = capsys.readouterr().err
    assert said.startswith("\rone: 0 of 3 chunks \rone: 1 of 3 chunks, about ")
    assert "\rone: 3 of 3 chunks, " in said and said.endswith("\n")
    with pytest.raises(TypeError):
        txc.map_chunks(np.sum, X, 4, progress=True)
    assert capsys.readouterr().err.endswith("\n")


def test_a_file_larger_than_the_memory_that_is_used(tmp_path: Path):
    """A sparse file of 1 GiB, summed by rows into another one by a process whose memory grows by less than a third."""
    program = """
        import sys
        import numpy as np
        import txc

        def used():
            lines = open("/proc/self/status").read().splitlines()
            return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) >> 10

        def sums(x):
            return x.sum(axis=1) + 1

        folder = sys.argv[1]
        with open(folder + "/x", "wb") as file:
            file.truncate(1 << 30)
        x = np.memmap(folder + "/x", np.float64, "r+", shape=(1 << 17, 1 << 10))
        x[70_000, 5] = 2.5
        out = np.memmap(folder + "/y", np.float64, "w+", shape=x.shape[:1])
        before = used()
        assert txc.map_chunks(txc.jit(sums), x[:], 4096, out=out) is out
        assert out[70_000] == 3.5 and out.sum() == (1 << 17) + 2.5
        after = np.memmap(folder + "/y", np.float64, "r")
        assert after[70_000] == 3.5 and x[70_000, 5] == 2.5
        print(used() - before)
    """
    if not Path("/proc/self/status").exists():
        pytest.skip("the system does not say how much memory a process uses")
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    done = subprocess.run([sys.executable, path, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 320  # MiB: a chunk is 32, and compiling takes some


def test_what_was_written_into_a_copy_on_write_stays(tmp_path: Path):
    np.arange(8.0).tofile(tmp_path / "x")
    x = np.memmap(tmp_path / "x", np.float64, "c")
    x[0] = 5
    assert txc.map_chunks(one, x, 2)[0] == 5 == x[0]
