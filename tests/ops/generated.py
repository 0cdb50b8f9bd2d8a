"""What the generated tests share: the product of cases, arrays of every kind, and programs that hold many cases.

A case is one op on one dtype, in one of the user's layouts, on arrays of one kind and rank.  The tests run the whole
product; `test_op_matrix_cases.py` holds it against the registry.  Machine code depends on dtype, rank and whether
memory is packed, so one program has the three of many cases, and each of its calls is for other kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from txc.compiler.call.facts import StrideClass
from txc.compiler.config.options import Options
from txc.compiler.driver.compile_cache import compiled
from txc.compiler.driver.executable import Executable
from txc.compiler.frontend.trace.trace import Trace
from txc.dialects.registry import OPS, Map, Op, Reduction, Scan, View
from txc.dialects.types import DTYPES

LAYOUTS = ("row", "col")
KINDS = ("contiguous", "strided", "broadcast", "size 0", "size 1")
RANKS = range(7)
#: Sizes for each rank, in the order of the graph: with whole vectors and rests of them in the last dim of most.
SHAPES: tuple[tuple[int, ...], ...] = (
    (), (131,), (3, 37), (4, 2, 17), (2, 3, 1, 19), (2, 1, 3, 2, 9), (2, 3, 1, 2, 2, 5)
)  # fmt: skip
PACKED: StrideClass = ("packed",)
#: Vectors of few lanes and no copies of loops: code that is made fast.
NARROW = "tx-schedule-cpu{vector-bits=128 unroll=1}"
#: As narrow as vectors are.
PAIRS = "tx-schedule-cpu{lanes=2 unroll=1}"


class Case(NamedTuple):
    """One op on arrays of one dtype, user's layout, kind and rank."""

    op: str
    dtype: str
    layout: str
    kind: str
    rank: int

    def __str__(self) -> str:
        return f"{self.op} of {self.dtype}, {self.layout}-major, {self.kind}, rank {self.rank}"


def kinds(rank: int) -> tuple[str, ...]:
    """The kinds of arrays of a rank: one of rank 0 has one element, at one place."""
    return KINDS if rank else ("contiguous",)


def cases(op: str, name: str) -> Iterator[Case]:
    """All cases of an op on a dtype."""
    return (Case(op, name, layout, kind, rank) for layout in LAYOUTS for rank in RANKS for kind in kinds(rank))


def any_strides(rank: int) -> StrideClass:
    return ("strides", *"s" * rank)


#: Made of functions of users: `test_custom_folds.py` and `test_scalar_loops.py` test them.
BY_FUNCTION = {"scalar_map", "fold", "running"}
MAPS = [op for op in OPS.values() if issubclass(op, Map) and op.name not in BY_FUNCTION]
REDUCTIONS = [op for op in OPS.values() if issubclass(op, Reduction) and op.name not in BY_FUNCTION]
SCANS = [op for op in OPS.values() if issubclass(op, Scan) and op.name not in BY_FUNCTION]
VIEWS = [op for op in OPS.values() if issubclass(op, View)]


def dtypes_of(op: type[Op]) -> list[str]:
    """The dtypes an op takes by its declaration: all, where it says nothing of them."""
    declared = op.reduction() if issubclass(op, Scan) else op
    taken = getattr(declared, "dtypes", None)
    return [name for name, element in DTYPES.items() if taken is None or element.kind in taken]


def part_of(name: str) -> tuple[int, int]:
    """Which part, and of how many, of what dtypes of one kind share falls to this one; four have all parts."""
    alike = [other for other, element in DTYPES.items() if element.kind == DTYPES[name].kind]
    count = min(4, len(alike))
    return alike.index(name) % count, count


#: Zeros of both signs, ones, a denormal of f32 and one of f64, infinities, NaN and large numbers.
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-40, 3e-320, np.inf, -np.inf, np.nan, 3e38, -7e4)
#: Those on which complex functions have one meaning everywhere: `test_complex_edges.py` has the others.
FINITE = (0.0, -0.0, 1.0, -1.0, 0.5)


