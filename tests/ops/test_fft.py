"""Transforms of all kinds of sizes: against NumPy in higher precision, every layout, norm, thread count and stage."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
import scipy.fft

import txc
from txc.compiler.diagnostics import TxcError
from txc.passes.schedule.fft.plan import has_small_primes, primitive_root, uses_rader

from ..codegen.harness import chunks_of, text_at

RNG = np.random.default_rng(1)
#: One, primes, powers of each radix and their products, primes for Rader's method (137, 521, 1009) and Bluestein's.
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 22, 25, 27, 31, 32, 49, 60, 64, 77, 88, 97, 100, 121, 128, 131,
         137, 143, 210, 243, 256, 286, 343, 512, 521, 625, 1000, 1009, 1019, 1024]  # fmt: skip


@pytest.fixture(autouse=True)
def any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths are known here where a test makes them so, and otherwise code is for all of them."""
    monkeypatch.setenv("TXC_SPECIALIZE", "0")


def numbers(shape: Any, kind: Any) -> np.ndarray:
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(kind)


def direct(x: np.ndarray, axis: int) -> np.ndarray:
    """The transform of a complex128 array in extended precision, by its definition."""
    n = x.shape[axis]
    turns = np.arange(n)[:, None] * np.arange(n) % n
    angle = -2 * np.longdouble("3.14159265358979323846264338327950288") * turns / n
    matrix = np.cos(angle) + 1j * np.sin(angle)
    return np.moveaxis(np.tensordot(matrix, x.astype(np.clongdouble), (1, axis)), 0, axis)


def error(got: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm((got - exact).ravel().astype(np.clongdouble)) / np.linalg.norm(exact.ravel()))


@pytest.fixture(scope="module")
def forward() -> dict[int, Any]:
    """One compiled function an axis, for all sizes."""
    return {0: txc.jit(lambda x: np.fft.fft(x, axis=0)), 1: txc.jit(lambda x: np.fft.fft(x))}


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("axis", [0, 1])
def test_any_size(forward: dict[int, Any], n: int, axis: int):
    x = numbers((3, n) if axis else (n, 3), np.complex64)
    exact = np.fft.fft(x.astype(np.complex128), axis=axis)
    reference = np.asarray(scipy.fft.fft(x, axis=axis))
    got = forward[axis](x)
    assert got.dtype == np.complex64
    assert error(got, exact) <= 2 * error(reference, exact) + 1e-7


@pytest.mark.parametrize("n", [60, 97, 128, 137, 176])
def test_double_precision(n: int):
    x = numbers((n, 11), np.complex128)
    exact = direct(x, 0)
    got = txc.jit(lambda x: np.fft.fft(x, axis=0))(x)
    assert error(got, exact) <= 2 * error(np.fft.fft(x, axis=0), exact) + 1e-16


def test_lanes_change_no_bits():
    """Columns and rows have ways of their own for such lengths, whatever vectors hold."""
    for n in (59, 254):
        columns = lambda x: np.fft.fft(x, axis=0), numbers((n, 9), np.complex128)
        rows = lambda x: np.fft.fft(x), numbers((9, n), np.complex64)
        for f, x in (columns, rows):
            scalar = txc.jit(f, passes="tx-schedule-cpu{lanes=1 unroll=1}")
            assert txc.jit(f)(x).tobytes() == scalar(x).tobytes()


def test_layouts_threads_and_both_directions():
    x = numbers((5, 40, 6), np.complex64)
    forward, reverse = txc.jit(lambda x: x.fft([1])), txc.jit(lambda x: x.fft([1], direction="reverse"))
    real = txc.jit(lambda x: x.fft([0, 2], result="real"))
    turned, apart = np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]
    expected = {
        forward: np.fft.fft(x, axis=1), reverse: np.fft.ifft(x, axis=1), real: np.fft.fftn(x, axes=(0, 2)).real
    }  # fmt: skip
    for f, given in ((forward, apart), (reverse, turned), (real, x)):
        one, two = (f.options(threads=threads)(given) for threads in (1, 2))
        assert np.array_equal(one, two) and np.allclose(one, expected[f], atol=1e-4)


