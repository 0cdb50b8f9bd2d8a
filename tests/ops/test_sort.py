"""Sorting and searching: NumPy's stable results bit by bit, for every type, axis, size, thread count and stage."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import txc
from txc.compiler.config.options import Options
from txc.compiler.diagnostics import TxcError
from txc.compiler.frontend.tensor.apply import apply, as_tensor
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.interpret.bisect import bisect
from txc.passes.cost.model import Machine
from txc.passes.cost.remarks import collect
from txc.passes.schedule.sort.distribution import samplesort
from txc.passes.schedule.sort.distribution.radix import LONG
from txc.passes.schedule.sort.positions import argsort32

from ..codegen.harness import text_at
from ..pairwise import pairs, pairwise

DTYPES = ["?", "i1", "u1", "i2", "u4", "i8", "u8", "f2", "bf16", "f4", "f8", "c8", "c16"]
#: Sizes on both sides of those where digits get wider, and of none.
SIZES = [0, 1, 2, 31, 127, 128, 321, 5001]


def numbers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Few different ones, so that many are equal; zeros of both signs, infinities and NaNs among floats."""
    rng = np.random.default_rng([*name.encode(), *shape])
    element = np.dtype(ml_dtypes.bfloat16 if name == "bf16" else name)
    if name in ("?", "i1", "u1", "i2", "i4", "u4", "i8", "u8"):
        info = np.iinfo("u1" if name == "?" else name)
        drawn = rng.integers(info.min, info.max, shape, "u1" if name == "?" else name, endpoint=True)
        return np.where(rng.random(shape) < 0.5, drawn, drawn % 5).astype(element)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.0])
    parts = [np.where(rng.random(shape) < 0.5, rng.choice(special, shape), rng.standard_normal(shape)) for _ in "ri"]
    if element.kind != "c":
        return parts[0].astype(element)
    made = np.empty(shape, element)
    made.real, made.imag = parts
    return made


def positions(x: np.ndarray, axis: int, descending: bool = False) -> np.ndarray:
    """By NumPy, whose bfloat16 has no order: in f32."""
    wide = x.astype(np.float32) if x.dtype == ml_dtypes.bfloat16 else x
    if not descending:
        return np.argsort(wide, axis, kind="stable")
    return wide.shape[axis] - 1 - np.flip(np.argsort(np.flip(wide, axis), axis, kind="stable"), axis)


