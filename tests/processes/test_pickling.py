"""Objects go to other processes and copies: whatever a user has of txc pickles, or says which value does not."""

from __future__ import annotations

import copy
import importlib.util
import io
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc

HERE = Path(__file__).parent
X = np.arange(1.0, 5.0)


def again(thing: Any, protocol: int = pickle.DEFAULT_PROTOCOL) -> Any:
    return pickle.loads(pickle.dumps(thing, protocol))


@pytest.mark.parametrize(
    ("methods", "needed"),
    [(("fork", "spawn"), ""), (("loky",), "joblib"), (("distributed",), "distributed")],
    ids=["multiprocessing", "joblib", "dask"],
)
def test_other_processes_use_what_is_pickled(tmp_path: Path, methods: tuple[str, ...], needed: str):
    """25 kinds of objects by each pickler, in workers that use one thread, or as many as the environment says."""
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    if "fork" in methods and not hasattr(os, "fork"):
        methods = ("spawn",)
    kept = tmp_path / "kept"
    kept.mkdir(mode=0o700)
    paths = os.pathsep.join([str(HERE.parent.parent / "src"), str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, "TXC_CACHE_DIR": str(kept)}
    environment.pop("TXC_NUM_THREADS", None)
    command = [sys.executable, str(HERE / "program.py"), *methods]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    picklers = ["pickle", *(["cloudpickle"] if importlib.util.find_spec("cloudpickle") else [])]
    expected = [f"{m}, {p}: 25 right, wrong: [], threads: [1, 3]" for m in methods for p in picklers]
    assert done.stdout.splitlines() == expected


def test_a_copy_by_source_is_one_function_for_who_shares_it():
    """Values, functions that call each other, and protocols without large buffers."""
    scale = np.arange(4.0)

    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    f = txc.jit(lambda x, n: x * scale if even(n) else x)
    for protocol in (2, 5):
        first, second, theirs = again([f, f, scale], protocol)
        assert first is second and first is not f
        cells = dict(zip(first.__wrapped__.__code__.co_freevars, first.__wrapped__.__closure__))
        assert cells["scale"].cell_contents is theirs and theirs is not scale
        np.testing.assert_array_equal(first(X, 2), X * scale)
        np.testing.assert_array_equal(first(X, 3), X)
    assert (first.__name__, first.__qualname__, first.__module__) == (f.__name__, f.__qualname__, f.__module__)


def test_a_copy_keeps_options_attributes_and_the_place_of_its_source():
    @txc.jit(threads=1)
    def f(x, *, to: float = 2.0):
        """Doc."""
        if x.sum() > to:
            np.save("never", x)
        return x

    f.note = "mine"
    made = again(again(f))
    assert (made.compile_options, made.note, made.__doc__) == (f.compile_options, "mine", "Doc.")
    assert str(made.__signature__ if hasattr(made, "__signature__") else made._signature) == str(f._signature)
    with pytest.raises(txc.TxcError) as ours:
        f(X)
    with pytest.raises(txc.TxcError) as theirs:
        made(X)
    (line,) = [k for k in str(ours.value).splitlines() if "-->" in k]
    (copied,) = [k for k in str(theirs.value).splitlines() if "-->" in k]
    assert "<test_pickling.py, pickled " in copied and line.partition(".py:")[2] == copied.partition(">:")[2]
    assert 'np.save("never", x)' in str(theirs.value)


LOCK = threading.Lock()


class Locked:
    def __init__(self):
        self.lock = threading.Lock()


def test_what_cannot_be_pickled_is_named():
    lock, locked, calls = threading.Lock(), Locked(), {"lock": [LOCK]}
    inner = txc.jit(lambda x: x if lock else -x)
    scope: dict[str, Any] = {"txc": txc}
    exec("made = txc.jit(lambda x: x + 1)", scope)
    cases = [
        (txc.jit(lambda x: x if LOCK else -x), "captures 'LOCK', a lock, which cannot be pickled"),
        (txc.jit(lambda x: x if locked else -x), "captures 'locked', a Locked, which cannot be pickled"),
        (txc.jit(lambda x: x if calls else -x), "captures 'calls', a dict, which cannot be pickled"),
        (txc.jit(lambda x: inner(x)), "captures 'lock', a lock, which cannot be pickled"),
        (txc.jit(lambda x, n=LOCK: x if n else -x), "has 'defaults', a tuple, which cannot be pickled"),
        (
            scope["made"],
            "<lambda> cannot be pickled: its source cannot be read; define it in a file or a notebook cell",
        ),
    ]
    for function, text in cases:
        with pytest.raises(pickle.PicklingError) as caught:
            pickle.dumps(function)
        assert text in str(caught.value)


TENSORS = {
    "lazy": lambda: txc.asarray(X) * 2,
    "weak number": lambda: txc.asarray(2.5) + 1,
    "bool": lambda: txc.asarray(X) > 2,
    "f16": lambda: txc.asarray(X).astype("float16"),
    "bf16": lambda: txc.asarray(X).astype("bf16"),
    "complex view": lambda: txc.asarray(X + 1j).imag,
    "column-major": lambda: txc.asarray(X.reshape(2, 2), layout="col"),
    "map": lambda: txc.TensorMap(X.copy(), (2, 2)),
    "f8": lambda: txc.asarray(np.zeros((0, 3), np.float32)),
    "tensure": lambda: txc.tensure.array(X),
}


def test_tensors_are_pickled_and_copied_by_value():
    for name, make in TENSORS.items():
        for way in (again, copy.copy, copy.deepcopy, lambda t: again(t, 2)):
            t = make()
            made = way(t)
            before = np.asarray(t).copy()
            assert isinstance(made, type(t)) or name in ("complex view", "map"), name
            assert (made.dtype, made.shape, made.layout) == (t.dtype, t.shape, t.layout), name
            np.testing.assert_array_equal(np.asarray(made), before)
            if t.size > 1 and name != "tensure":
                made[...] = 0
                np.testing.assert_array_equal(np.asarray(t), before)  # it has memory of its own
                assert not np.asarray(made).any()
    fixed = txc.TensorFixedSize("f32", (2,))
    fixed[...] = 3
    for made in (again(fixed), copy.copy(fixed), copy.deepcopy(fixed)):
        assert type(made) is txc.TensorFixedSize and np.asarray(made).tolist() == [3, 3]
    with pytest.raises(txc.TxcError, match="a traced tensor has no NumPy array yet, which pickle asks for"):
        txc.jit(lambda x: len(pickle.dumps(x)))(X)


def test_functions_and_options_are_copied_as_pythons_are():
    f = txc.jit(lambda x: x + 1)
    assert copy.copy(f) is f and copy.deepcopy([f])[0] is f
    options = f.options(threads=3, fastmath="reassoc").compile_options
    assert again(options) == copy.deepcopy(options) == options
    module = txc.compile_source("def f(x: f32[n]) -> f32[n]:\n    return x + 1\n", threads=2)
    for made in (again(module), copy.deepcopy(module)):
        assert made.f.compile_options.threads == 2 and dir(made) == ["f"]
        np.testing.assert_array_equal(made.f(np.ones(2, np.float32)), [2, 2])


def test_tensors_are_saved_as_numpy_saves_arrays(tmp_path: Path):
    t = txc.asarray(X) + 1
    file = io.BytesIO()
    np.save(file, t)
    assert np.load(io.BytesIO(file.getvalue())).tolist() == (X + 1).tolist()
    np.savez(tmp_path / "several.npz", t, named=t * 2)
    with np.load(tmp_path / "several.npz") as found:
        assert found["arr_0"].tolist() == (X + 1).tolist() and found["named"].tolist() == (2 * X + 2).tolist()
    written = io.StringIO()
    np.savetxt(written, t, fmt="%d")
    assert written.getvalue() == "2\n3\n4\n5\n"
    with pytest.raises(txc.TxcError, match=r"np\.save has no compiled form"):
        txc.jit(lambda x: np.save("never", x))(X)
