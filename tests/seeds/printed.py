"""Every place at which an Eigen document prints something, in the document's order, and the tests that hold it.

A test is the name of an `Example`, or `FILE::TEST` from `tests/` on.  Both documents print the same, but for what
`ONLY_NEWER` lists; `tests/seeds/test_printed.py` counts.
"""

from __future__ import annotations

__all__ = ["COUNTS", "ONLY_NEWER", "PRINTED"]

#: Sections with the tests of what each of their examples prints.
PRINTED: dict[str, tuple[tuple[str, ...], ...]] = {
    "NumDimensions": (("seeds/test_printed.py::test_metadata",),),
    "dimensions": (("seeds/test_printed.py::test_metadata",),) * 2,
    "dimension": (("seeds/test_printed.py::test_metadata",),),
    "size": (("seeds/test_printed.py::test_metadata",),),
    "Tensor": (("seeds/test_printed.py::test_metadata",),),
    "TensorFixedSize": (("seeds/test_printed.py::test_metadata",),),
    "TensorMap": (("map_row", "map_col"),),
    "setConstant": (("set_constant",), ("seeds/test_printed.py::test_text_is_no_element",)),
    "setZero": (("set_zero",),),
    "setValues": (("tensors/test_classes.py::test_filling",), ("set_values_short",)),
    "setRandom": (("seeds/test_printed.py::test_random_elements",),),
    "data": (("data",),),
    "constant": (("constant", "constant_sum", "constant_operation"),),
    "random": (("seeds/test_printed.py::test_random_elements",),),
    "operator-": (("negate",),),
    "pow": (("pow",),),
    "operator*": (("scale",),),
    "cwiseMax": (("cwise_max",),),
    "cwiseMin": (("cwise_min",),),
    "unaryExpr": (("unary_expr",), ("unary_expr_functor",)),
    "Reduction Dimensions": (("maximum",), ("maximum_of_two",)),
    "Reduction along all dimensions": (("sum_of_all",),),
    "argmax": (("argmax",), ("argmax_flat_row", "argmax_flat_col")),
    "Trace": (("trace",),),
    "trace": (("trace_of_all",),),
    "Scan Operations": (("cumsum",),),
    "reshape": (("reshape_col",), ("reshape_row",), ("reshape_assigned_row", "reshape_assigned_col")),
    "stride": (("stride",),),
    "slice": (("slice",),),
    "stridedSlice": (("strided_slice",), ("strided_slice_assigned",)),
    "chip": (("chip_row", "chip_column"), ("chip_assigned",)),
    "reverse": (("reverse",),),
    "roll": (("roll",),),
    "broadcast": (("broadcast",), ("broadcast_reshaped",)),
    "concatenate": (("concatenate_0", "concatenate_1"),),
    "pad": (("pad",),),
    "inflate": (("inflate",),),
    "extract_patches": (("patches_col", "patches_row"),) * 2,
    "cast": (("cast",),),
    "Tensor Printing": (("print", "tensors/test_format.py::test_formats"),),
}
#: How many of the newer document's places the older one does not have, by section.
ONLY_NEWER = {
    "operator*": 1, "cwiseMax": 1, "cwiseMin": 1, "unaryExpr": 2, "argmax": 2, "stridedSlice": 2, "roll": 1,
    "broadcast": 1, "concatenate": 1, "inflate": 1, "Tensor Printing": 1,
}  # fmt: skip
#: The places that print in the older document and in the newer one, counted in their texts.
COUNTS = (38, 52)