def equal_bits(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal, with the signs of zeros, all NaNs being one."""
    assert got.dtype == expected.dtype and got.shape == expected.shape
    if expected.dtype.kind == "c":
        equal_bits(np.real(got), np.real(expected))
        equal_bits(np.imag(got), np.imag(expected))
        return
    same = got == expected
    if expected.dtype.kind not in "biu":
        a, b = got.astype(np.float64), expected.astype(np.float64)
        same = (same & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    assert same.all()


def vectors(bits: int) -> str:
    return f"tx-schedule-cpu{{vector_bits={bits}}}"


#: By networks, whatever the machine's vectors are.
BY_NETWORKS = vectors(512)


class Way(NamedTuple):
    """A sort that has code of its own: by vectors of a width, what of which rows or columns (`last` or not)."""

    bits: int
    positions: bool
    strided: bool
    last: bool
    descending: bool

    def of(self, x: Any) -> Any:
        return apply("sort_with_positions" if self.positions else "sort", x, axis=self.axis, descending=self.descending)

    @property
    def axis(self) -> int:
        return 2 if self.last else int(self.positions)

    def check(self, got: Any, given: np.ndarray) -> None:
        expected = positions(given, self.axis, self.descending)
        values, found = got if self.positions else (got, expected)
        np.testing.assert_array_equal(found, expected)
        equal_bits(values, np.take_along_axis(given, expected, self.axis))


#: A dtype for each width of keys has both widths of vectors for values and for positions, since that chooses the
#: algorithm; each other dtype has one width for values, and the other one for positions.
ALL_WAYS = ["i1", "i2", "f4", "f8", "c8"]
ALGORITHMS = [*itertools.product((256, 512), (False, True))]
#: Packed or strided rows or columns, up or down, so that any two come together: see `tests/pairwise.py`.
MEMORIES = pairwise(*[(False, True)] * 3)


def ways_of(name: str) -> list[Way]:
    turn = DTYPES.index(name)
    if name in ALL_WAYS:
        return [Way(*algorithm, *MEMORIES[(turn + i) % 4]) for i, algorithm in enumerate(ALGORITHMS)]
    memory, first = MEMORIES[turn % 4], turn // 2 % 2
    return [Way(*ALGORITHMS[first], *memory), Way(*ALGORITHMS[3 - first], *(not flag for flag in memory))]


@pytest.mark.parametrize("name", DTYPES)
def test_every_type(name: str):
    """Long rows and short ones, of numbers that are no multiple of lanes, shorter than a vector and longer than what
    registers hold, and of several blocks, which threads share."""
    shapes = [(2, 2, n) for n in SIZES] + [(1, 2, 140_003)]
    shapes += [(1, 3, 2), (3, 1, 17), (2, 33, 10), (19, 2, 70), (5, 7, 400), (2, 70, 1000), (2, 0, 5), (3, 40, 1)]
    for way in ways_of(name):
        f = txc.jit(way.of, passes=vectors(way.bits), threads=2)
        for shape in shapes:
            x = numbers(name, shape)
            given = x[:, :, ::-1] if way.strided else x
            if way.strided and given.flags.c_contiguous:  # such have the code of packed arrays
                continue
            way.check(f(given), given)


def test_ways_come_in_pairs():
    rows = [(name, *way) for name in DTYPES for way in ways_of(name)]
    flags = [(False, True)] * 4
    assert pairs(rows) == pairs(itertools.product(DTYPES, (256, 512), *flags))


@pytest.mark.parametrize("name", ["f4", "i8", "c8"])
def test_long_rows_are_sorted_in_pieces_by_any_number_of_threads(name: str):
    x = numbers(name, (2, 100_003))
    f = txc.jit(lambda x: apply("sort_with_positions", x, descending=True))
    one, two = (f.options(threads=n)(x) for n in (1, 2))
    equal_bits(one[0], np.take_along_axis(x, positions(x, 1, True), 1))
    np.testing.assert_array_equal(one[1], positions(x, 1, True))
    for a, b in zip(one, two):
        equal_bits(a, b)


@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_vectors_of_any_width_find_the_same(lanes: int):
    """Widths of other machines, whose grids have other columns."""
    f = txc.jit(lambda x: np.sort(x), passes=f"tx-schedule-cpu{{lanes={lanes}}}", threads=2)
    for n in (1, 100, 5001, 70_001):
        x = numbers("f4", (n,))
        equal_bits(f(x), np.take_along_axis(x, positions(x, 0), 0))


def test_positions_of_any_number_of_threads():
    x = numbers("f4", (300_001,))
    f = txc.jit(lambda x: np.argsort(x), passes=BY_NETWORKS)
    for threads in (1, 2):
        np.testing.assert_array_equal(f.options(threads=threads)(x), positions(x, 0))


def of_equal_high_bits(shape: tuple[int, ...], different: int) -> np.ndarray:
    """Floats near 1 and near -1 that their signs or their lowest bits tell apart, so that keys lose these bits."""
    rng = np.random.default_rng([*shape, different])
    near_one = 1 + rng.integers(0, different, shape) * 2.0**-52
    return np.where(rng.random(shape) < 0.5, near_one, -near_one)


def hard_for_wide_positions(shape: tuple[int, ...]) -> list[np.ndarray]:
    """All in a few runs of equal numbers, in runs of two, in long ones that are in order, the ends of all numbers, and
    what loses nothing."""
    rng = np.random.default_rng(shape)
    drawn = rng.standard_normal(shape)
    neighbours = np.nextafter(drawn.flat[rng.permutation(drawn.size)], 9).reshape(shape)
    return [
        of_equal_high_bits(shape, 1000), of_equal_high_bits(shape, 3),
        np.where(rng.random(shape) < 0.5, drawn, neighbours),
        rng.standard_normal(5)[rng.integers(0, 5, shape)], np.round(drawn * 3), np.full(shape, np.pi),
        rng.integers(-(2**63), 2**63 - 1, shape, endpoint=True), rng.integers(0, 2**64 - 1, shape, "u8", endpoint=True),
        np.where(rng.random(shape) < 0.5, rng.choice([2**63 - 1, -(2**63)], shape), rng.integers(-9, 9, shape)),
        np.where(rng.random(shape) < 0.5, rng.choice([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf], shape), drawn),
    ]  # fmt: skip


@pytest.mark.parametrize("bits", [256, 512])
def test_what_wide_keys_lose_is_put_in_order(bits: int):
    """Rows of one bucket and of several, which threads share, and columns, whose last group is not full.

    Floats have rows in one direction and columns in the other, by shorter vectors turned; integers one of these.
    """
    usual, turned = [(0, False), (1, True)], [(0, True), (1, False)]

    def sorts(ways: list[tuple[int, bool]]) -> Any:
        every = lambda x: [apply("sort_with_positions", x, axis=axis, descending=d) for axis, d in ways]  # noqa: E731
        return txc.jit(every, passes=vectors(bits), threads=2)

    some = {"f": usual, "i": turned[:1], "u": turned[1:]}
    chosen = some if bits == 512 else {"f": turned, "i": usual[:1], "u": usual[1:]}
    compiled = {kind: sorts(ways) for kind, ways in chosen.items()}
    for shape in ((1, 1), (1, 2), (3, 1500), (13, 40), (2, 9001), (1, 140_003)):
        for x in hard_for_wide_positions(shape):
            kind = x.dtype.kind
            for (axis, descending), (values, found) in zip(chosen[kind], compiled[kind](x), strict=True):
                expected = positions(x, axis, descending)
                np.testing.assert_array_equal(found, expected)
                equal_bits(values, np.take_along_axis(x, expected, axis))


def few_of_equal_high_bits(n: int) -> np.ndarray:
    """One in a hundred comes twice, the second time before the first one and greater by its lowest bit."""
    x = np.random.default_rng(n).standard_normal(n)
    count = n // 100
    x[:count] = np.nextafter(x[-count:], np.inf)
    return x


def test_wide_positions_of_a_bucket_without_room(monkeypatch: pytest.MonkeyPatch):
    """Of what goes into a heap nothing is known but where it begins."""
    monkeypatch.setattr(samplesort, "SLACK", 0)
    f = txc.jit(lambda x: np.argsort(x)[::-1], passes=BY_NETWORKS)
    for n in (5000, 40_001):
        for x in (of_equal_high_bits((n,), 1000), few_of_equal_high_bits(n), numbers("f8", (n,))):
            np.testing.assert_array_equal(f(x), positions(x, 0)[::-1])


def test_equal_numbers_where_a_bucket_ends(monkeypatch: pytest.MonkeyPatch):
    """Small buckets, most of which have no two that are equal."""
    monkeypatch.setattr(samplesort, "bucket_elements", lambda *_: 64)
    f = txc.jit(lambda x: np.argsort(x) + 1, passes=BY_NETWORKS)
    x = few_of_equal_high_bits(140_003)
    np.testing.assert_array_equal(f(x), positions(x, 0) + 1)


@pytest.mark.parametrize("name", ["i8", "f8"])
def test_wide_positions_by_digits(name: str):
    """Where vectors cannot be compressed, in pieces by any number of threads."""
    f = txc.jit(lambda x: np.argsort(x), passes=vectors(256))
    x = numbers(name, (100_003,))
    for threads in (1, 2):
        np.testing.assert_array_equal(f.options(threads=threads)(x), positions(x, 0))


@pytest.mark.parametrize(
    ("name", "descending"), [("i4", False), ("u4", True), ("f4", True), ("i8", True), ("f8", False)]
)
def test_values_in_buckets(name: str, descending: bool):
    """Rows that are one bucket and many, several at once; few different numbers, all different ones, and in order."""
    f = txc.jit(lambda x: apply("sort", x, descending=descending), passes=BY_NETWORKS)
    rng = np.random.default_rng(1)
    drawn = [(rng.random(shape) * 2e9).astype(name) for shape in ((3, 4095), (2, 9001), (1, 150_000))]
    many_equal = [numbers(name, shape) for shape in ((3, 0), (2, 1), (5, 300), (2, 70_001))]
    in_order = np.arange(20_000)[None].astype(name)
    for x in (*drawn, *many_equal, in_order, in_order[:, ::-1], np.zeros((1, 30_000), name)):
        found = f(np.ascontiguousarray(x))
        equal_bits(found, np.take_along_axis(x, positions(x, 1, descending), 1))


def test_buckets_of_any_number_of_threads():
    f = txc.jit(lambda x: np.sort(x), passes=BY_NETWORKS)
    for name, n in (("f4", 5000), ("f4", 100_003), ("f4", 400_000), ("f8", 700_003)):
        x = numbers(name, (n,))
        for threads in (1, 2):
            equal_bits(f.options(threads=threads)(x), np.take_along_axis(x, positions(x, 0), 0))


def test_rows_have_as_many_parts_as_the_second_cache_asks_for(monkeypatch: pytest.MonkeyPatch):
    """Of a cache that holds little there are as many as there can be, and of a short row fewer, the last one short."""
    monkeypatch.setattr(samplesort, "L2_SHARE", 1 / 256)
    for n in (5000, 30_011, 300_001):
        x = numbers("i4", (n,))
        f = txc.jit(lambda x: np.sort(x)[1:], passes=BY_NETWORKS)
        equal_bits(f(x), np.take_along_axis(x, positions(x, 0), 0)[1:])


@pytest.mark.parametrize("name", ["i4", "f8"])
def test_a_bucket_without_room_is_sorted_as_a_heap(name: str, monkeypatch: pytest.MonkeyPatch):
    """No bucket has room, so the least of each are counted, and others go into a heap."""
    monkeypatch.setattr(samplesort, "SLACK", 0)
    f = txc.jit(lambda x: np.sort(x)[::-1], passes=BY_NETWORKS)
    for n in (5000, 9000, 40_001):
        x = numbers(name, (n,))
        equal_bits(f(x), np.take_along_axis(x, positions(x, 0), 0)[::-1])


def test_rows_with_more_elements_than_positions_go_by_digits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(argsort32, "MOST", LONG)
    f = txc.jit(lambda x: np.argsort(x), passes=BY_NETWORKS)
    for n in (LONG, LONG + 1, 2 * LONG):
        x = numbers("f4", (n,))
        np.testing.assert_array_equal(f(x), positions(x, 0))


@pytest.mark.parametrize("name", ["f4", "f8", "i2"])
def test_rows_of_any_length_side_by_side(name: str):
    """Each dtype has two of: rows, columns, positions."""
    sorts = {
        "f4": lambda x: (np.sort(x), apply("sort", x, axis=0, descending=True)),
        "f8": lambda x: (np.sort(x), np.argsort(x)),
        "i2": lambda x: (np.argsort(x), apply("sort", x, axis=0, descending=True)),
    }
    f = txc.jit(sorts[name])
    for n in range(71):
        x = numbers(name, (37, n))
        up, down = positions(x, 1), positions(x, 0, True)
        rows, columns = np.take_along_axis(x, up, 1), np.take_along_axis(x, down, 0)
        expected = {"f4": (rows, columns), "f8": (rows, up), "i2": (up, columns)}[name]
        for found, wanted in zip(f(x), expected, strict=True):
            equal_bits(found, wanted)


def test_columns_of_any_layout():
    """Rows that are adjacent in memory need no change of places, whatever dims are around them."""
    x = numbers("f4", (37, 50))
    for axis in (0, 1):
        got = np.asarray(apply("sort", txc.asarray(x, layout="col"), axis=axis))
        equal_bits(got, np.take_along_axis(x, positions(x, axis), axis))
        back = x[:, ::-1]
        expected = np.take_along_axis(back, positions(back, axis), axis)
        f = txc.jit(lambda x, axis=axis: np.sort(x[:, ::-1], axis), passes=vectors(256))
        equal_bits(f(x), expected)


def orders(n: int) -> dict[str, np.ndarray]:
    """What is hard for sorts that depend on data."""
    drawn = np.random.default_rng(n).standard_normal(n)
    return {
        "ascending": np.sort(drawn), "descending": np.sort(drawn)[::-1].copy(), "equal": np.full(n, 2.5),
        "few": np.round(drawn), "the largest": np.full(n, np.inf), "no numbers": np.full(n, np.nan),
        "saw": np.arange(n) % 97 + 0.0, "some are no numbers": np.where(drawn > 1, np.nan, drawn),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "descending"), [("f2", True), ("f4", True), ("f8", False), ("i4", False), ("i8", True)]
)
def test_any_order_of_the_operand(name: str, descending: bool):
    """One block and several, whose last rows are not full."""
    f = txc.jit(lambda x: apply("sort", x, descending=descending), threads=2)
    for n in (1000, 140_003):
        for x in orders(n).values():
            if name[0] == "i":
                x = np.where(np.isfinite(x), np.where(np.isfinite(x), x, 0) * 1000, np.iinfo("i4").max)
            x = x.astype(name)
            equal_bits(f(x), np.take_along_axis(x, positions(x, 0, descending), 0))


def test_what_is_decided_is_a_remark():
    sorts = lambda x, y, z: (np.sort(x), np.sort(y), np.argsort(z))  # noqa: E731
    with collect() as remarks:
        text_at("loops", sorts, np.zeros(9, "f4"), np.zeros(9, "i1"), np.zeros(9), passes=BY_NETWORKS)
        text_at("loops", lambda x: np.sort(x), np.zeros(9, "f4"), passes=vectors(256))
    text = "\n".join(map(str, remarks))
    for said in ("sort of f32: sample sort", "sort of i8: radix sort", "argsort of f64: sample sort"):
        assert said in text
    assert "sort of f32: merge sort by networks" in text


def test_digits_that_are_the_same_everywhere_and_rows_already_in_order():
    f = txc.jit(lambda x: (np.sort(x), np.argsort(x)), passes=vectors(256))
    for x in (np.full(300, 7), np.arange(1000), np.arange(1000)[::-1], np.arange(300) % 3):
        values, found = f(x)
        np.testing.assert_array_equal(values, np.sort(x))
        np.testing.assert_array_equal(found, np.argsort(x, kind="stable"))


def test_every_stage_computes_the_same():
    x = numbers("f4", (3, 9))
    with Trace("f") as trace:
        t = trace.array_input("x", x)
        graph = trace.finish((np.sort(t * 2, axis=0), np.argsort(t), np.searchsorted(np.sort(t[0]), t)))
    report = bisect(graph, {"x": x}, Options.of(passes=vectors(256)))
    assert report.culprit is None, str(report)


def same_in_all_stages_in_small_buckets(sort: Callable[[Any], Any], x: np.ndarray, patch: pytest.MonkeyPatch) -> None:
    """Of buckets that are as small as vectors let them, rows that an interpreter can sort have several."""
    patch.setattr(samplesort, "bucket_elements", lambda costs, key, columns: columns * columns)
    with Trace("f") as trace:
        graph = trace.finish(sort(trace.array_input("x", x)))
    report = bisect(graph, {"x": x}, Options.of(passes=BY_NETWORKS))
    assert report.culprit is None, str(report)
    assert "loop.partition" in text_at("loops", sort, x, passes=BY_NETWORKS)


@pytest.mark.parametrize(("name", "n"), [("i4", 600), ("f8", 150)])
def test_every_stage_finds_the_same_in_buckets(name: str, n: int, monkeypatch: pytest.MonkeyPatch):
    same_in_all_stages_in_small_buckets(lambda x: np.sort(x), numbers(name, (2, n)), monkeypatch)


def test_every_stage_finds_the_same_wide_positions(monkeypatch: pytest.MonkeyPatch):
    x = of_equal_high_bits((150,), 1000)
    same_in_all_stages_in_small_buckets(lambda x: np.argsort(x), x, monkeypatch)


def test_searchsorted():
    names = [n for n in DTYPES if n != "bf16"]
    ways: list[tuple[str, Literal["left", "right"]]] = [*((n, "left") for n in names), *((n, "right") for n in names)]
    f = txc.jit(lambda given: [apply("searchsorted", *given[names.index(name)], side=side) for name, side in ways])
    for n in (0, 1, 2, 7, 8, 100):
        given = [(np.sort(numbers(name, (n,))), numbers(name, (3, 40))) for name in names]
        for (name, side), found in zip(ways, f(given), strict=True):
            expected = np.searchsorted(*given[names.index(name)], side)
            np.testing.assert_array_equal(found, expected, f"{name} {side}")


def test_the_language_and_methods():
    module = txc.compile_source(
        "def f(x: f32[n, m]) -> (f32[n, m], i64[n, m], i64[n, m]):\n"
        "    s = sort(x, axis=0)\n"
        "    return s, argsort(x), searchsorted(s[:, 0], x)\n"
    )
    x = np.random.default_rng(5).standard_normal((5, 12)).astype(np.float32)
    values, found, places = module.f(x)
    np.testing.assert_array_equal(values, np.sort(x, 0))
    np.testing.assert_array_equal(found, np.argsort(x, 1))
    np.testing.assert_array_equal(places, np.searchsorted(np.sort(x, 0)[:, 0], x))

    def in_place(x: Any) -> Any:
        y = x.copy()
        y.sort(axis=0)
        return y, x.argsort(0), *x.topk(3), *x.topk(2, axis=0, largest=False)

    y, found, largest, at, smallest, _ = txc.jit(in_place, passes=vectors(256))(x)
    np.testing.assert_array_equal(y, np.sort(x, 0))
    np.testing.assert_array_equal(found, np.argsort(x, 0))
    np.testing.assert_array_equal(largest, np.sort(x)[:, ::-1][:, :3])
    np.testing.assert_array_equal(np.take_along_axis(x, at, 1), largest)
    np.testing.assert_array_equal(smallest, np.sort(x, 0)[:2])


def test_a_column_major_tensor():
    x = np.random.default_rng(5).standard_normal((6, 8))
    np.testing.assert_array_equal(np.asarray(apply("sort", txc.asarray(x, layout="col"), axis=0)), np.sort(x, 0))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: np.sort(x[0, 0]), "axis -1 is out of range for rank 0"),
        (lambda x: apply("sort", x[0, 0]), "axis -1 is out of range for rank 0"),
        (lambda x: np.sort(x, axis=2), "axis 2 is out of range for rank 2"),
        (
            lambda x: np.sort(x, kind="bubble"),  # pyright: ignore
            "np.sort does not take kind='bubble'",
        ),
        (lambda x: np.sort(x, order="f"), "np.sort does not take order='f'"),
        (lambda x: x.argsort(order="f"), "argsort does not take order='f'"),
        (lambda x: apply("searchsorted", x, x), "searchsorted looks in a tensor of rank 1, not in f64"),
        (lambda x: apply("searchsorted", x[0], x.astype("f4")), "searchsorted needs operands of one dtype"),
        (lambda x: np.lexsort(()), "need sequence of keys|needs at least one key"),
    ],
)
def test_what_is_refused(call: Any, text: str):
    with pytest.raises((TxcError, TypeError), match=text):
        txc.jit(call)(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("bits", "dtype"),
    [(128, "f2"), (128, "f4"), (128, "f8"), (128, "i4"), (256, "f4"), (256, "i4"), (512, "f2"), (512, "f8")],
)
def test_vectors_of_any_length_sort_blocks_on_two_threads(bits: int, dtype: str):
    """Any width with each dtype: those that are not here `test_every_type` has."""
    x = (np.random.default_rng(bits).standard_normal(300_007) * 1000).astype(dtype)
    program = txc.jit(lambda x: np.sort(x), threads=2, passes=vectors(bits))
    for _ in range(3):
        equal_bits(np.asarray(program(x)), np.sort(x, kind="stable"))


@pytest.mark.parametrize("name", ["f4", "f8"])
def test_grids_of_few_rows_where_registers_are_few(monkeypatch: pytest.MonkeyPatch, name: str):
    """Vectors of a line on a machine with 16 registers: networks of eight rows, lanes that need sixteen."""
    usual = Machine.of_cpu
    monkeypatch.setattr(Machine, "of_cpu", staticmethod(lambda bits, _, name: usual(bits, 16, name)))
    f = txc.jit(lambda x: (np.sort(x), np.argsort(x), x + 16), passes=BY_NETWORKS)
    for n in (5, 40, 64, 65, 129, 257, 3000):
        x = numbers(name, (n,))
        expected = positions(x, 0)
        values, found, _ = f(x)
        np.testing.assert_array_equal(found, expected)
        equal_bits(values, x[expected])


KTH = [name for name in DTYPES if name not in ("?", "bf16", "c8", "c16")]


@pytest.mark.parametrize("name", KTH)
def test_elements_by_their_number_in_order(name: str):
    """Of rows that are sorted and of such as are not: the bits of what sorting puts there."""

    @txc.jit
    def program(x, places):
        places = as_tensor(places).reshape((x.shape[0], 2))
        kth = apply("kth_elements", x, places)
        return kth, apply("partition_positions", x, kth[:, 1:])

    for n in (1, 70, 2048, 2049, 5000):
        rng = np.random.default_rng(n)
        several = numbers(name, (3, n))
        different = (rng.standard_normal((3, n)) * 40).astype(name) if n > 70 else several
        for x in (several, different, np.sort(different, axis=1), np.zeros((3, n), name)):
            places = np.array([[(n - 1) // 2, n // 2], [0, n - 1], [-5, n + 5]])
            found = positions(x, 1)
            kth, parted = program(x, places)
            clipped = np.clip(places, 0, n - 1)
            equal_bits(kth, np.take_along_axis(np.take_along_axis(x, found, 1), clipped, 1))
            np.testing.assert_array_equal(np.sort(parted, axis=1), np.broadcast_to(np.arange(n), (3, n)))
            for values, order, pivot, k, row in zip(x, parted, kth[:, 1], clipped[:, 1], np.sort(x, axis=1)):
                moved = values[order]
                same = (moved == pivot) | ((moved != moved) & (pivot != pivot))
                first, last = np.flatnonzero(same)[[0, -1]]
                assert same[first : last + 1].all() and first <= k <= last
                for part in (slice(0, first), slice(first, last + 1), slice(last + 1, n)):
                    assert (np.diff(order[part]) > 0).all()
                    np.testing.assert_array_equal(np.sort(moved[part]), row[part])
