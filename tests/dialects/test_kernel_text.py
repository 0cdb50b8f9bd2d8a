"""The kernel dialect as text: what is printed reads back the same, and the verifier says what is wrong."""

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

T = 'tensor<?x?xf32, #tx.dims<"n, m">>'
ROW = 'tensor<?xf32, #tx.dims<"n">>'
IDENTITY = '#tx.map<"(d0: n, d1: m) -> (d0, d1)">'

MAP = f"""
func.func @f(%x: {T}, %y: {T}) -> {T} {{
  %r = "kernel.generic"(%x) ({{
  ^bb0(%a: f32):
    %i = loop.index (d1 - d0)
    loop.bind %i as ..t0
    %v = kernel.read %y[d0, max(0, ..t0)] where (m - 1 - ..t0 >= 0)
    %b = "kernel.call"(%v) {{fn = "sigmoid"}} : (f32) -> f32
    %c = arith.addf %a, %b : f32
    kernel.yield %c : f32
  }}, {{}}, {{}}) {{extents = #tx.dims<"n, m">, parallel = 2 : i64, epilogue_inputs = 0 : i64, in_maps = [{IDENTITY}],
      out_maps = [{IDENTITY}], operandSegmentSizes = array<i32: 1, 0>}} : ({T}) -> {T}
  func.return %r : {T}
}}
"""

REDUCTION = f"""
func.func @f(%x: {T}, %p: {ROW}) -> {ROW} {{
  %r = "kernel.generic"(%x, %x, %p) ({{
  ^bb0(%a: f32, %b: f32):
    kernel.yield %a, %b : f32, f32
  }}, {{
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    kernel.yield %c : f32
  }}, {{
  ^bb0(%s: f32, %q: f32):
    %c = arith.mulf %s, %q : f32
    kernel.yield %c : f32
  }}) {{extents = #tx.dims<"n, m">, parallel = 1 : i64, epilogue_inputs = 1 : i64,
      in_maps = [{IDENTITY}, {IDENTITY}, #tx.map<"(d0: n, d1: m) -> (d0)">],
      out_maps = [#tx.map<"(d0: n, d1: m) -> (d0)">], operandSegmentSizes = array<i32: 3, 0>,
      order = #tx.order<"chain<512, fma>">, identity = [-0.0 : f32]}} : ({T}, {T}, {ROW}) -> {ROW}
  func.return %r : {ROW}
}}
"""

Z = 'tensor<?xcomplex<f32>, #tx.dims<"n">>'

FFT = """fn = "fft", in_place, parameters = {axis = 0 : i64, sign = "minus", has_fma = true},
      operandSegmentSizes = array<i32: 1, 0>"""
CUSTOM = f"""
func.func @f(%x: {Z}) -> {Z} {{
  %y = "kernel.generic"(%x) ({{
  ^bb0(%z: complex<f32>):
    %re = complex.re %z : complex<f32>
    %im = complex.im %z : complex<f32>
    %w = complex.create %im, %re : complex<f32>
    kernel.yield %w : complex<f32>
  }}, {{}}, {{}}) {{extents = #tx.dims<"n">, parallel = 1 : i64, epilogue_inputs = 0 : i64,
      in_maps = [#tx.map<"(d0: n) -> (d0)">], out_maps = [#tx.map<"(d0: n) -> (d0)">],
      operandSegmentSizes = array<i32: 1, 0>}} : ({Z}) -> {Z}
  %r = "kernel.custom"(%y) {{{FFT}}} : ({Z}) -> {Z}
  func.return %r : {Z}
}}
"""

CONTROL = f"""
func.func @f(%c: tensor<i1>, %x: {T}) -> ({T}, {T}, {T}) {{
  %a = "kernel.for"(%x) ({{
  ^bb0(%v: {T}):
    kernel.yield %v : {T}
  }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"2">}} : ({T}) -> {T}
  %b = "kernel.while"(%x) ({{
  ^bb0(%v: {T}):
    kernel.yield %c : tensor<i1>
  }}, {{
  ^bb0(%v: {T}):
    kernel.yield %v : {T}
  }}) : ({T}) -> {T}
  %d = "kernel.if"(%c) ({{
    kernel.yield %a : {T}
  }}, {{
    kernel.yield %b : {T}
  }}) : (tensor<i1>) -> {T}
  func.return %a, %b, %d : {T}, {T}, {T}
}}
"""