def test_rows_are_shared_between_threads():
    """Pieces are what is worth handing over, also of lengths known at run time only, some of which are Bluestein's."""

    @txc.jit
    def f(x):
        return np.fft.fft(x)

    text = text_at("loops", f, numbers((4, 64), np.complex64))
    for n, pieces in ((64, 4), (61, 4)):
        x, y = numbers((256, n), np.complex64), np.zeros((256, n), np.complex64)
        assert chunks_of(text, [x, y], [256, n]) == [pieces]
        assert np.allclose(y, np.fft.fft(x), atol=1e-4)


@pytest.mark.parametrize("shape", [(11, 1), (5, 8, 1, 1)])
def test_dims_of_one_element_behind_a_short_length(shape: tuple[int, ...]) -> None:
    x = numbers(shape, np.complex64)
    axis = x.ndim // 3
    for f in (lambda x: np.fft.fft(x.reshape(shape), axis=axis), lambda x: np.fft.fft(x, axis=axis)):
        assert np.allclose(txc.jit(f)(x), np.fft.fft(x, axis=axis), atol=1e-4)


def test_no_transforms_and_a_column_major_tensor(forward: dict[int, Any]):
    assert forward[0](numbers((8, 0), np.complex64)).shape == (8, 0)
    x = numbers((6, 8), np.complex64)
    got = txc.asarray(x, layout="col").fft([0])
    assert np.allclose(np.asarray(got), np.fft.fft(x, axis=0), atol=1e-4)
    with pytest.raises(TxcError, match="no elements"):
        txc.jit(lambda x: np.fft.fft(x[:, :0]))(x)


def along_rows(x: Any, z: Any, norm: Any, every: bool = True) -> list[Any]:
    """Along one axis by each function, of each length that it may be given or, in turn, of one of them."""
    calls = [(f, z, 0, (None, 3, 7)) for f in (np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft)]
    calls += [(f, x, -1, (None, 5)) for f in (np.fft.rfft, np.fft.ihfft)]
    chosen = [lengths if every else lengths[i % len(lengths) :][:1] for i, (*_, lengths) in enumerate(calls)]
    return [f(a, n, axis, norm) for (f, a, axis, _), lengths in zip(calls, chosen) for n in lengths]


def of_planes(x: Any, z: Any, norm: Any) -> list[Any]:
    return [
        *(f(z, norm=norm) for f in (np.fft.fft2, np.fft.ifft2, np.fft.irfft2, np.fft.fftn)),
        np.fft.ifftn(z, (3, 7), (1, 0), norm), np.fft.irfftn(z, (5, 8), (0, 1), norm), np.fft.rfft2(x),
        np.fft.rfftn(x, (3, 7), (0, 1), norm), np.fft.ifft(z, norm=norm, axis=1),
    ]  # fmt: skip


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_numpys_functions(norm: Any):
    """Along one axis of sizes that are known or, which takes code for all lengths, with one of the norms not.

    Of planes, which are transforms along one axis and another, sizes are known.
    """
    x = RNG.standard_normal((4, 6))
    z = numbers((4, 6), np.complex128)

    def rows(x: Any, z: Any) -> Any:
        return along_rows(x, z, norm, every=norm is None)

    def known(x: Any, z: Any) -> Any:
        return of_planes(x, z, norm) + ([] if norm is None else rows(x, z))

    checked = [(txc.jit(lambda x, z: known(x.reshape(4, 6), z.reshape(4, 6))), known)]
    if norm is None:
        checked.append((txc.jit(rows), rows))
    for compiled, function in checked:
        for got, expected in zip(compiled(x, z), function(x, z), strict=True):
            assert got.dtype == expected.dtype and got.shape == expected.shape
            assert np.allclose(got, expected, atol=1e-12)


def test_the_usual_norm_has_a_name():
    given = RNG.standard_normal((4, 6)), numbers((4, 6), np.complex128)
    unnamed, named, other = (
        text_at("tensor", lambda x, z, norm=norm: along_rows(x, z, norm) + of_planes(x, z, norm), *given)
        for norm in (None, "backward", "forward")
    )
    assert named == unnamed != other


@pytest.mark.parametrize("n", [32, 60, 64, 100, 120, 127, 128])
@pytest.mark.parametrize("rows", [3, 65])
def test_short_rows_of_known_sizes_have_the_bits_of_any(forward: dict[int, Any], n: int, rows: int):
    x = numbers((rows, n), np.complex64)
    of_known = txc.jit(lambda x: np.fft.fft(x[:rows, :n]))
    np.testing.assert_array_equal(of_known(x).view(np.uint32), forward[1](x).view(np.uint32))


