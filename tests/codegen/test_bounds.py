"""Checked code: what is outside of its buffer is an error that names it, and nothing outside is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import txc
from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import compile_llvm, host_target, load_object, make_target
from txc.compiler.config.options import OptionError
from txc.dialects.attributes import dims_attr
from txc.dialects.loop import StoreOp
from txc.passes.schedule.cpu.schedule import ScheduleCpuPass
from txc.runtime.native_function import NativeFunction

from .harness import function, load, loop, parallel, parse, store

#: Bytes of temporaries, and elements around arrays that must stay as they are.
ARENA, AROUND = 1024, 64


@lru_cache(maxsize=16)
def checked(text: str, cpu: str) -> Any:
    """The machine code of ``@f``, for calls of all sizes and numbers of threads."""
    module = parse(text.replace("attributes {", 'attributes {tx.arena = #tx.dim<"512">, ', 1))
    target = make_target(cpu=cpu) if cpu else host_target()
    return load_object(compile_llvm(emit_llvm(module, target, checked=True), target), ["f"])


def call(text: str, arrays: Sequence[np.ndarray], symbols: Sequence[int], threads: int = 1, cpu: str = "") -> str:
    """Run checked code on arrays with others' memory around them; what is outside, or an empty text."""
    loaded = checked(text, cpu)
    f = NativeFunction(loaded.addresses["f"], len(arrays), len(symbols), loaded, 0, True)
    wide = [np.concatenate([np.full(AROUND, 77, a.dtype), a.ravel(), np.full(AROUND, 77, a.dtype)]) for a in arrays]
    try:
        f([w.ctypes.data + AROUND * w.itemsize for w in wide], symbols, ARENA, 0, threads)
        return ""
    except RuntimeError as error:
        return str(error)
    finally:
        for w, a in zip(wide, arrays):
            assert (w[:AROUND] == 77).all() and (w[-AROUND:] == 77).all()
            a[...] = w[AROUND:-AROUND].reshape(a.shape)


def copy(read: str, write: str, upper: str = "n", vector: int = 1, unroll: int = 1, guards: str = "") -> str:
    info = "f32[n] by [1]"
    body = load("v", "x", info, read, guards) + store("v", "y", info, write, guards)
    text = function([info, info], parallel("t", "0", "4", loop("i", "0", upper, body, vector, unroll)))
    return text.replace("%0:", "%x:").replace("%1:", "%y:")