BUFFER = '!loop.buffer<"bool[n] by [$s]">'
BUFFERS = f"""
func.func @f(%x: {BUFFER}) {{
  %t = loop.alloc {BUFFER} in thread at 64*n
  "kernel.row_group"() ({{
    "kernel.generic"(%x, %t) ({{
    ^bb0(%a: i1):
      kernel.yield %a : i1
    }}, {{}}, {{}}) {{extents = #tx.dims<"n">, parallel = 1 : i64, epilogue_inputs = 0 : i64,
        in_maps = [#tx.map<"(d0: n) -> (n - 1 - d0) where (d0 - 1)">], out_maps = [#tx.map<"(d0: n) -> (d0)">],
        operandSegmentSizes = array<i32: 1, 1>}} : ({BUFFER}, {BUFFER}) -> ()
    kernel.yield
  }}) {{shared = 1 : i64}} : () -> ()
  func.return
}}
"""


@pytest.mark.parametrize("text", [MAP, REDUCTION, CONTROL, CUSTOM, BUFFERS])
def test_printed_text_reads_back_the_same(parse, text: str) -> None:
    printed = str(parse(text))
    assert str(parse(printed)) == printed
    assert "kernel." in printed


def replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (replaced(MAP, "parallel = 2", "parallel = 1"), "one reduced iterator where it has an order"),
        (replaced(MAP, "in_maps = [", f"in_maps = [{IDENTITY}, "), "2 index maps for 1 inputs"),
        (replaced(MAP, '(d0: n, d1: m) -> (d0, d1)">],\n', '(d0: n, d1: n) -> (d0, d1)">],\n'), "not over the nest's"),
        (replaced(MAP, f"in_maps = [{IDENTITY}]", 'in_maps = [#tx.map<"(d0: n, d1: m) -> (d0)">]'), "does not fit"),
        (replaced(MAP, "[d0, max(0, ..t0)]", "[d0]"), "1 indices for rank 2"),
        (replaced(MAP, 'fn = "sigmoid"', 'fn = "sigmoidal"'), "no map op 'sigmoidal' of 1 operands"),
        (replaced(MAP, "^bb0(%a: f32):", "^bb0(%a: f32, %e: f32):"), r"body region takes \(f32\), not \(f32, f32\)"),
        (
            replaced(REDUCTION, "kernel.yield %a, %b : f32, f32", "kernel.yield %a : f32"),
            "two factors with an order of products",
        ),
        (
            replaced(REDUCTION, '-> (d0)">],\n      out_maps', '-> (d1)">],\n      out_maps'),
            "indexed by parallel iterators only",
        ),
        (replaced(CONTROL, f"kernel.yield %a : {T}", "kernel.yield %c : tensor<i1>"), "then region yields"),
        (replaced(CONTROL, '"kernel.if"(%c)', '"kernel.if"(%x)').replace("(tensor<i1>)", f"({T})"), "condition is one"),
        (replaced(BUFFERS, "shared = 1", "shared = 2"), "every nest of a row group must start with"),
        (
            replaced(CUSTOM, f"(%y) {{{FFT}}} : ({Z})", f"(%y, %y) {{{FFT.replace('1, 0', '2, 0')}}} : ({Z}, {Z})"),
            "in place has one operand and one result",
        ),
    ],
)
def test_the_verifier_says_what_is_wrong(parse, text: str, error: str) -> None:
    with pytest.raises(VerifyException, match=error):
        parse(text)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ('"(d0: n, d1: m) -> (d0, d1)"', '"(d0: n, d2: m) -> (d0, d2)"', "iterator 1 of an index map is called d1"),
        ('"(d0: n, d1: m) -> (d0, d1)"', '"d0, d1"', "is not an index map"),
        ("(d1 - d0)", "(d1 - )", "not an integer expression"),
    ],
)
def test_the_parser_says_what_is_wrong(parse, old: str, new: str, error: str) -> None:
    with pytest.raises(ParseError, match=error):
        parse(replaced(MAP, old, new))


def test_orders_are_checked_when_read(parse) -> None:
    wrong = [
        ("chain<500, fma>", "powers of two"),
        ("ring<4>", "is not an order"),
        ("tree<16, 4, dot>", "is not an order"),
    ]
    for order, error in wrong:
        with pytest.raises(ParseError, match=error):
            parse(replaced(REDUCTION, "chain<512, fma>", order))