@pytest.mark.parametrize(("rows", "n", "beside"), [(65, 64, True), (3, 64, False), (65, 127, False), (65, 128, False)])
def test_short_rows_run_side_by_side(rows: int, n: int, beside: bool):
    """Where they fill vectors, and their primes are those of radices."""
    loops = txc.jit(lambda x: np.fft.fft(x[:rows, :n])).lower(numbers((rows, n), np.complex64)).as_text("loops")
    assert bool(re.search(rf"f32\[\d+, 2, {n}, 2, \d+\]", loops)) == beside


@pytest.fixture(scope="module")
def of_real() -> dict[int, Any]:
    return {0: txc.jit(lambda x: np.fft.rfft(x, axis=0)), 1: txc.jit(lambda x: np.fft.rfft(x))}


#: Which are other programs, each for one dtype along rows and the other one along columns.
EVEN, ODD = (2, 4, 6, 8, 22, 64, 100, 262, 1000, 1024), (1, 3, 5, 9, 97, 1009)


@pytest.mark.parametrize(
    ("dtype", "axis", "n"),
    [
        (dtype, axis, n)
        for dtype, axis, sizes in (("f4", 1, EVEN), ("f8", 0, EVEN), ("f4", 0, ODD), ("f8", 1, ODD))
        for n in sizes
    ],
)
def test_real_elements(of_real: dict[int, Any], dtype: str, axis: int, n: int):
    """All sizes of a parity through one function, as exact as the transform of complex elements."""
    x = RNG.standard_normal((3, n) if axis else (n, 3)).astype(dtype)
    exact = direct(x.astype(np.complex128), axis)
    exact = exact[(slice(None),) * axis + (slice(n // 2 + 1),)]
    got = of_real[axis](x)
    assert got.dtype == (np.complex64 if dtype == "f4" else np.complex128) and got.shape == exact.shape
    assert error(got, exact) <= (5e-7 if dtype == "f4" else 1e-15)
    assert n % 2 or not np.any(np.imag(np.take(got, [0, -1], axis)))


def test_an_even_number_of_real_elements_takes_a_transform_of_half_as_many(of_real: dict[int, Any]):
    texts = [text_at("tensor", of_real[1], np.zeros((3, n))) for n in (8, 9)]
    types = [re.findall(r"tx\.dft .* : (.*)", text) for text in texts]
    assert types == [["c128[x.0, ((x.1 + 1) // 2)]"], ["c128[x.0, x.1]"]]


@pytest.mark.parametrize(("axis", "layout"), [(1, "row"), (0, "col"), (2, "col")])
def test_real_elements_of_each_layout(axis: int, layout: str):
    """The ends column-major, and the middle one row-major: other tests have its ends."""
    x = RNG.standard_normal((4, 6, 8))
    tensor: Any = txc.asarray(x, layout=layout)
    got: Any = np.fft.rfft(tensor, axis=axis)
    assert got.layout == layout and np.allclose(np.asarray(got), np.fft.rfft(x, axis=axis), atol=1e-12)


@pytest.mark.parametrize("position", [0, 3])
def test_what_is_not_finite_leaves_the_ends_real(of_real: dict[int, Any], position: int):
    x = np.ones((1, 6), np.float32)
    x[0, position] = np.inf
    (got,) = of_real[1](x)
    np.testing.assert_array_equal([got[0], got[-1]], [np.inf, -np.inf if position % 2 else np.inf])


def test_shifts_and_frequencies():
    def every(x: Any) -> Any:
        n = x.shape[1]
        shifted = np.fft.fftshift(x), np.fft.ifftshift(x), np.fft.fftshift(x, 1), np.fft.ifftshift(x, axes=(0,))
        return *shifted, np.fft.fftfreq(n, 0.1), np.fft.rfftfreq(n)

    f = txc.jit(every)
    for n in (1, 2, 5, 8):
        x = np.arange(3.0 * n).reshape(3, n)
        assert all(np.array_equal(a, b) for a, b in zip(f(x), every(x), strict=True))


def test_the_language_has_transforms():
    module = txc.compile_source(
        "def f(x: f32[5, 12]) -> (c64[5, 12], f32[5, 12], c64[5, 12]):\n"
        "    return x.fft([0, 1]), ifft(fft(x)).real, fftshift(fft2(x))\n"
    )
    x = RNG.standard_normal((5, 12)).astype(np.float32)
    got = module.f(x)
    for a, b in zip(got, (np.fft.fft2(x), x, np.fft.fftshift(np.fft.fft2(x)))):
        assert np.allclose(a, b, atol=1e-4)


@pytest.mark.parametrize(("shape", "known"), [((2, 48), True), ((2, 37), False), ((3, 7), True), ((1, 88), True)])
def test_every_stage_gives_the_same_bits(shape: tuple[int, int], known: bool):
    """Of passes, of Bluestein's method as one of all methods, of a prime and of passes with a larger one."""
    from txc.compiler.frontend.trace.trace import Trace
    from txc.compiler.interpret.bisect import bisect

    x = numbers(shape, np.complex64)
    with Trace("f") as trace:
        given = trace.array_input("x", x)
        graph = trace.finish((given.reshape(shape) if known else given).fft([1]))
    assert bisect(graph, {"x": x}).difference is None


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda z: np.fft.rfft(z), "np.fft.rfft transforms real tensors, not c64"),
        (lambda z: np.fft.fft(z, 0), "at least 1, not 0"),
        (
            lambda z: np.fft.fft(z, norm="half"),  # pyright: ignore[reportArgumentType]
            "norm='half' is not one of",
        ),
        (lambda z: np.fft.fft(z, axis=2), "axis 2 is out of range"),
        (lambda z: np.fft.fftn(z, (3, 4), (0,)), "s has 2 sizes for 1 axes"),
    ],
)
def test_errors(function: Any, message: str):
    with pytest.raises(TxcError, match=message):
        txc.jit(function)(numbers((2, 4), np.complex64))


