"""The worked examples with a printed result of the two Eigen documents, as data: one text for all front ends.

`printed` is what the document prints, alignment aside.  Where a document shows both layouts there is an example for
each; all others must print the same in both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["AWAITED", "EXAMPLES", "MISSING", "Example"]

ROW, COL, BOTH = ("row",), ("col",), ("row", "col")


class Example(NamedTuple):
    """`inputs`: declared type and values (nested lists); `body`: lines of a function of them; `result`: its type.

    `helpers` are functions that the body names, with types as `.tx` has them.
    """

    section: str
    inputs: dict[str, tuple[str, Any]]
    body: str
    result: str
    printed: str
    layouts: tuple[str, ...] = BOTH
    helpers: str = ""


A = ("i32[2, 3]", [[0, 100, 200], [300, 400, 500]])
F = ("f32[2, 3]", A[1])
TALL = ("i32[4, 3]", [[0, 100, 200], [300, 400, 500], [600, 700, 800], [900, 1000, 1100]])
WIDE = (
    "i32[4, 6]",
    [[100 * i + 10 * j for j in range(6)] for i in range(4)],
)
CUBE = (
    "f32[2, 3, 4]",
    [
        [[0, 1, 2, 3], [7, 6, 5, 4], [8, 9, 10, 11]],
        [[12, 13, 14, 15], [19, 18, 17, 16], [20, 21, 22, 23]],
    ],
)
ONES = ("f32[2, 3]", [[1, 1, 1], [1, 1, 1]])
PATCHED = ("f32[3, 4]", [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
HALVES = ("f32[2, 3]", [[0, -0.5, -1], [0.5, 1.5, 2.0]])
COUNTED = ("i32[2, 3]", [[1, 2, 3], [4, 5, 6]])

EXAMPLES: dict[str, Example] = {
    # Contents initialization and access
    "set_constant": Example(
        "setConstant", {"a": ("f32[3, 4]", [[0] * 4] * 3)}, "a[...] = 12.3\nreturn a", "f32[3, 4]",
        "12.3 12.3 12.3 12.3\n12.3 12.3 12.3 12.3\n12.3 12.3 12.3 12.3",
    ),
    "set_zero": Example(
        "setZero", {"a": ("f32[3, 4]", [[5] * 4] * 3)}, "a[...] = 0\nreturn a", "f32[3, 4]",
        "0 0 0 0\n0 0 0 0\n0 0 0 0",
    ),
    "set_values_short": Example(
        "setValues", {"a": ("i32[2, 3]", [[1000] * 3] * 2), "row": ("i32[3]", [10, 20, 30])},
        "a.chip(0, 0)[...] = row\nreturn a", "i32[2, 3]", "10 20 30\n1000 1000 1000",
    ),
    "data": Example("data", {"a": ("f32[3, 4]", [[0] * 4] * 3)}, "a[0, 0] = 123.45\nreturn a[0, 0]", "f32", "123.45"),
    "map_row": Example(
        "TensorMap", {"a": ("f32[3, 4]", [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])}, "return a[1, 2]", "f32", "6",
        ROW,
    ),
    "map_col": Example(
        "TensorMap", {"a": ("f32[3, 4]", [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]])}, "return a[1, 2]", "f32", "7",
        COL,
    ),
    # Operations
    "constant": Example(
        "constant", {"a": ONES}, "b = a + 2.0\nc = b * 0.2\nreturn c", "f32[2, 3]", "0.6 0.6 0.6\n0.6 0.6 0.6"
    ),
    "constant_sum": Example("constant", {"a": ONES}, "return a + 2.0", "f32[2, 3]", "3 3 3\n3 3 3"),
    "negate": Example("operator-", {"a": ONES}, "return -a", "f32[2, 3]", "-1 -1 -1\n-1 -1 -1"),
    "pow": Example(
        "pow", {"a": ("i32[2, 3]", [[0, 1, 8], [27, 64, 125]])}, "return a.cast(f64).pow(1.0 / 3.0)", "f64[2, 3]",
        "0 1 2\n3 4 5",
    ),
    "clip": Example(
        "clip", {"a": ("f32[5]", [-2, -0.5, 0, 0.5, 2])}, "return a.clip(-1.0, 1.0)", "f32[5]", "-1 -0.5 0 0.5 1"
    ),
    "isnan": Example("isnan", {"a": ("f32[3]", [1, float("nan"), 3])}, "return a.isnan()", "bool[3]", "0 1 0"),
    "scale": Example("operator*", {"a": COUNTED}, "return a * 2", "i32[2, 3]", "2 4 6\n8 10 12"),
    "unary_expr": Example(
        "unaryExpr", {"a": HALVES}, "return a.unary_expr(my_func)", "f32[2, 3]", "0.5 0 0.5\n1 2 2.5",
        helpers="def my_func(el: f32) -> f32:\n    return abs(el + 0.5)\n",
    ),
    "unary_expr_functor": Example(
        "unaryExpr", {"a": HALVES}, "return a.unary_expr(normalized_clamp)", "f32[2, 3]", "0.5 0.25 0\n0.75 1 1",
        helpers="def normalized_clamp(x: f32) -> f32:\n    if x < -1.0:\n        return 0.0\n    if x > 1.0:\n"
        "        return 1.0\n    return (x + 1.0) / 2.0\n",
    ),
    "cwise_max": Example(
        "cwiseMax", {"a": A, "b": ("i32[2, 3]", [[-1, -2, 300], [-4, 555, -6]])}, "return a.cwise_max(b)", "i32[2, 3]",
        "0 100 300\n300 555 500",
    ),
    "cwise_min": Example(
        "cwiseMin", {"a": ("i32[2, 2]", [[0, 100], [300, -900]]), "b": ("i32[2, 2]", [[-1, -2], [400, 555]])},
        "return a.cwise_min(b)", "i32[2, 2]", "-1 -2\n300 -900",
    ),
    "cwise_max_propagate": Example(
        "cwiseMax<PropagateNaN>", {"a": ("f32[3]", [1, float("nan"), 3]), "b": ("f32[3]", [2, 2, float("nan")])},
        "return a.cwise_max_propagate(b)", "f32[3]", "2 nan nan",
    ),
    "cwise_max_numbers": Example(
        "cwiseMax<PropagateNumbers>", {"a": ("f32[3]", [1, float("nan"), 3]), "b": ("f32[3]", [2, 2, float("nan")])},
        "return a.cwise_max_numbers(b)", "f32[3]", "2 2 3",
    ),
    # Contraction
    "contract": Example(
        "contract", {"a": ("i32[2, 3]", [[1, 2, 3], [6, 5, 4]]), "b": ("i32[3, 2]", [[1, 2], [4, 5], [5, 6]])},
        "return a.contract(b, [(1, 0)])", "i32[2, 2]", "24 30\n46 61",
    ),
    "contract_transposed": Example(
        "contract", {"a": ("i32[2, 3]", [[1, 2, 3], [6, 5, 4]]), "b": ("i32[3, 2]", [[1, 2], [4, 5], [5, 6]])},
        "return a.contract(b, [(0, 1)])", "i32[3, 3]", "13 34 41\n12 33 40\n11 32 39",
    ),
    "contract_all": Example(
        "contract", {"a": ("i32[2, 3]", [[1, 2, 3], [6, 5, 4]])}, "return a.contract(a, [(0, 0), (1, 1)])", "i32", "91"
    ),
    # Reductions
    "maximum": Example(
        "reduction along one dimension", {"a": ("i32[2, 3]", [[1, 2, 3], [6, 5, 4]])}, "return a.maximum([1])",
        "i32[2]", "3\n6",
    ),
    "maximum_of_two": Example(
        "reduction along two dimensions", {"a": CUBE}, "return a.maximum([0, 1])", "f32[4]", "20\n21\n22\n23"
    ),
    "sum_of_all": Example("reduction along all dimensions", {"a": CUBE}, "return a.sum()", "f32", "276"),
    "argmax": Example(
        "argmax", {"a": ("f32[2, 3]", [[1, 4, 8], [3, 4, 2]])}, "return a.argmax(0)", "i64[3]", "1 0 0"
    ),
    "argmax_flat_col": Example(
        "argmax", {"a": ("f32[2, 3]", [[1, 4, 8], [3, 4, 2]])}, "return a.argmax()", "i64", "4", COL
    ),
    "argmax_flat_row": Example(
        "argmax", {"a": ("f32[2, 3]", [[1, 4, 8], [3, 4, 2]])}, "return a.argmax()", "i64", "2", ROW
    ),
    "trace": Example(
        "trace", {"a": ("i32[2, 2, 3]", [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]])},
        "return a.trace(dims=[0, 1])", "i64[3]", "11\n13\n15",
    ),
    "trace_of_all": Example(
        "trace",
        {"a": ("i32[3, 3, 3]", [[[9 * i + 3 * j + k + 1 for k in range(3)] for j in range(3)] for i in range(3)])},
        "return a.trace(dims=[0, 1, 2])", "i64", "42",
    ),
    # Geometry
    "reshape_row": Example("reshape", {"a": F}, "return a.reshape([6])", "f32[6]", "0\n100\n200\n300\n400\n500", ROW),
    "reshape_col": Example("reshape", {"a": F}, "return a.reshape([6])", "f32[6]", "0\n300\n100\n400\n200\n500", COL),
    "reshape_assigned_row": Example(
        "reshape as lvalue", {"a": F, "b": ("f32[6]", [0] * 6)}, "b.reshape([2, 3])[...] = a\nreturn b", "f32[6]",
        "0\n100\n200\n300\n400\n500", ROW,
    ),
    "reshape_assigned_col": Example(
        "reshape as lvalue", {"a": F, "b": ("f32[6]", [0] * 6)}, "b.reshape([2, 3])[...] = a\nreturn b", "f32[6]",
        "0\n300\n100\n400\n200\n500", COL,
    ),
    "stride": Example("stride", {"a": TALL}, "return a.stride([3, 2])", "i32[2, 2]", "0 200\n900 1100"),
    "slice": Example("slice", {"a": TALL}, "return a.slice([1, 0], [2, 2])", "i32[2, 2]", "300 400\n600 700"),
    "strided_slice": Example(
        "stridedSlice", {"a": WIDE}, "return a.strided_slice([1, 1], [4, 6], [2, 2])", "i32[2, 3]",
        "110 130 150\n310 330 350",
    ),
    "strided_slice_assigned": Example(
        "stridedSlice as lvalue", {"a": WIDE, "b": ("i32[2, 3]", [[-1] * 3] * 2)},
        "a.strided_slice([1, 1], [4, 6], [2, 2])[...] = b\nreturn a", "i32[4, 6]",
        "0 10 20 30 40 50\n100 -1 120 -1 140 -1\n200 210 220 230 240 250\n300 -1 320 -1 340 -1",
    ),
    "chip_row": Example("chip", {"a": TALL}, "return a.chip(2, 0)", "i32[3]", "600 700 800"),
    "chip_column": Example("chip", {"a": TALL}, "return a.chip(1, 1)", "i32[4]", "100 400 700 1000"),
    "chip_assigned": Example(
        "chip as lvalue", {"a": ("i32[3]", [100, 200, 300]), "b": ("i32[2, 3]", [[0] * 3] * 2)},
        "b.chip(0, 0)[...] = a\nreturn b", "i32[2, 3]", "100 200 300\n0 0 0",
    ),
    "reverse": Example(
        "reverse", {"a": TALL}, "return a.reverse([True, False])", "i32[4, 3]",
        "900 1000 1100\n600 700 800\n300 400 500\n0 100 200",
    ),
    "roll": Example(
        "roll", {"a": ("i32[3, 4]", [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]])}, "return a.roll([1, -2])",
        "i32[3, 4]", "7 8 5 6\n11 12 9 10\n3 4 1 2",
    ),
    "broadcast": Example(
        "broadcast", {"a": A}, "return a.broadcast([3, 2])", "i32[6, 6]",
        "\n".join(["0 100 200 0 100 200", "300 400 500 300 400 500"] * 3),
    ),
    "broadcast_reshaped": Example(
        "broadcast", {"a": A}, "return a.reshape([1, 2, 3]).broadcast([4, 1, 1])", "i32[4, 2, 3]",
        "\n\n".join(["0 100 200\n300 400 500"] * 4),
    ),
    "concatenate_0": Example(
        "concatenate", {"a": A, "b": ("i32[2, 3]", [[-1, -2, -3], [-4, -5, -6]])}, "return a.concatenate(b, 0)",
        "i32[4, 3]", "0 100 200\n300 400 500\n-1 -2 -3\n-4 -5 -6",
    ),
    "concatenate_1": Example(
        "concatenate", {"a": A, "b": ("i32[2, 3]", [[-1, -2, -3], [-4, -5, -6]])}, "return a.concatenate(b, 1)",
        "i32[2, 6]", "0 100 200 -1 -2 -3\n300 400 500 -4 -5 -6",
    ),
    "pad": Example(
        "pad", {"a": A}, "return a.pad([(0, 1), (2, 3)])", "i32[3, 8]",
        "0 0 0 100 200 0 0 0\n0 0 300 400 500 0 0 0\n0 0 0 0 0 0 0 0",
    ),
    # Casts
    "cast": Example(
        "cast", {"a": ("i32[2, 3]", [[0, 1, 2], [3, 4, 5]])}, "return (a.cast(f32) / 2.0).cast(i32)", "i32[2, 3]",
        "0 0 1\n1 2 2",
    ),
    "print": Example(
        "Tensor Printing",
        {"a": ("f32[4, 3, 2]", [[[6 * i + 2 * j + k + 1 for k in range(2)] for j in range(3)] for i in range(4)])},
        "return a * 1.0", "f32[4, 3, 2]",
        "1 2\n3 4\n5 6\n\n7 8\n9 10\n11 12\n\n13 14\n15 16\n17 18\n\n19 20\n21 22\n23 24",
    ),
    "swap_layout": Example(
        "TensorLayout", {"a": ("i32[2, 4]", [[1, 2, 3, 4], [5, 6, 7, 8]])},
        "return a.swap_layout().shuffle([1, 0]).swap_layout()", "i32[4, 2]", "1 5\n2 6\n3 7\n4 8",
    ),
}  # fmt: skip

PATCHES_COL = "0 1\n4 5\n\n4 5\n8 9\n\n1 2\n5 6\n\n5 6\n9 10\n\n2 3\n6 7\n\n6 7\n10 11"
PATCHES_ROW = "0 1\n4 5\n\n1 2\n5 6\n\n2 3\n6 7\n\n4 5\n8 9\n\n5 6\n9 10\n\n6 7\n10 11"
LINE = {"a": ("i32[4]", [1, 2, 3, 4])}

#: Examples by the method that they need, which may not be there yet.
AWAITED: dict[str, dict[str, Example]] = {
    "cumsum": {
        "cumsum": Example("cumsum", {"a": COUNTED}, "return a.cumsum(1).cast(i32)", "i32[2, 3]", "1 3 6\n4 9 15"),
        "cumsum_inclusive": Example("cumsum", LINE, "return a.cumsum(0).cast(i32)", "i32[4]", "1 3 6 10"),
        "cumsum_exclusive": Example("cumsum", LINE, "return a.cumsum(0, True).cast(i32)", "i32[4]", "0 1 3 6"),
    },
    "cumprod": {
        "cumprod_inclusive": Example("cumprod", LINE, "return a.cumprod(0).cast(i32)", "i32[4]", "1 2 6 24"),
        "cumprod_exclusive": Example("cumprod", LINE, "return a.cumprod(0, True).cast(i32)", "i32[4]", "1 1 2 6"),
    },
    "inflate": {
        "inflate": Example(
            "inflate", {"a": ("f32[2, 3]", COUNTED[1])}, "return a.inflate([2, 3])", "f32[3, 7]",
            "1 0 0 2 0 0 3\n0 0 0 0 0 0 0\n4 0 0 5 0 0 6",
        )
    },
    "extract_patches": {
        "patches_col": Example(
            "extract_patches", {"a": PATCHED}, "return a.extract_patches([2, 2]).shuffle([2, 0, 1])", "f32[6, 2, 2]",
            PATCHES_COL, COL,
        ),
        "patches_row": Example(
            "extract_patches", {"a": PATCHED}, "return a.extract_patches([2, 2])", "f32[6, 2, 2]", PATCHES_ROW, ROW
        ),
    },
    "constant": {
        "constant_operation": Example(
            "constant", {"a": ONES}, "b = a + a.constant(2.0)\nreturn b * b.constant(0.2)", "f32[2, 3]",
            "0.6 0.6 0.6\n0.6 0.6 0.6",
        )
    },
}  # fmt: skip

#: Of these methods, those that are not there.
MISSING: tuple[str, ...] = ()