def values(
    name: str, shape: Sequence[int], seed: int, domain: tuple[float, float], special: bool | Sequence[float]
) -> np.ndarray:
    """An array of that dtype drawn from the domain; `special` puts zeros, infinities, NaNs and limits into it.

    Parts of complex numbers are of all sizes around 1, with the special values given.
    """
    element, rng = DTYPES[name], np.random.default_rng(seed)
    size = int(np.prod(shape))
    marked = SPECIAL if special is True else tuple(special or ())
    if element.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if element.is_complex:
        made = np.empty(shape, element.numpy)
        for part in ("real", "imag"):
            found = rng.uniform(-3, 3, shape) * 2.0 ** rng.integers(-6, 2, shape)
            if marked:
                found = np.where(rng.random(shape) < 0.3, rng.choice(marked, shape), found)
            with np.errstate(over="ignore"):
                setattr(made, part, found.astype(element.part.numpy))
        return made
    if element.is_integer:
        info = np.iinfo(element.numpy)
        low, high = max(info.min, int(domain[0])), min(info.max, int(domain[1]))
        found = rng.integers(low, high, size, endpoint=True).astype(element.numpy)
        picked = np.array([info.min, info.max, 0, 1], element.numpy)
    else:
        found = rng.uniform(*domain, size).astype(element.numpy)
        with np.errstate(over="ignore"):
            picked = np.array(marked, np.float64).astype(element.numpy)
    if marked and size:
        at = rng.permutation(size)[: max(1, size // 2)]
        found[at] = rng.choice(picked, len(at))
    return found.reshape(shape)


def inside(a: np.ndarray, steps: Sequence[int]) -> np.ndarray:
    """The values of `a` in a larger array, some elements apart."""
    roomy = np.zeros([n * s for n, s in zip(a.shape, steps)], a.dtype)
    view = roomy[(..., *(slice(None, None, s) for _, s in zip(a.shape, steps)))]
    view[...] = a
    return view


def strided(a: np.ndarray) -> np.ndarray:
    """The same values with gaps, stored in another order and backwards in every second dim."""
    flips = tuple(slice(None, None, -1 if i % 2 else 1) for i in range(a.ndim))
    return inside(a[flips].T, (2, 3, 1) * a.ndim).T[flips]


def repeated(a: np.ndarray) -> np.ndarray:
    """The first part of every second dim, over and over: strides of 0."""
    return np.broadcast_to(a[tuple(slice(None, None if i % 2 else 1) for i in range(a.ndim))], a.shape)


class Slot(NamedTuple):
    """Operands of a rank as a program has them; `packed` or with strides that are known only at run time."""

    rank: int
    packed: bool

    @property
    def fact(self) -> StrideClass:
        return PACKED if self.packed else any_strides(self.rank)

    def kind(self, call: int) -> str:
        """The kind of its arrays in a call: all kinds come in turn."""
        if not self.rank:
            return "contiguous"
        return (("contiguous", "size 0", "size 1") if self.packed else ("strided", "broadcast", "size 0"))[call]

    def nearest(self, kind: str) -> str:
        """The kind itself where its arrays can have that, else the usual one."""
        return kind if self.rank and (not self.packed or kind in ("size 0", "size 1")) else "contiguous"


SLOTS = [Slot(rank, packed) for rank in RANKS for packed in ((True, False) if rank else (True,))]
CALLS = 3


def shape_of(rank: int, kind: str, none: int | None = None) -> tuple[int, ...]:
    """The sizes of a rank, in the graph's order; of size 0 is the dim `none`, which is the middle one if not given."""
    usual = SHAPES[rank]
    if kind == "size 0":
        return tuple(0 if i == (rank // 2 if none is None else none) else n for i, n in enumerate(usual))
    return (1,) * rank if kind == "size 1" else usual


def placed(a: np.ndarray, kind: str) -> np.ndarray:
    """An array of these values whose memory is of a kind."""
    arrange: dict[str, Callable[[np.ndarray], np.ndarray]] = {"strided": strided, "broadcast": repeated}
    return arrange.get(kind, lambda given: given)(a)


class Program:
    """A function under construction: inputs of any layout facts, and the outputs made of them."""

    def __init__(self, name: str):
        self.trace = Trace(name)
        self.outputs: list[Any] = []
        self.facts: list[StrideClass] = []

    def __enter__(self) -> Program:
        self.trace.__enter__()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            # Views become nodes only now, so the trace must still be open.
            self.graph = self.trace.finish(tuple(self.outputs), declared=True)
        self.trace.__exit__()

    def input(self, example: np.ndarray, fact: StrideClass, layout: str = "row", like: Any = None) -> Any:
        """An operand like `example`, which is in the graph's order of dims; column-major it has them reversed.

        Its sizes are those of the operand `like`: so both layouts have one graph, and its code is made once.
        """
        self.facts.append(fact)
        made = self.trace.array_input(f"x{len(self.facts)}", example)
        for mine, its in zip(made.value.type.dims, like.value.type.dims if like is not None else ()):
            self.trace.table.equate(its, mine, "the sizes of operands")
        flipped = made.swap_layout()
        return flipped if layout == "col" else flipped.swap_layout()

    def compile(self, options: Options | None = None) -> Executable:
        return compiled(self.graph, self.facts, options or Options.of())


def in_users_order(a: np.ndarray, layout: str) -> np.ndarray:
    """An array of the graph as the user of a layout counts its dims."""
    return a.T if layout == "col" else a


def chunks(items: Iterable[Any], count: int) -> Iterator[list[Any]]:
    """The items, at most `count` at a time, in parts of nearly equal length."""
    given = list(items)
    parts = -(-len(given) // count)
    for i in range(parts):
        yield given[i * len(given) // parts : (i + 1) * len(given) // parts]