WIDTHS = [(1, 1), (8, 1), (8, 4), (16, 2)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("cpu", ["", "x86-64-v3", "x86-64"])
@pytest.mark.parametrize(("vector", "unroll"), WIDTHS)
def test_a_copy(vector: int, unroll: int, cpu: str, threads: int) -> None:
    for n in (1, 7, 16, 50, 64, 131):

        def run(text: str, n: int = n) -> str:
            x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
            said = call(text, [x, y], [n], threads, cpu)
            assert said or np.array_equal(x, y)
            return said

        assert run(copy("i", "i", vector=vector, unroll=unroll)) == ""
        above = run(copy("i", "i + 1", vector=vector, unroll=unroll))
        assert above.endswith(f"loop.store of %y, f32[n] by [1], dim 0: index {n} is out of bounds for a size of {n}")
        below = run(copy("i - 1", "i", vector=vector, unroll=unroll))
        assert below.endswith(f"loop.load of %x, f32[n] by [1], dim 0: index -1 is out of bounds for a size of {n}")


@pytest.mark.parametrize(("vector", "unroll"), WIDTHS)
def test_what_guards_leave_out_is_not_touched(vector: int, unroll: int) -> None:
    x, y = np.arange(50, dtype=np.float32), np.zeros(50, np.float32)
    inside = copy("i - 3", "i - 3", "n + 9", vector, unroll, "i - 3, n + 2 - i")
    assert call(inside, [x, y], [50]) == "" and np.array_equal(x, y)
    assert "index 50" in call(copy("i - 3", "i - 3", "n + 9", vector, unroll, "i - 3, n + 3 - i"), [x, y], [50])


@pytest.mark.parametrize("vector", [1, 8])
def test_places_that_are_data(vector: int) -> None:
    text = (
        load("at", 0, "i64[n] by [1]", "i") + '"loop.bind"(%at) {symbol = "p"} : (i64) -> ()\n'
        + load("v", 1, "f32[m] by [1]", "p") + store("v", 2, "f32[n] by [1]", "i")
    )  # fmt: skip
    text = function(["i64[n] by [1]", "f32[m] by [1]", "f32[n] by [1]"], loop("i", "0", "n", text, vector), "n, m")
    x, y = np.arange(30, dtype=np.float32), np.zeros(20, np.float32)
    at = np.arange(20) + 10
    assert call(text, [at, x, y], [20, 30]) == "" and np.array_equal(x[at], y)
    at[17] = 30
    assert "index 30 is out of bounds for a size of 30" in call(text, [at, x, y], [20, 30])
    at[17], at[3] = 29, -5
    assert "index -5 is out of bounds" in call(text, [at, x, y], [20, 30])


def test_prefetches_may_ask_for_anything() -> None:
    info = "f32[n] by [1]"
    ahead = "loop.prefetch %0[i + 100]\n"
    body = ahead + load("v", 0, info, "i") + store("v", 1, info, "i")
    x, y = np.arange(40, dtype=np.float32), np.zeros(40, np.float32)
    assert call(function([info, info], loop("i", "0", "n", body, 8)), [x, y], [40]) == "" and np.array_equal(x, y)


def temporaries(last: str, size: str) -> str:
    """Two temporaries side by side, of which the first is filled up to `last`."""
    first, second, out = "f32[16] by [1]", f"f32[{size}] by [1]", "f32[n] by [1]"
    made = "".join(
        f"%{name} = loop.alloc {info} in arena at {at}\n" for name, at, info in (("a", 0, first), ("b", 64, second))
    )
    fill = load("v", 0, out, "0") + store("v", "a", first, "i")
    read = load("w", "b", second, "i") + store("w", 1, out, "i")
    return function([out, out], made + loop("i", "0", last, fill, 8) + loop("i", "0", "n", read, 8))


def test_neighbours_in_an_arena_are_others() -> None:
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    assert call(temporaries("16", "n"), [x, y], [8]) == ""
    said = call(temporaries("17", "n"), [x, y], [8])
    assert "loop.store of a temporary, f32[16] by [1], dim 0: index 16 is out of bounds for a size of 16" in said


def test_temporaries_lie_inside_of_their_arena() -> None:
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    assert call(temporaries("16", "112"), [x, y], [8]) == ""
    said = call(temporaries("16", "14*n + 1"), [x, y], [8])
    assert "the last byte of a temporary, f32[14*n + 1] by [1], in its arena: index 515 is out of bounds" in said


@pytest.mark.parametrize(("second", "outside"), [(16, ""), (24, "loop.merge of a result, i32[n] by [1], ")])
def test_merges_read_whole_vectors(second: int, outside: str) -> None:
    """The largest value stands behind both runs, where vectors may go."""
    info = "i32[n] by [1]"
    places = "".join(
        f"%{name} = loop.index ({at})\n"
        for name, at in (("a", 0), ("b", 8), ("c", second), ("d", second + 8), ("e", 0))
    )
    text = f"""
"loop.merge"(%0, %1) ({{ {places}
loop.yield %a, %b, %c, %d, %e : i64, i64, i64, i64, i64 }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"1">,
step = #tx.dim<"1">, length = #tx.dim<"16">, vector = 8 : i64, unroll = 1 : i64}}
: (!loop.buffer<"{info}">, !loop.buffer<"{info}">) -> ()"""
    largest = np.iinfo(np.int32).max
    runs = np.full(32, largest, np.int32)
    runs[:8], runs[second : second + 8] = np.arange(8) * 2, np.arange(8) * 2 + 1
    found = np.zeros(32, np.int32)
    said = call(function([info, info], text), [runs, found], [32])
    assert outside in said and (said or np.array_equal(found[:16], np.arange(16)))


def moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler whose stores to results are one element too far."""

    right = ScheduleCpuPass.apply

    def wrong(self: ScheduleCpuPass, ctx: Any, op: ModuleOp) -> None:
        right(self, ctx, op)
        for each in op.walk():
            if isinstance(each, StoreOp):
                each.attributes["index"] = dims_attr(tuple(i + 1 for i in each.index.data))

    monkeypatch.setattr(ScheduleCpuPass, "apply", wrong)


@pytest.mark.parametrize("n", [12, 100_000])
def test_calls_say_which_line_it_was(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    moved(monkeypatch)

    @txc.jit(check_bounds=True)
    def f(x):
        return np.exp(x) + 1

    x = np.ones(n, np.float32)
    for _ in range(3):  # by Python, and by its entry
        with pytest.raises(RuntimeError, match=rf"test_bounds.py:\d+:.*loop.store of .*index {n} is out of bounds for"):
            f(x)


@pytest.mark.parametrize("order", ["C", "F"])
def test_right_code_is_checked_in_silence(order: Any) -> None:
    x = np.random.default_rng(1).standard_normal((300, 70)).astype(np.float32, order)
    functions: list[Callable[..., Any]] = [
        lambda x: np.sort(x, axis=None), lambda x: x @ x.T, lambda x: np.fft.fft(x, axis=0), lambda x: x.T.max(1),
        lambda x: np.cumsum(x[:, ::-2], 1), lambda x: np.argsort(x, axis=0), lambda x: x.sum(),
    ]  # fmt: skip
    for f in functions:
        want, got = txc.jit(f)(x), txc.jit(f, check_bounds=True)(x)
        assert np.asarray(want).tobytes() == np.asarray(got).tobytes()


def test_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="check_bounds must be True or False, not 1"):
        txc.jit(check_bounds=1)
    with pytest.raises(OptionError, match="check_bounds=True of 'ptx-sim': code for the CPU has these checks"):
        txc.jit(check_bounds=True, device="ptx-sim")
    x = np.ones(3, np.float32)
    assert "txc.outside" not in txc.jit(lambda x: x + 1).lower(x).as_text("llvm")
    monkeypatch.setenv("TXC_CHECK_BOUNDS", "1")
    assert "txc.outside" in txc.jit(lambda x: x + 1).lower(x).as_text("llvm")
