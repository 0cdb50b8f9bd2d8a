"""Matrix units: what each multiplies, what allows its order, and how operands lie in the block memory of GPUs.

One table, by which contractions are chosen, scheduled, emitted and interpreted.  Shapes and names are those of the
PTX manual ("Matrix multiply-accumulate operation using mma instruction"); those of CPUs have tiles (`loop/amx.py`).

**Pieces.**  On GPUs operands come into block memory in pieces of lines of 128 bytes.  A line holds elements along K of
one row of A or one column of B, or, where the piece is `turned`, elements of neighbouring rows (columns) at one place
along K.  Lines are cut into granules, which are what four threads of a warp hold of a row at once: 16 bytes, or four
elements where these are wider.  Granule ``g`` of line ``l`` lies at place ``g ^ l % (granules of a line)``: so eight
threads that ask for one granule of eight lines, or for all granules of one line, meet no bank of memory twice.  For
granules of 16 bytes this is what PTX calls the 128-byte swizzle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .dims.dims import Dim, dim
from .order import Order
from .types import DTYPES, DType

__all__ = ["GRANULE", "LINE", "UNITS", "MatrixUnit", "Piece", "allowed_units", "products_of", "unit_of", "wants_amx"]

#: Bytes of a line of a piece, and of the granules that copies of boxes can exchange in it.
LINE, GRANULE = 128, 16


@dataclass(frozen=True)
class MatrixUnit:
    """Adds products of `m` rows by 8 columns, `depth` along K, at once.

    `factors` are the element types of A and B as they lie in block memory, `sums` that of the result; `ptx` says the
    types as ``mma.sync`` does.  There from compute capability `least` on, as ten times the major one plus the minor.
    `allowed` is what ``fastmath`` has to hold, empty where sums are exact in any order.  Factors are first brought
    into the unit's format by LLVM's intrinsic `convert`, if there is one.  `warpgroup`: ``wgmma`` has it too.  A unit
    of a CPU has 16 columns, and instead of `ptx` and `least` the `feature` of its target.  It may take a factor of f32
    as the sum of so many `pieces` of bf16, each what the ones before leave, and leaves out the least of their products.
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
    pieces: int = 1

    @property
    def element(self) -> DType:
        """Of both factors; where these differ in sign, that of A."""
        return DTYPES[self.factors[0]]

    @property
    def order(self) -> Order:
        return Order("unit", self.depth, 1, "fma" if self.allowed else "", self.pieces)

    @property
    def products(self) -> tuple[tuple[int, int], ...]:
        """The pieces of A and of B that are multiplied; neighbours have one in common as far as it goes."""
        return products_of(self.pieces)

    @property
    def line(self) -> int:
        """Elements of a line of a piece, which is also how far a piece goes along K."""
        return LINE // self.element.bytes

    @property
    def granule(self) -> int:
        """Elements of a granule."""
        return max(16 // self.element.bytes, 4)

    @property
    def turns(self) -> bool:
        """Whether fragments can be loaded from turned pieces: ``ldmatrix`` transposes elements of 16 bits only."""
        return self.element.bits == 16

    @property
    def registers(self) -> str:
        """The letter of an accumulator's registers in inline assembly."""
        return {"f32": "f", "f64": "d", "i32": "r"}[self.sums]


def products_of(pieces: int) -> tuple[tuple[int, int], ...]:
    """Of which pieces of two factors the products are more than the last piece leaves out."""
    ways = [list(range(pieces - i)) for i in range(pieces)]
    return tuple((i, j) for i, way in enumerate(ways) for j in (way if i % 2 else way[::-1]))


def _amx(name: str, factor: str, allowed: str, pieces: int = 1) -> MatrixUnit:
    kinds = {"allowed": allowed, "feature": "amx-bf16", "pieces": pieces}
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
class Piece:
    """How `size` rows of A, or columns of B, by ``unit.line`` elements along K lie in block memory."""

    unit: MatrixUnit
    size: int
    turned: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """Panels (of a line's width, where pieces are turned), lines of a panel, granules, elements."""
        panels, lines = (self.size // self.unit.line, self.unit.line) if self.turned else (1, self.size)
        return panels, lines, self.unit.line // self.unit.granule, self.unit.granule

    @property
    def bytes(self) -> int:
        return self.size * LINE

    def place(self, beside: Dim, k: Dim) -> list[Dim]:
        """The indices of an element: row of A or column of B, and place along K."""
        unit = self.unit
        panel, line, along = (beside // unit.line, k, beside % unit.line) if self.turned else (dim(0), beside, k)
        return [panel, line, self.granule(along // unit.granule, line), along % unit.granule]

    def granule(self, number: Dim, line: Dim) -> Dim:
        """Where a granule of a line lies."""
        return number ^ line % self.shape[2]
