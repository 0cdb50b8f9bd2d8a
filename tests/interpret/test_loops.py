"""The loop interpreter on hand-written loops, against NumPy."""

import numpy as np
import pytest

from txc.compiler.interpret.loops import run
from txc.compiler.interpret.scalar_ops import InterpretError

MATRIX = '!loop.buffer<"f32[n, m] by [m, 1]">'
VECTOR = '!loop.buffer<"f32[n] by [1]">'


def parallel(iv: str, upper: str, body: str, lower: str = "0", step: str = "1") -> str:
    return f"""
      "loop.parallel"() ({{ {body}
        loop.yield
      }}) {{iv = "{iv}", lower = #tx.dim<"{lower}">, upper = #tx.dim<"{upper}">, step = #tx.dim<"{step}">,
           kind = "cpu_thread", grain = #tx.dim<"1">}} : () -> ()"""


def loop(iv: str, upper: str, body: str, lower: str = "0", vector: int = 1, step: str = "1") -> str:
    return f"""
      "loop.for"() ({{ {body}
        loop.yield
      }}) {{iv = "{iv}", lower = #tx.dim<"{lower}">, upper = #tx.dim<"{upper}">, step = #tx.dim<"{step}">,
           vector = {vector} : i64, unroll = 1 : i64}} : () -> ()"""


def double(source: str, target: str, at: str, to: str | None = None, kind: str = MATRIX) -> str:
    return f"""
        %once = loop.load {source}[{at}]
        %twice = arith.addf %once, %once : f32
        loop.store %twice, {target}[{to or at}]"""


def func(args: str, body: str, attributes: str = "") -> str:
    given = f" attributes {{{attributes}}}" if attributes else ""
    return f"func.func @f({args}){given} {{ {body}\n func.return }}"


def matrix(n: int = 5, m: int = 7, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, m)).astype(np.float32)


@pytest.mark.parametrize("vector", [1, 8])
def test_parallel_loops_tiles_with_a_remainder_and_lanes(parse, vector: int) -> None:
    inner = loop("i", "min(n, t + 2)", loop("j", "m", double("%x", "%y", "i, j"), vector=vector), lower="t")
    module = parse(func(f"%x: {MATRIX}, %y: {MATRIX}", parallel("t", "n", inner, step="2")))
    x = matrix()
    y = np.zeros_like(x)
    run(module, [x, y], {})
    np.testing.assert_array_equal(y, x + x)


def test_lanes_whose_number_differs_between_points_are_masked(parse) -> None:
    """A triangle: row i has i + 1 lanes."""
    body = parallel("i", "n", loop("j", "i + 1", double("%x", "%y", "i, j"), vector=8))
    x = matrix(5, 5)
    y = np.zeros_like(x)
    run(parse(func(f"%x: {MATRIX}, %y: {MATRIX}", body)), [x, y], {})
    np.testing.assert_array_equal(y, np.tril(x + x))


def test_carried_values_and_sequential_loops_of_different_lengths(parse) -> None:
    body = parallel("i", "n", """
        %zero = arith.constant 0.0 : f32
        %s = "loop.for"(%zero) ({
        ^bb0(%c: f32):
          %a = loop.load %x[i, j]
          %d = arith.addf %c, %a : f32
          loop.yield %d : f32
        }) {iv = "j", lower = #tx.dim<"i">, upper = #tx.dim<"m">, step = #tx.dim<"2">, vector = 1 : i64,
             unroll = 1 : i64} : (f32) -> f32
        loop.store %s, %y[i]""")  # fmt: skip
    x = matrix(5, 7)
    y = np.zeros(5, np.float32)
    run(parse(func(f"%x: {MATRIX}, %y: {VECTOR}", body)), [x, y], {})
    expected = [np.add.accumulate(x[i, i::2])[-1] for i in range(5)]
    np.testing.assert_array_equal(y, np.asarray(expected, np.float32))


REDUCE = """
        %s = "loop.reduce"() ({
          %a = loop.load %x[i, k]
          %b = loop.load %x[0, k]
          loop.yield %a, %b : f32, f32
        }, {
        ^bb0(%p: f32, %q: f32):
          %r = arith.addf %p, %q : f32
          loop.yield %r : f32
        }) {iv = "k", lower = #tx.dim<"LOWER">, upper = #tx.dim<"m">, step = #tx.dim<"1">, vector = 1 : i64,
             order = #tx.order<"chain<4, fma>">, identity = [0.0 : f32]} : () -> f32
        loop.store %s, %y[i]"""


def chain(a: np.ndarray, b: np.ndarray) -> np.float32:
    """chain<4, fma> in scalar Python; float64 holds a product of two float32 exactly."""
    total = None
    for start in range(0, len(a), 4):
        block = np.float32(0)
        for p, q in zip(a[start : start + 4], b[start : start + 4]):
            block = np.float32(np.longdouble(p) * np.longdouble(q) + np.longdouble(block))
        total = block if total is None else np.float32(total + block)
    return np.float32(0) if total is None else total