@pytest.mark.parametrize("n", [12, 11, 131])
@pytest.mark.parametrize("static", [True, False])
def test_neighbours_do_not_matter(n: int, static: bool) -> None:
    """Columns come and go by several vectors; the last ones are fewer, and each has the bits that it has alone."""
    rng = np.random.default_rng(4)

    def along_columns(x: Any) -> Any:
        return np.fft.fft(x.reshape(n, x.shape[1]) if static else x, axis=0)

    compiled = txc.jit(along_columns, threads=2)
    alone = txc.jit(along_columns, threads=1)
    for m in (1, 7, 31, 32, 33, 70):
        x = (rng.standard_normal((n, m)) + 1j * rng.standard_normal((n, m))).astype(np.complex64)
        got = compiled(x)
        np.testing.assert_allclose(got, np.fft.fft(x, axis=0), atol=1e-5)
        for k in {0, m // 2, m - 1}:
            np.testing.assert_array_equal(got[:, k : k + 1], alone(np.ascontiguousarray(x[:, k : k + 1])))


@pytest.mark.parametrize("n", [8, 64, 70, 96, 98, 112, 125, 686])
def test_a_length_known_or_not_gives_the_same_bits(forward: dict[int, Any], n: int) -> None:
    """Directly from the operand (all but 8) and to the result (64, 96, 125), or by way of scratch memory.

    98 and 686 begin with a radix (2) whose first pass has no table of its own.
    """
    x = numbers((3, 2, n), np.complex64)
    got = txc.jit(lambda x: np.fft.fft(x.reshape(3, 2, n)))(x)
    rows = x.reshape(6, n)
    np.testing.assert_array_equal(got.reshape(6, n), forward[1](rows))
    np.testing.assert_array_equal(got[1], forward[1](np.repeat(rows, 2, axis=1)[2:4, ::2]))
    assert error(got, np.fft.fft(x.astype(np.complex128))) < 2e-7


@pytest.mark.parametrize("n", [37, 88, 127, 131, 137, 286, 509, 521, 620, 1009])
def test_a_rough_length_known_or_not_gives_the_same_bits(forward: dict[int, Any], n: int) -> None:
    """Bluestein's lengths of 64, 128 and 8 times 64 elements a residue, Rader's of 136, 520 and 1008, and 88 and 620.

    Columns have passes for 88, 286 and 620, and 37, 127 and 131 are other methods' there.
    """
    x = numbers((9, n), np.complex64)
    got = txc.jit(lambda x: np.fft.fft(x.reshape(9, n)))(x)
    np.testing.assert_array_equal(got, forward[1](x))
    np.testing.assert_array_equal(got[8:], forward[1](np.repeat(x, 2, axis=1)[8:, ::2]))
    exact = np.fft.fft(x.astype(np.complex128))
    bound = 2 * error(np.asarray(scipy.fft.fft(x)), exact) + 1e-7
    assert error(got, exact) <= bound
    x = np.ascontiguousarray(x.T)
    columns = forward[0](x)
    assert error(columns.T, exact) <= bound
    np.testing.assert_array_equal(columns, txc.jit(lambda x: np.fft.fft(x.reshape(n, 9), axis=0))(x))


def test_which_lengths_have_passes() -> None:
    """Rows need vectors before their large primes, and by powers a first pass of whole vectors."""
    rows = {n for n in range(1, 400) if has_small_primes(n, True)}
    columns = {n for n in range(1, 400) if has_small_primes(n, False)}
    assert {8, 31, 88, 8 * 31}.issubset(rows) and not {37, 44, 121, 131, 286} & rows
    assert {37, 44, 121, 127, 286} <= columns and not {131, 2 * 131} & columns
    assert [n for n in range(100, 400) if uses_rader(n, True)] == [137, 193, 233, 241, 257, 281, 313, 337, 353]
    assert uses_rader(131, False) and not uses_rader(133, False) and not uses_rader(131, True)


@pytest.mark.parametrize("n", [131, 137, 1009])
def test_primitive_roots(n: int) -> None:
    root = primitive_root(n)
    assert len({pow(root, k, n) for k in range(n - 1)}) == n - 1
    assert all(len({pow(g, k, n) for k in range(n - 1)}) < n - 1 for g in range(2, root))


@pytest.fixture(scope="module")
def by_vectors() -> dict[int, Any]:
    """A function for all lengths, for vectors of each width."""
    return {bits: txc.jit(lambda x: np.fft.fft(x), passes=vectors(bits)) for bits in (256, 512)}


def vectors(bits: int) -> str:
    return f"tx-schedule-cpu{{vector_bits={bits}}}"


LENGTHS = [64, 88, 120, 125, 137, 192, 448, 509, 521, 620, 1000, 1009, 1024]


@pytest.mark.parametrize(("n", "bits"), [*zip(LENGTHS, itertools.cycle([512, 256]))])
def test_longer_vectors_give_the_same_bits(by_vectors: dict[int, Any], n: int, bits: int) -> None:
    """Second passes of all radices, whole vectors and some left, and convolutions with both.

    Of a length known or not, the known ones by one width of vectors in turn.
    """
    x = numbers((3, n), np.complex64)
    shorter, longer = (f(x) for f in by_vectors.values())
    np.testing.assert_array_equal(shorter, longer)
    of_known = txc.jit(lambda x: np.fft.fft(x.reshape(3, n)), passes=vectors(bits))
    np.testing.assert_array_equal(of_known(x), longer)
    assert error(longer, np.fft.fft(x.astype(np.complex128))) < 5e-7


def test_transforms_of_real_numbers_are_of_half_as_many_complex_ones() -> None:
    forth, back = np.ones((3, 16), "f4"), np.ones((3, 9), "c8")
    for function, x, length in ((np.fft.rfft, forth, "((x.1 + 1) // 2)"), (np.fft.irfft, back, "x.1 - 1")):
        (line,) = (line for line in text_at("tensor", lambda x, f=function: f(x), x).splitlines() if "tx.dft" in line)
        assert line.endswith(f"c64[x.0, {length}]")


def test_lines_of_results_and_of_next_rows_are_asked_for_on_processors() -> None:
    x = np.ones((3, 1000), np.complex64)
    for device, asked in (("cpu", True), ("ptx-sim", False)):
        text = text_at("loops", lambda x: np.fft.fft(x), x, device=device)
        assert ("loop.prefetch %0[" in text) == asked
        assert bool(re.search(r"loop\.prefetch %x\[i\d+ \+ 1,", text)) == asked


def test_convolutions_in_place() -> None:
    """The operand's memory is the result's: all of a row is read before any of it is written.

    One way for all lengths, the other one for those that are known.
    """
    forth = txc.jit(lambda x: np.fft.fft2(x))
    for n in (97, 137):
        x = numbers((40, n), np.complex64)
        back = txc.jit(lambda x, n=n: np.fft.ifft2(x.reshape(40, n)))
        assert error(forth(x), np.fft.fft2(x.astype(np.complex128))) < 1e-6
        assert error(back(x), np.fft.ifft2(x.astype(np.complex128))) < 1e-6
