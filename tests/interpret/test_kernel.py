"""The kernel interpreter on hand-written nests, against NumPy."""

import numpy as np
import pytest

from txc.compiler.interpret.kernel import run
from txc.compiler.interpret.scalar_ops import InterpretError

SUM = """
func.func @f(%x: tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">> {
  %s = "kernel.generic"(%x) ({
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }, {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    kernel.yield %c : f32
  }, {
  ^bb0(%a: f32):
    kernel.yield %a : f32
  }) {extents = #tx.dims<"n, m">, parallel = 1 : i64, epilogue_inputs = 0 : i64,
      in_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1)">], out_maps = [#tx.map<"(d0: n, d1: m) -> (d0)">],
      operandSegmentSizes = array<i32: 1, 0>, order = #tx.order<"tree<1024, 64>">, identity = [0.0 : f32]}
      : (tensor<?x?xf32, #tx.dims<"n, m">>) -> tensor<?xf32, #tx.dims<"n">>
  func.return %s : tensor<?xf32, #tx.dims<"n">>
}
"""


@pytest.mark.parametrize("shape", [(3, 5), (2, 3000), (0, 4), (4, 0), (1, 1)])
def test_a_reduction_over_the_last_dim(parse, shape) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    (found,) = run(parse(SUM), [x], {})
    np.testing.assert_allclose(found, x.sum(axis=1, dtype=np.float64), rtol=1e-5, atol=1e-5)
    assert found.dtype == np.float32


def test_shapes_that_contradict_the_types_are_refused(parse) -> None:
    x = np.zeros((3, 5), np.float32)
    with pytest.raises(InterpretError, match=r"shape \(3, 5\), not \(4, 5\)"):
        run(parse(SUM), [x], {"n": 4})
    with pytest.raises(InterpretError, match="float64, not f32"):
        run(parse(SUM), [x.astype(np.float64)], {})


def test_views_are_maps_and_guards_read_zero(parse) -> None:
    module = parse("""
    func.func @f(%x: tensor<?x3xi32, #tx.dims<"n, 3">>) -> tensor<5x?xi32, #tx.dims<"5, n">> {
      %s = "kernel.generic"(%x) ({
      ^bb0(%a: i32):
        %i = loop.index (d0*10)
        %t = arith.trunci %i : i64 to i32
        %r = arith.addi %a, %t : i32
        kernel.yield %r : i32
      }, {}, {}) {extents = #tx.dims<"5, n">, parallel = 2 : i64, epilogue_inputs = 0 : i64,
          in_maps = [#tx.map<"(d0: 5, d1: n) -> (n - 1 - d1, d0 - 1) where (d0 - 1, 3 - d0)">],
          out_maps = [#tx.map<"(d0: 5, d1: n) -> (d0, d1)">], operandSegmentSizes = array<i32: 1, 0>}
          : (tensor<?x3xi32, #tx.dims<"n, 3">>) -> tensor<5x?xi32, #tx.dims<"5, n">>
      func.return %s : tensor<5x?xi32, #tx.dims<"5, n">>
    }""")
    x = np.arange(12, dtype=np.int32).reshape(4, 3)
    (found,) = run(module, [x], {})
    expected = np.pad(x, ((0, 0), (1, 1)))[::-1].T + 10 * np.arange(5)[:, None]
    np.testing.assert_array_equal(found, expected)


def test_an_index_out_of_bounds_names_the_op(parse) -> None:
    module = parse(SUM.replace("-> (d0, d1)", "-> (d0, d1 + 1)"))
    with pytest.raises(InterpretError, match=r"kernel.generic.*index 5 is out of bounds for dim 1 of size 5"):
        run(module, [np.zeros((3, 5), np.float32)], {})


