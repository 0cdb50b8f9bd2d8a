"""Devices, evaluation in the background, and many threads at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import txc
from txc.compiler.config.device_names import Device
from txc.compiler.config.devices import device_here

X = np.random.default_rng(1).standard_normal((40, 50))


def test_the_device_of_a_block_is_that_of_this_thread(monkeypatch):
    used = []
    from txc.compiler.driver.executable import Executable

    run = Executable.run
    monkeypatch.setattr(
        Executable,
        "run",
        lambda self, prepared, arrays, threads=0, given=None: (
            used.append(threads),
            run(self, prepared, arrays, threads, given),
        )[1],
    )
    expression = txc.asarray(X) * 2
    with txc.device("cpu:3"):
        expression.eval(device="cpu:1")
        with ThreadPoolExecutor(1) as other:
            assert other.submit(device_here).result() == Device("cpu")
        expression.eval(device="cpu:4")
        assert device_here() == Device("cpu", 3)
        np.asarray(expression + 1)
    np.asarray(expression + 2)
    assert used == [1, 4, 3, 0]


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cpu:0", "cpu:x", "tpu", "ptx-sim:1", "", None])
def test_devices_that_there_are_not(name):
    expression = txc.asarray(X) + 1
    wrong = "nothing" if name is None else name
    attempts = [
        lambda: expression.eval(device=wrong),
        lambda: expression.eval_async(device=wrong),
        lambda: expression.on(wrong),
        lambda: txc.jit(lambda x: x, device=wrong),
        lambda: txc.device(wrong).__enter__(),
    ]
    for attempt in attempts:
        with pytest.raises(txc.OptionError) as caught:
            attempt()
        text = str(caught.value)
        assert text == (
            f"there is no device {wrong!r}: txc runs on 'cpu' and, with N threads, on 'cpu:N'; on GPU number N, "
            "'cuda:N'; and on a simulated one, 'ptx-sim'"
        )


def test_eval_is_an_operation_and_with_a_device_a_tensor():
    t = txc.asarray(X)
    temporary = (t + 1).eval()
    assert temporary.memory is None
    result = (temporary * 2).eval(device="cpu:2")
    assert result.memory is not None
    np.testing.assert_array_equal(np.asarray(result), (X + 1) * 2)
    column = (txc.asarray(X, layout="col") + 1).eval(device="cpu")
    assert column.layout == "col" and column.shape == X.shape


def test_a_store_on_a_device():
    c = txc.Tensor("f64", X.shape)
    c.on("cpu:2")[...] = txc.asarray(X) + txc.asarray(X)
    np.testing.assert_array_equal(np.asarray(c), X + X)
    lazy = txc.asarray(X)
    lazy.on("cpu:1")[0] = 5
    assert lazy.memory is not None and (np.asarray(lazy)[0] == 5).all() and X[0, 0] != 5


def test_background():
    started, seen = threading.Event(), []
    expression = txc.asarray(X) + 1

    def done(result):
        started.wait()
        seen.append(np.asarray(result).sum())

    future = expression.eval_async(device="cpu:2", done=done)
    assert not future.done()
    started.set()
    np.testing.assert_array_equal(np.asarray(future.result()), X + 1)
    assert len(seen) == 1
    out = txc.Tensor("f64", X.shape)
    pending = out.on("cpu", done=seen.append)
    pending[...] = expression * 2
    assert pending.future is not None and pending.future.result() is out and seen[1] is out
    np.testing.assert_array_equal(np.asarray(out), (X + 1) * 2)


def test_a_background_store_takes_the_value_of_the_moment():
    gate, source, out = threading.Event(), txc.asarray(np.zeros(3)), txc.Tensor("f64", (3,))
    blocker = (txc.asarray(X) + 1).eval_async(done=lambda _: gate.wait())
    pending = out.on(done=lambda _: None)
    pending[...] = source + 1
    source[...] = 7
    gate.set()
    assert blocker.result() is not None and pending.future is not None
    assert np.asarray(pending.future.result()).tolist() == [1, 1, 1]


def test_exceptions_of_the_background():
    def fails(result):
        raise KeyError("callback")

    future = (txc.asarray(X) + 1).eval_async(done=fails)
    with pytest.raises(KeyError, match="callback"):
        future.result()
    pending = txc.Tensor("f64", (3,)).on(done=fails)
    pending[...] = txc.asarray(np.ones((2, 2)))
    assert pending.future is not None
    with pytest.raises(txc.TxcError, match=r"cannot store|cannot broadcast"):
        pending.future.result()


def test_a_device_inside_a_compiled_function():
    @txc.jit
    def f(x):
        return x.eval(device="cpu")

    with pytest.raises(txc.TxcError, match=r"the function has one device: give it to txc\.jit"):
        f(np.ones(3))


def test_many_threads_evaluate_at_once():
    shared = txc.asarray(X) * 2
    barrier = threading.Barrier(8)

    def work(n):
        barrier.wait()
        mine = ((shared + n).exp() * 0 + shared.sum([1]).reshape([40, 1]) + n)[:, : 10 + n]
        with txc.device(f"cpu:{1 + n % 3}"):
            return np.asarray(mine), np.asarray(shared)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))
    for n, (mine, all_of_it) in enumerate(results):
        np.testing.assert_allclose(mine, np.repeat((X * 2).sum(1)[:, None] + n, 10 + n, 1))
        np.testing.assert_array_equal(all_of_it, X * 2)