@pytest.mark.parametrize("lower", ["0", "min(m, 3*i)"])
def test_reductions_fold_in_order_also_where_their_lengths_differ(parse, lower: str) -> None:
    x = matrix(6, 11)
    y = np.zeros(6, np.float32)
    run(parse(func(f"%x: {MATRIX}, %y: {VECTOR}", parallel("i", "n", REDUCE.replace("LOWER", lower)))), [x, y], {})
    starts = [0 if lower == "0" else min(11, 3 * i) for i in range(6)]
    expected = [chain(x[i, s:], x[0, s:]) for i, s in enumerate(starts)]
    np.testing.assert_array_equal(y, np.asarray(expected, np.float32))


def test_thread_memory_is_private_to_an_iteration(parse) -> None:
    row = '!loop.buffer<"f32[m] by [1]">'
    body = f"""
      %t = loop.alloc {row} in thread at 64
      """ + parallel("i", "n", loop("j", "m", """
        %a = loop.load %x[i, j]
        loop.store %a, %t[j]""") + loop("j", "m", """
        %a = loop.load %t[m - 1 - j]
        loop.store %a, %y[i, j]""", vector=4))  # fmt: skip
    attributes = 'tx.thread_arena = #tx.dim<"4*m + 64">'
    x = matrix()
    y = np.zeros_like(x)
    run(parse(func(f"%x: {MATRIX}, %y: {MATRIX}", body, attributes)), [x, y], {})
    np.testing.assert_array_equal(y, x[:, ::-1])


def test_thread_memory_starts_poisoned(parse) -> None:
    body = f"""
      %t = loop.alloc {VECTOR} in thread at 0
      """ + parallel("i", "n", double("%t", "%y", "i", kind=VECTOR))
    y = np.zeros(3, np.float32)
    run(parse(func(f"%y: {VECTOR}", body)), [y], {})
    assert np.isnan(y).all()


def test_guards_conditions_and_while(parse) -> None:
    body = parallel(
        "i",
        "n",
        f"""
        %a = loop.load %x[i - 1] where (i - 1 >= 0)
        %zero = arith.constant 0.0 : f32
        %positive = arith.cmpf ogt, %a, %zero : f32
        "loop.if"(%positive) ({{
          loop.store %a, %y[i]
          loop.yield
        }}, {{
          %one = arith.constant -1.0 : f32
          loop.store %one, %y[i] where (n - 2 - i >= 0)
          loop.yield
        }}) : (i1) -> ()
        "loop.while"() ({{
          %v = loop.load %y[i]
          %limit = arith.constant 10.0 : f32
          %low = arith.cmpf olt, %v, %limit : f32
          %above = arith.cmpf ogt, %v, %zero : f32
          %both = arith.andi %low, %above : i1
          loop.yield %both : i1
        }}, {{ {double("%y", "%y", "i", kind=VECTOR)}
          loop.yield
        }}) : () -> ()""",
    )
    x = np.array([3, -2, 7, -1, 0], np.float32)
    y = np.zeros(5, np.float32)
    run(parse(func(f"%x: {VECTOR}, %y: {VECTOR}", body)), [x, y], {})
    np.testing.assert_array_equal(y, [-1, 12, -1, 14, 0])


def test_data_dependent_stores(parse) -> None:
    index = '!loop.buffer<"i64[n] by [1]">'
    body = loop("i", "n", """
        %a = loop.load %at[i]
        loop.bind %a as ..t0
        %v = loop.load %x[i]
        loop.store %v, %y[..t0]""", vector=8)  # fmt: skip
    at = np.array([2, 0, 1])
    x, y = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    module = parse(func(f"%at: {index}, %x: {VECTOR}, %y: {VECTOR}", body))
    run(module, [at, x, y], {})
    np.testing.assert_array_equal(y, [1, 2, 0])
    with pytest.raises(InterpretError, match=r"loop.store \{index = \"..t0\"\}: index 3 is out of bounds for dim 0"):
        run(module, [at + 1, x, y], {})


def test_a_load_out_of_bounds_names_the_op(parse) -> None:
    module = parse(func(f"%x: {VECTOR}", parallel("i", "n", double("%x", "%x", "i + 1", "i", VECTOR))))
    with pytest.raises(InterpretError, match=r'loop.load \{index = "i \+ 1"\}: index 4 is out of bounds .* size 4'):
        run(module, [np.zeros(4, np.float32)], {})


def test_a_symbol_without_a_value_is_named(parse) -> None:
    module = parse(func(f"%x: {VECTOR}", parallel("i", "n", double("%x", "%x", "i + $k", "i", VECTOR))))
    with pytest.raises(InterpretError, match=r"\$k has no value"):
        run(module, [np.zeros(4, np.float32)], {})


