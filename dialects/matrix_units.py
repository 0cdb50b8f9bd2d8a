"""Matrix units: what each multiplies, what allows its order, and the layout of operands in the shared memory of GPUs.

One table, by which contractions are chosen, scheduled, emitted and interpreted.  Shapes and names are those of the
PTX manual ("Matrix multiply-accumulate operation using mma instruction"); those of CPUs have tiles (`loop/amx.py`).

**Stage tiles.**  On GPUs operands are copied to shared memory in tiles of lines of 128 bytes.  A line holds elements
along K of one row of A or one column of B, or, where the tile is `transposed`, elements of neighbouring rows (columns)
at one index along K.  Lines are cut into granules, which are what four threads of a warp hold of a row at once: 16
bytes, or four elements where these are wider.  Granule ``g`` of line ``l`` is at index ``g ^ l % (granules of a
line)``: so eight threads that load one granule of eight lines, or all granules of one line, have no bank conflict.  For
granules of 16 bytes this is what PTX calls the 128-byte swizzle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .dims.dims import Dim, dim
from .order import Order
from .types import DTYPES, DType

__all__ = [
    "GRANULE",
    "LINE",
    "UNITS",
    "MatrixUnit",
    "StageTile",
    "allowed_units",
    "products_of",
    "unit_of",
    "wants_amx",
]

#: Bytes of a line of a stage tile, and of the granules that TMA swizzles in it.
LINE, GRANULE = 128, 16


@dataclass(frozen=True)
class MatrixUnit:
    """Adds products of `m` rows by 8 columns, `depth` along K, at once.

    `factors` are the element types of A and B as they lie in shared memory, `sums` that of the result; `ptx` says the
    types as ``mma.sync`` does.  There from compute capability `least` on, as ten times the major one plus the minor.
    `allowed` is what ``fastmath`` has to hold, empty where sums are exact in any order.  Factors are first brought
    into the unit's format by LLVM's intrinsic `convert`, if there is one.  `warpgroup`: ``wgmma`` has it too.  A unit
    of a CPU has 16 columns, and instead of `ptx` and `least` the `feature` of its target.  It may take a factor of f32
    as the sum of so many `terms` of bf16, each what the ones before leave, and leaves out the least of their products.
    """

    name: str
    factors: tuple[str, str]
    sums: str
    m: int
    depth: int
    ptx: str
    least: int = 80
    allowed: str = ""
    convert: str = ""
    warpgroup: bool = False
    feature: str = ""
    terms: int = 1

    @property
    def element(self) -> DType:
        """Of both factors; where these differ in sign, that of A."""
        return DTYPES[self.factors[0]]

    @property
    def order(self) -> Order:
        return Order("unit", self.depth, 1, "fma" if self.allowed else "", self.terms)

    @property
    def products(self) -> tuple[tuple[int, int], ...]:
        """The terms of A and of B that are multiplied; neighbours have one in common as far as it goes."""
        return products_of(self.terms)

    @property
    def line(self) -> int:
        """Elements of a line of a stage tile, which is also its extent along K."""
        return LINE // self.element.bytes

    @property
    def granule(self) -> int:
        """Elements of a granule."""
        return max(16 // self.element.bytes, 4)

    @property
    def transposes(self) -> bool:
        """Whether fragments can be loaded from transposed tiles: ``ldmatrix`` transposes elements of 16 bits only."""
        return self.element.bits == 16

    @property
    def registers(self) -> str:
        """The letter of an accumulator's registers in inline assembly."""
        return {"f32": "f", "f64": "d", "i32": "r"}[self.sums]


def products_of(terms: int) -> tuple[tuple[int, int], ...]:
    """The terms of two factors whose products exceed what the last term leaves out."""
    ways = [list(range(terms - i)) for i in range(terms)]
    return tuple((i, j) for i, way in enumerate(ways) for j in (way if i % 2 else way[::-1]))


def _amx(name: str, factor: str, allowed: str, terms: int = 1) -> MatrixUnit:
    kinds = {"allowed": allowed, "feature": "amx-bf16", "terms": terms}
    return MatrixUnit(f"{name}_amx", (factor, factor), "f32", 16, 32, "", **kinds)


def _half(name: str) -> MatrixUnit:
    return MatrixUnit(
        name, (name, name), "f32", 16, 16, f"f32.{name}.{name}.f32", allowed="reassoc", warpgroup=True
    )  # fmt: skip


def _bytes(a: str, b: str) -> MatrixUnit:
    ptx = f"s32.{a.replace('i', 's')}.{b.replace('i', 's')}.s32"
    # ``wgmma`` of factors that differ in sign came with PTX 8.4, of which drivers before 12.4 take nothing.
    return MatrixUnit(f"{a}_{b}", (a, b), "i32", 16, 32, ptx, warpgroup=a == b)


#: Of units with equal factors the last one that a machine has is the one it uses.
UNITS = (
    _half("f16"),
    _half("bf16"),
    MatrixUnit(
        "tf32", ("f32", "f32"), "f32", 16, 8, "f32.tf32.tf32.f32", allowed="tf32", convert="llvm.nvvm.f2tf32.rna"
    ),
    MatrixUnit("f64", ("f64", "f64"), "f64", 8, 4, "f64.f64.f64.f64", allowed="reassoc"),
    MatrixUnit("f64_k8", ("f64", "f64"), "f64", 16, 8, "f64.f64.f64.f64", least=90, allowed="reassoc"),
    *(_bytes(a, b) for a in ("i8", "u8") for b in ("i8", "u8")),
    _amx("bf16", "bf16", "reassoc"),
    _amx("bf16x3", "f32", "bf16x3", 2),
    _amx("bf16x6", "f32", "bf16x6", 3),
)


def allowed_units(capability: int, fastmath: Iterable[str], features: Iterable[str] = ()) -> tuple[str, ...]:
    """The names of the units that a GPU of a capability, or a CPU, has and whose order of sums is allowed."""
    allowed, there = {"", *fastmath}, {f.removeprefix("+") for f in features}
    has = (u.feature in there if u.feature else u.least <= capability for u in UNITS)
    return tuple(u.name for u, is_there in zip(UNITS, has) if is_there and u.allowed in allowed)


def wants_amx(fastmath: Iterable[str]) -> bool:
    """Whether what is allowed allows the order of a CPU's unit."""
    return any(u.feature and u.allowed in fastmath for u in UNITS)


def unit_of(factors: Sequence[str], order: Order) -> MatrixUnit | None:
    """The unit for factors of these types whose sums have this order."""
    found = [u for u in UNITS if u.factors == tuple(factors) and u.order == order]
    return found[0] if found else None


@dataclass(frozen=True)
class StageTile:
    """How `size` rows of A, or columns of B, by ``unit.line`` elements along K lie in shared memory."""

    unit: MatrixUnit
    size: int
    transposed: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Panels (of a line's width, where tiles are transposed), lines of a panel, granules, elements."""
        panels, lines = (self.size // self.unit.line, self.unit.line) if self.transposed else (1, self.size)
        return panels, lines, self.unit.line // self.unit.granule, self.unit.granule

    @property
    def bytes(self) -> int:
        return self.size * LINE

    def index(self, beside: Dim, k: Dim) -> list[Dim]:
        """The indices of an element: row of A or column of B, and index along K."""
        unit = self.unit
        panel, line, along = (beside // unit.line, k, beside % unit.line) if self.transposed else (dim(0), beside, k)
        return [panel, line, self.granule(along // unit.granule, line), along % unit.granule]

    def granule(self, number: Dim, line: Dim) -> Dim:
        """The index of a granule in a line."""
        return number ^ line % self.shape[2]
