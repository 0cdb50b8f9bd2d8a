"""The loop dialect as text: what is printed reads back the same, and the verifier says what is wrong."""

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

X = '!loop.buffer<"f32[n, m] by [$s, 1]">'
FLAGS = '!loop.buffer<"bool[] by []">'

LOOPS = f"""
func.func @f(%x: {X}, %c: {FLAGS}) attributes {{tx.symbols = #tx.dims<"n, m, $s">, tx.arena = #tx.dim<"4*m + 64">}} {{
  %t = loop.alloc f32[m] by [1] in arena at min(64, 4*n)
  "loop.parallel"() ({{
    "loop.for"() ({{
      %a = loop.load %x[i, j] where (j - 1 >= 0)
      loop.prefetch %x[i + 4, j] cache 2
      loop.store %a, %t[j // 2]
      loop.yield
    }}) {{iv = "j", lower = #tx.dim<"0">, upper = #tx.dim<"m">, step = #tx.dim<"1">, vector = 8 : i64,
         unroll = 2 : i64}} : () -> ()
    loop.barrier
    loop.yield
  }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"4">, kind = "cpu_thread",
       grain = #tx.dim<"16">}} : () -> ()
  "loop.while"() ({{
    %l = loop.load %c[]
    loop.yield %l : i1
  }}, {{
    %l = loop.load %c[]
    "loop.if"(%l) ({{
      loop.yield
    }}, {{
      loop.yield
    }}) : (i1) -> ()
    loop.yield
  }}) : () -> ()
  %zero = arith.constant 0 : i64
  %sum = "loop.for"(%zero) ({{
  ^bb0(%v: i64):
    %k = loop.index (k*k)
    loop.bind %k as ..t0
    %w = arith.addi %v, %k : i64
    loop.yield %w : i64
  }}) {{iv = "k", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"2">, vector = 1 : i64,
       unroll = 1 : i64}} : (i64) -> i64
  func.return
}}
"""

REDUCE = f"""
func.func @f(%x: {X}) {{
  %s = "loop.reduce"() ({{
    %a = loop.load %x[0, k]
    loop.yield %a, %a : f32, f32
  }}, {{
  ^bb0(%p: f32, %q: f32):
    %r = arith.addf %p, %q : f32
    loop.yield %r : f32
  }}) {{iv = "k", lower = #tx.dim<"0">, upper = #tx.dim<"m">, step = #tx.dim<"1">, vector = 8 : i64,
       order = #tx.order<"tree<1024, 64, fma>">, identity = [-0.0 : f32]}} : () -> f32
  func.return
}}
"""

RUNS = '!loop.buffer<"i32[n] by [1]">'
MERGE = f"""
func.func @f(%x: {RUNS}, %y: {RUNS}) {{
  "loop.merge"(%x, %y) ({{
    %a = loop.index (8*i)
    loop.yield %a, %a, %a, %a, %a : i64, i64, i64, i64, i64
  }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"1">, length = #tx.dim<"8">,
       vector = 4 : i64, unroll = 2 : i64}} : ({RUNS}, {RUNS}) -> ()
  func.return
}}
"""


PARTITION = f"""
func.func @f(%x: {RUNS}, %y: {RUNS}, %p: i32) {{
  %n = "loop.partition"(%y) ({{
    %a = loop.load %x[i]
    %l = arith.cmpi slt, %a, %p : i32
    loop.yield %a, %l : i32, i1
  }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"1">, low = #tx.dim<"0">,
       high = #tx.dim<"n">, vector = 4 : i64}} : ({RUNS}) -> i64
  func.return
}}
"""


SHUFFLE = f"""
func.func @f(%x: {RUNS}) {{
  "loop.for"() ({{
    %a = loop.load %x[i]
    %b = loop.shuffle %a, %a over i lanes [3, 2, 5, 0]
    loop.store %b, %x[i]
    loop.yield
  }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"1">, vector = 4 : i64,
       unroll = 1 : i64}} : () -> ()
  func.return
}}
"""


@pytest.mark.parametrize("text", [LOOPS, REDUCE, MERGE, PARTITION, SHUFFLE])
def test_printed_text_reads_back_the_same(parse, text: str) -> None:
    printed = str(parse(text))
    assert str(parse(printed)) == printed
    assert "loop." in printed


def replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (replaced(SHUFFLE, "3, 2, 5, 0", "3, 2, 8, 0"), "'lanes' are numbers of lanes of two vectors of 4, not"),
        (replaced(SHUFFLE, "3, 2, 5, 0", "1, 0"), "a loop over i with vectors of 2 is around a shuffle"),
        (replaced(SHUFFLE, "over i", "over j"), "a loop over j with vectors of 4 is around"),
        (replaced(LOOPS, 'upper = #tx.dim<"m">', 'upper = #tx.dim<"j + 1">'), "mentions the loop's own iterator j"),
        (replaced(LOOPS, 'step = #tx.dim<"4">', 'step = #tx.dim<"-4">'), "'step' must be positive, not -4"),
        (replaced(LOOPS, 'kind = "cpu_thread"', 'kind = "cpu"'), "'kind' is one of cpu_thread, gpu_block, gpu_warp"),
        (replaced(LOOPS, "in arena", "in heap"), "'scope' is one of arena, thread, shared, not 'heap'"),
        (replaced(LOOPS, "%x[i, j]", "%x[i]"), "1 indices for a buffer of rank 2"),
        (replaced(LOOPS, "[i + 4, j]", "[i]"), "1 indices for a buffer of rank 2"),
        (replaced(LOOPS, "cache 2", "cache 3"), "'cache' is 1 or 2, not 3"),
        (LOOPS.replace("f32[m] by [1]", "f64[m] by [1]"), "f32 does not fit a buffer of f64"),
        (replaced(LOOPS, "vector = 1 : i64", "vector = 4 : i64"), "a loop with lanes carries no values"),
        (replaced(LOOPS, "vector = 1 : i64", "vector = 1 : i64, outline"), "an outlined loop carries no values"),
        (replaced(LOOPS, 'step = #tx.dim<"1">, vector = 8', 'step = #tx.dim<"3">, vector = 8'), "lanes has step 1"),
        (replaced(LOOPS, "vector = 8 : i64", "vector = 0 : i64"), "at least 1"),
        (replaced(LOOPS, "loop.yield %w : i64", "loop.yield"), r"region 0 of loop.for must yield \(i64\), not \(\)"),
        (replaced(LOOPS, "loop.yield %l : i1", "loop.yield"), r"region 0 of loop.while must yield \(i1\)"),
        (replaced(REDUCE, "identity = [-0.0 : f32]", "identity = []"), "one identity an accumulator"),
        (replaced(REDUCE, "loop.yield %a, %a : f32, f32", "loop.yield %a : f32"), r"must yield \(f32, f32\)"),
        (replaced(REDUCE, "^bb0(%p: f32, %q: f32)", "^bb0(%p: f32, %q: f32, %z: f32)"), "the older accumulators, then"),
        (MERGE.replace("i32[n]", "f32[n]"), "source and target are buffers of one type of signed integers, of rank 1"),
        (MERGE.replace("i32[n] by [1]", "i32[n, 2] by [2, 1]"), "of one type of signed integers, of rank 1"),
        (replaced(MERGE, "vector = 4", "vector = 3"), "'vector' is a power of two"),
        (replaced(PARTITION, "vector = 4", "vector = 3"), "'vector' is a power of two"),
        (replaced(PARTITION, 'step = #tx.dim<"1">', 'step = #tx.dim<"2">'), "a partition has step 1"),
        (PARTITION.replace("i32[n] by [1]", "i32[n, 2] by [2, 1]").replace("%x[i]", "%x[i, 0]"), "rank 1, of numbers"),
        (replaced(PARTITION, "loop.yield %a, %l : i32, i1", "loop.yield %a : i32"), r"must yield \(i32, i1\)"),
        (replaced(MERGE, 'length = #tx.dim<"8">', 'length = #tx.dim<"6">'), "multiple of 'vector': 6 of 4"),
        (MERGE.replace("%a, %a, %a, %a, %a", "%a").replace("i64, i64, i64, i64, i64", "i64"), "must yield"),
    ],
)  # fmt: skip
def test_the_verifier_says_what_is_wrong(parse, text: str, error: str) -> None:
    with pytest.raises(VerifyException, match=error):
        parse(text)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("f32[n, m] by [$s, 1]", "f32[n, m]", "is not a buffer type"),
        ("f32[n, m] by [$s, 1]", "f99[n, m] by [$s, 1]", "f99"),
        ("min(64, 4*n)", "pow(64, n)", "not an integer expression"),
    ],
)
def test_the_parser_says_what_is_wrong(parse, old: str, new: str, error: str) -> None:
    with pytest.raises(ParseError, match=error):
        parse(LOOPS.replace(old, new))
