"""Kernels on memory: strides, arenas that really overlap, private memory of rows, structured control."""

import numpy as np
import pytest

from txc.compiler.interpret.kernel import run
from txc.compiler.interpret.scalar_ops import InterpretError


def nest(
    ins: str, outs: str, types: str, body: str, maps: tuple[str, str], extents: str, parallel: int, counts: str
) -> str:
    return f"""
      "kernel.generic"({ins}, {outs}) ({{ {body} }}, {{}}, {{}}) {{extents = #tx.dims<"{extents}">,
        parallel = {parallel} : i64, epilogue_inputs = 0 : i64, in_maps = [{maps[0]}], out_maps = [{maps[1]}],
        operandSegmentSizes = array<i32: {counts}>}} : ({types}) -> ()"""


BUFFER = '!loop.buffer<"f32[n, m] by [$s, 1]">'
PACKED = '!loop.buffer<"f32[n, m] by [m, 1]">'
MAP = '#tx.map<"(d0: n, d1: m) -> (d0, d1)">'
DOUBLE = "^bb0(%a: f32):\n %b = arith.addf %a, %a : f32\n kernel.yield %b : f32"


def test_outputs_are_written_in_place_through_strides(parse) -> None:
    body = nest("%x", "%y", f"{BUFFER}, {PACKED}", DOUBLE, (MAP, MAP), "n, m", 2, "1, 1")
    module = parse(f"func.func @f(%x: {BUFFER}, %y: {PACKED}) {{ {body}\n func.return }}")
    base = np.arange(24, dtype=np.float32).reshape(4, 6)
    out = np.zeros((4, 3), np.float32)
    run(module, [base[:, :3], out], {"$s": 6})
    np.testing.assert_array_equal(out, 2 * base[:, :3])
    with pytest.raises(InterpretError, match="argument 0 has a stride of 24 bytes along dim 0, not 12"):
        run(module, [base[:, :3], out], {"$s": 3})


@pytest.mark.parametrize(("offset", "clash"), [("4*n*m", False), ("4", True)])
def test_temporaries_lie_where_their_offsets_say(parse, offset: str, clash: bool) -> None:
    """x -> t, x -> u, t -> y: right where t and u are apart, visibly wrong where they overlap."""
    types = f"{PACKED}, {PACKED}"
    body = "".join(
        nest(a, b, types, DOUBLE, (MAP, MAP), "n, m", 2, "1, 1") for a, b in [("%x", "%t"), ("%t", "%u"), ("%t", "%y")]
    )
    module = parse(f"""func.func @f(%x: {PACKED}, %y: {PACKED}) {{
      %t = loop.alloc {PACKED} in arena at 0
      %u = loop.alloc {PACKED} in arena at {offset}
      {body}
      func.return }}""")
    x = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    out = np.zeros((2, 3), np.float32)
    run(module, [x, out], {})
    assert np.array_equal(out, 4 * x) is not clash


def test_a_temporary_outside_the_arena_is_refused(parse) -> None:
    module = parse(f"""func.func @f(%x: {PACKED}) attributes {{tx.arena = #tx.dim<"64">}} {{
      %t = loop.alloc {PACKED} in arena at 64
      func.return }}""")
    with pytest.raises(InterpretError, match=r"loop.alloc: .*at byte 64 does not fit an arena of 64 bytes"):
        run(module, [np.zeros((2, 2), np.float32)], {})


def test_each_row_has_private_memory(parse) -> None:
    row = '!loop.buffer<"f32[m] by [1]">'
    into = nest("%x", "%t", f"{PACKED}, {row}", DOUBLE, (MAP, MAP.replace('(d0, d1)"', '(d1)"')), "n, m", 2, "1, 1")
    back = '#tx.map<"(d0: n, d1: m) -> (m - 1 - d1)">'
    out_of = nest("%t", "%y", f"{row}, {PACKED}", DOUBLE, (back, MAP), "n, m", 2, "1, 1")
    module = parse(f"""func.func @f(%x: {PACKED}, %y: {PACKED}) {{
      %t = loop.alloc {row} in thread at 0
      "kernel.row_group"() ({{ {into} {out_of}
        kernel.yield
      }}) {{shared = 1 : i64}} : () -> ()
      func.return }}""")
    x = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    out = np.zeros((5, 4), np.float32)
    run(module, [x, out], {})
    np.testing.assert_array_equal(out, 4 * x[:, ::-1])


def test_conditions_are_loaded_and_loops_see_their_iterator(parse) -> None:
    flag, vector = '!loop.buffer<"bool[] by []">', '!loop.buffer<"f32[n] by [1]">'
    shifted = nest(
        "%x", "%x", f"{vector}, {vector}", DOUBLE,
        ('#tx.map<"(d0: 1) -> (i)">', '#tx.map<"(d0: 1) -> (i + 1)">'), "1", 1, "1, 1",
    )  # fmt: skip
    module = parse(f"""func.func @f(%c: {flag}, %x: {vector}) {{
      %t = loop.load %c[]
      "kernel.if"(%t) ({{
        "kernel.for"() ({{ {shifted}
          kernel.yield
        }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n - 1">, step = #tx.dim<"1">}} : () -> ()
        kernel.yield
      }}, {{
        kernel.yield
      }}) : (i1) -> ()
      func.return }}""")
    x = np.ones(5, np.float32)
    run(module, [np.array(False), x], {})
    np.testing.assert_array_equal(x, 1)
    run(module, [np.array(True), x], {})
    np.testing.assert_array_equal(x, [1, 2, 4, 8, 16])