def test_many_iterations_are_computed_in_pieces(parse) -> None:
    x = np.arange(10_000, dtype=np.float32)
    run(parse(func(f"%x: {VECTOR}", parallel("i", "n", double("%x", "%x", "i", kind=VECTOR)))), [x], {})
    np.testing.assert_array_equal(x, 2 * np.arange(10_000))


RUN = '!loop.buffer<"i32[n] by [1]">'
COUNTS = '!loop.buffer<"i64[2] by [1]">'
MERGE = f"""
        "loop.merge"(%x, %y) ({{
          %first = loop.index (12*i + 3*j)
          %first_end = loop.index (12*i + 4)
          %second = loop.index (12*i + 6 + j)
          %second_end = loop.index (12*i + 10)
          %place = loop.index (8*i + 4*j)
          loop.yield %first, %first_end, %second, %second_end, %place : i64, i64, i64, i64, i64
        }}) {{iv = "j", lower = #tx.dim<"0">, upper = #tx.dim<"2">, step = #tx.dim<"1">, length = #tx.dim<"4">,
             vector = 2 : i64, unroll = 2 : i64}} : ({RUN}, {RUN}) -> ()"""
BIG = np.iinfo(np.int32).max
#: Two pairs of runs of four elements, each with two of the largest value behind it.
RUNS = [[1, 3, 5, 9, BIG, BIG, 4, 6, 7, 8, BIG, BIG], [0, 0, 0, BIG, BIG, BIG, 0, 0, BIG, BIG, BIG, BIG]]


def test_pieces_of_merges_find_the_least_elements_that_are_left(parse) -> None:
    """The second piece of each pair begins at the fourth element of its first run and the second of the other."""
    module = parse(func(f"%x: {RUN}, %y: {RUN}", parallel("i", "2", MERGE)))
    x = np.array(RUNS, np.int32).reshape(-1)
    y = np.zeros(24, np.int32)
    run(module, [x, y], {})
    assert y[:16].reshape(4, 4).tolist() == [[1, 3, 4, 5], [6, 7, 8, 9], [0, 0, 0, 0], [0, BIG, BIG, BIG]]


def test_a_run_without_the_largest_value_behind_it_is_an_error(parse) -> None:
    module = parse(func(f"%x: {RUN}, %y: {RUN}", parallel("i", "2", MERGE)))
    x = np.array(RUNS, np.int32).reshape(-1)
    x[5] = 7
    with pytest.raises(InterpretError, match="a run is followed by less than 2 elements of the largest value"):
        run(module, [x, np.zeros(24, np.int32)], {})


PARTITION = f"""
        %n = "loop.partition"(%y) ({{
          %a = loop.load %x[i]
          %zero = arith.constant 0 : i32
          %l = arith.cmpi slt, %a, %zero : i32
          loop.yield %a, %l : i32, i1
        }}) {{iv = "i", lower = #tx.dim<"5*j">, upper = #tx.dim<"5*j + 5">, step = #tx.dim<"1">, low = #tx.dim<"5*j">,
             high = #tx.dim<"5*j + 5">, vector = 2 : i64}} : ({RUN}) -> i64
        loop.store %n, %counts[j]"""


def test_partitions_keep_the_order_of_the_first_and_of_pairs_of_the_others(parse) -> None:
    kind = f"%x: {RUN}, %y: {RUN}, %counts: {COUNTS}"
    module = parse(func(kind, parallel("j", "2", PARTITION)))
    x = np.array([1, -2, 3, 4, -5, -1, -2, -3, 4, 5], np.int32)
    y, counts = np.zeros(10, np.int32), np.zeros(2, np.int64)
    run(module, [x, y, counts], {})
    assert counts.tolist() == [2, 3]
    assert y.tolist() == [-2, -5, 3, 4, 1, -1, -2, -3, 5, 4]


SHUFFLE = """
        "loop.for"() ({
          %a = loop.load %x[i]
          %b = loop.shuffle %a, %a over i lanes [1, 2]
          loop.store %b, %y[i]
          loop.yield
        }) {iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"1">, vector = 2 : i64,
             unroll = 1 : i64} : () -> ()"""


def test_shuffles_take_lanes_of_their_group(parse) -> None:
    module = parse(func(f"%x: {RUN}, %y: {RUN}", SHUFFLE))
    y = np.zeros(6, np.int32)
    run(module, [np.arange(6, dtype=np.int32), y], {})
    assert y.tolist() == [1, 0, 3, 2, 5, 4]
    with pytest.raises(InterpretError, match="5 iterations of i are no whole vectors of 2"):
        run(module, [np.arange(5, dtype=np.int32), np.zeros(5, np.int32)], {})