def test_data_dependent_reads(parse) -> None:
    module = parse("""
    func.func @f(%x: tensor<?xf64, #tx.dims<"n">>, %at: tensor<?xui8, #tx.dims<"k">>) -> tensor<?xf64, #tx.dims<"k">> {
      %s = "kernel.generic"(%at) ({
      ^bb0(%a: i8):
        %i = arith.extui %a : i8 to i64
        loop.bind %i as ..t0
        %r = kernel.read %x[..t0] where (n - 1 - ..t0 >= 0)
        kernel.yield %r : f64
      }, {}, {}) {extents = #tx.dims<"k">, parallel = 1 : i64, epilogue_inputs = 0 : i64,
          in_maps = [#tx.map<"(d0: k) -> (d0)">], out_maps = [#tx.map<"(d0: k) -> (d0)">],
          operandSegmentSizes = array<i32: 1, 0>} : (tensor<?xui8, #tx.dims<"k">>) -> tensor<?xf64, #tx.dims<"k">>
      func.return %s : tensor<?xf64, #tx.dims<"k">>
    }""")
    x = np.arange(201.0)
    (found,) = run(module, [x, np.array([200, 3, 255], np.uint8)], {})
    np.testing.assert_array_equal(found, [200.0, 3.0, 0.0])


def test_updates_leave_their_operand_alone(parse) -> None:
    module = parse("""
    func.func @f(%x: tensor<6xf32>, %v: tensor<3xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
      %s = "kernel.generic"(%v, %x) ({
      ^bb0(%a: f32):
        kernel.yield %a : f32
      }, {}, {}) {extents = #tx.dims<"3">, parallel = 1 : i64, epilogue_inputs = 0 : i64,
          in_maps = [#tx.map<"(d0: 3) -> (d0)">], out_maps = [#tx.map<"(d0: 3) -> (2*d0)">],
          operandSegmentSizes = array<i32: 1, 1>} : (tensor<3xf32>, tensor<6xf32>) -> tensor<6xf32>
      func.return %s, %x : tensor<6xf32>, tensor<6xf32>
    }""")
    new, old = run(module, [np.zeros(6, np.float32), np.ones(3, np.float32)], {})
    np.testing.assert_array_equal(new, [1, 0, 1, 0, 1, 0])
    assert not old.any()


def test_loops_and_conditions_on_tensors(parse) -> None:
    nest = '{extents = #tx.dims<"">, parallel = 0 : i64, epilogue_inputs = 0 : i64, '
    maps = 'in_maps = [#tx.map<"() -> ()">], out_maps = [#tx.map<"() -> ()">]'
    one = f"{nest}{maps}, operandSegmentSizes = array<i32: 1, 0>}}"
    module = parse(f"""
    func.func @f(%x: tensor<i64>) -> (tensor<i64>, tensor<i64>) {{
      %a = "kernel.for"(%x) ({{
      ^bb0(%c: tensor<i64>):
        %n = "kernel.generic"(%c) ({{
        ^bb0(%v: i64):
          %i = loop.index (i)
          %w = arith.addi %v, %i : i64
          kernel.yield %w : i64
        }}, {{}}, {{}}) {one} : (tensor<i64>) -> tensor<i64>
        kernel.yield %n : tensor<i64>
      }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"k">, step = #tx.dim<"2">}} : (tensor<i64>) -> tensor<i64>
      %b = "kernel.while"(%x) ({{
      ^bb0(%c: tensor<i64>):
        %t = "kernel.generic"(%c) ({{
        ^bb0(%v: i64):
          %hundred = arith.constant 100 : i64
          %w = arith.cmpi slt, %v, %hundred : i64
          kernel.yield %w : i1
        }}, {{}}, {{}}) {one} : (tensor<i64>) -> tensor<i1>
        kernel.yield %t : tensor<i1>
      }}, {{
      ^bb0(%c: tensor<i64>):
        %n = "kernel.generic"(%c) ({{
        ^bb0(%v: i64):
          %w = arith.addi %v, %v : i64
          kernel.yield %w : i64
        }}, {{}}, {{}}) {one} : (tensor<i64>) -> tensor<i64>
        kernel.yield %n : tensor<i64>
      }}) : (tensor<i64>) -> tensor<i64>
      func.return %a, %b : tensor<i64>, tensor<i64>
    }}""")
    a, b = run(module, [np.array(7)], {"k": 9})
    assert (a, b) == (7 + 0 + 2 + 4 + 6 + 8, 112)
