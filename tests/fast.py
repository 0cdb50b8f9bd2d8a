"""The tests before a commit, `pytest -m fast`: under a minute on two cores, something of every part of txc.

Bits and texts that are recorded, one op a family, calls, a slice of the front ends, the interpreters, the simulator.
What is here runs in the whole suite too; `conftest.py` gives the mark, and reads no other file where that is asked for.
"""

__all__ = ["FAST"]

#: By file: the functions of which all cases run, or ``function[case]``; none: all tests of the file.
FAST: dict[str, tuple[str, ...]] = {
    "test_result_bits.py": (
        "test_results_have_the_recorded_bits[sums of rows]",
        "test_results_have_the_recorded_bits[where largest]",
        "test_results_have_the_recorded_bits[softmax of rows]",
        "test_results_have_the_recorded_bits[elementary]",
        "test_results_have_the_recorded_bits[transposed]",
        "test_results_have_the_recorded_bits[stencil]",
        "test_results_have_the_recorded_bits[matmul]",
        "test_the_record_has_every_program_and_no_other",
    ),
    "test_ir_fingerprints.py": (
        "test_texts_are_as_they_were[softmax of columns]",
        "test_texts_are_as_they_were[matmul with an epilogue]",
        "test_texts_are_as_they_were[running sums]",
        "test_texts_are_as_they_were[sort of rows]",
        "test_texts_are_as_they_were[scatter]",
        "test_texts_are_as_they_were[clusters]",
        "test_texts_are_as_they_were[root]",
        "test_texts_are_as_they_were[digits_classifier.accuracy]",
        "test_nothing_else_is_recorded",
    ),
    "ops/test_op_matrix.py": (
        "test_reduction[sum]",
        "test_scan[cumsum]",
        "test_view[slice]",
        "test_structural[0]",
        "test_contract[f32]",
        "test_every_view_is_here",
    ),
    "codegen/test_scalars.py": (
        "test_casts[native-f32]",
        "test_float_operations[native-f32]",
        "test_integer_operations[native-i32]",
        "test_expanded_maps[exp-f32]",
        "test_expanded_maps[sin-f64]",
    ),
    "ops/test_fft.py": ("test_short_rows_of_known_sizes_have_the_bits_of_any[3-64]", "test_which_lengths_have_passes"),
    "ops/test_sort.py": ("test_rows_of_any_length_side_by_side[f4]", "test_what_is_refused"),
    "gpu/test_op_matrix.py": ("test_map[sim-add-sub-mul-div-negate-positive-abs]", "test_reduction[sim-maximum]"),
    "calls/test_views_as_results.py": (),
    "calls/test_dispatch.py": (),
    "calls/test_donation.py": (),
    "calls/test_effects_before_errors.py": (),
    "clusters/test_map_chunks.py": ("test_only_one_chunk_is_given_at_a_time_and_out_is_filled", "test_what_is_refused"),
    "dialects/test_dims.py": (),
    "dialects/test_kernel_text.py": (),
    "dialects/test_loop_text.py": (),
    "frontend/test_comprehensions.py": (),
    "frontend/test_functions.py": (),
    "frontend/test_numpy_functions.py": (),
    "frontend/test_python_numbers.py": (),
    "frontend/test_regions.py": (),
    "frontend/test_staging_errors.py": (),
    "frontend/test_stores.py": (),
    "frontend/test_tx_language.py": (),
    "graph/test_shape.py": (),
    "interpret/test_bodies.py": (),
    "interpret/test_order.py": (),
    "ptx_simulator/test_instructions.py": (),
    "tensors/test_classes.py": (),
    "tensure/test_functions.py": ("test_aggregates", "test_products"),
}
