"""The table of families: which programs at which sizes, dtypes and layouts, and the work that one call does.

A family has at least three fixed sizes, from one that fits the first caches to one that fits none, and one size that is
drawn anew in each run, around a middle one: a compiler tuned to the sizes of its benchmark is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import programs

__all__ = ["FAMILIES", "Family", "Workload", "workloads"]

Size = tuple[int, ...]


@dataclass(frozen=True)
class Family:
    """Programs of one kind.

    `shapes` gives the shapes of the arguments at a size, `places` those of arguments behind the first that
    index its first dim; `elements` how many elements one call must move at least (each argument read once, the result
    written once), `flops` how many operations it counts.  `seen` is what of a result is compared, to `tolerance`
    where that is not the dtype's: random numbers have only their distribution in common.  Operations of a map that is
    `counted` are those of txc's machine code (`instructions.py`).  With `peers`, these alone can
    be asked: the others have no word for loops that each element runs for itself, or for stores at data.
    """

    name: str
    program: Callable[..., Any]
    sizes: Sequence[Size]
    shapes: Callable[..., Sequence[Size]]
    elements: Callable[..., float]
    flops: Callable[..., float] = lambda *size: 0.0
    counted: bool = False
    dtypes: Sequence[str] = ("f4", "f8")
    layouts: Sequence[str] = ("row", "col")
    positive: bool = False
    places: Callable[..., Sequence[Size]] = lambda *size: []
    seen: Callable[[Any], Any] = lambda result: result
    tolerance: float | None = None
    peers: Sequence[str] = ()


@dataclass(frozen=True)
class Workload:
    """A family's program on arguments of one size, dtype and layout."""

    family: Family
    size: Size
    dtype: str
    layout: str
    random: bool
    arguments: tuple[np.ndarray[Any, Any], ...]

    @property
    def name(self) -> str:
        drawn = " (drawn)" if self.random else ""
        return f"{'×'.join(map(str, self.size))} {self.dtype} {self.layout}{drawn}"

    @property
    def bytes(self) -> float:
        return float(self.family.elements(*self.size)) * np.dtype(self.dtype).itemsize

    @property
    def flops(self) -> float:
        return float(self.family.flops(*self.size))


def _matrix(*size: int) -> list[Size]:
    return [size]


def _elements(*size: int) -> float:
    return float(np.prod(size))


def _maps(arguments: int) -> dict[str, Any]:
    """Maps of so many arrays to one."""
    return {
        "sizes": ((1000,), (100_000,), (10_000_000,)),
        "shapes": lambda n: [(n,)] * arguments,
        "elements": lambda n: n * (arguments + 1.0),
        "layouts": ("row",),
    }


def _moved(factor: float = 2.0) -> dict[str, Any]:
    """Movements of a matrix, of so many reads and writes an element."""
    return {
        "sizes": ((60, 50), (500, 400), (3000, 4000)),
        "shapes": _matrix,
        "elements": lambda n, m: factor * n * m,
        "layouts": ("row",),
    }


_FOLDED: dict[str, Any] = {"sizes": ((60, 50), (500, 400), (4096, 4096)), "shapes": _matrix, "elements": _elements}
_ROWS: dict[str, Any] = {
    "sizes": ((64, 100), (1000, 300), (4096, 1024)), "shapes": _matrix, "elements": lambda n, m: 2.0 * n * m,
}  # fmt: skip
_PRODUCT: dict[str, Any] = {
    "sizes": ((64, 64, 64), (256, 256, 256), (1024, 1024, 1024), (2000, 16, 300)),
    "elements": lambda m, k, n: m * k + k * n + m * n,
    "flops": lambda m, k, n: 2.0 * m * k * n,
    "layouts": ("row",),
}
_TRANSFORM: dict[str, Any] = {
    "sizes": ((16, 1024), (256, 1000), (256, 1024), (256, 1009), (4096, 1024)),
    "shapes": _matrix,
    "elements": lambda n, m: 2.0 * n * m,
    "flops": lambda n, m: 5.0 * n * m * np.log2(m),
    "dtypes": ("c8", "c16"),
    "layouts": ("row",),
}
_IMAGES: dict[str, Any] = {
    "sizes": ((1, 14, 14, 16), (1, 56, 56, 64), (8, 112, 112, 64)),
    "layouts": ("row",),
    "elements": lambda n, h, w, c: 2.0 * n * h * w * c,
}
_RANDOM: dict[str, Any] = {
    **_maps(1),
    "sizes": ((10_000,), (1_000_000,), (10_000_000,)),
    "elements": lambda n: n,
    "tolerance": 0.1,
    "seen": lambda made: np.quantile(np.asarray(made), (0.1, 0.25, 0.75, 0.9)),
}
_SORTED: dict[str, Any] = {**_maps(1), "sizes": ((1000,), (1_000_000,), (10_000_000,))}
_LOOPS: dict[str, Any] = {"dtypes": ("f8",), "layouts": ("row",), "peers": ("txc", "numpy", "numba")}
_STENCIL: dict[str, Any] = {
    "sizes": ((60, 50), (500, 400), (3000, 2000)), "shapes": _matrix, "elements": lambda n, m: 2.0 * n * m,
}  # fmt: skip


def _family(name: str, program: Callable[..., Any], base: dict[str, Any], **more: Any) -> tuple[str, Family]:
    return name, Family(name, program, **{**base, **more})


FAMILIES: dict[str, Family] = dict(
    [
        _family("copy", programs.copy, _maps(1), flops=lambda n: 0.0),
        _family("add", programs.add, _maps(2), flops=lambda n: n),
        _family(
            "lowered", programs.lowered, _maps(2), sizes=((1000,), (30_000,), (10_000_000,)),
            elements=lambda n: 3.0 * n, peers=("txc", "numpy"),
        ),
        _family("add-three", programs.add_three, _maps(3), flops=lambda n: 2 * n),
        _family(
            "sum-difference", programs.sum_and_difference, _maps(2), elements=lambda n: 4.0 * n, flops=lambda n: 2 * n
        ),
        _family("chain", programs.chain, _maps(2), counted=True, positive=True),
        _family(
            "tensure-mutation", programs.tensure_mutation, _FOLDED, shapes=lambda n, m: [(n, m)] * 2,
            elements=lambda n, m: 3.0 * n * m, flops=lambda n, m: 5.0 * n * m, layouts=("row",), positive=True,
        ),
        _family("exp-chain", programs.exp_chain, _maps(1), counted=True),
        _family("gelu", programs.gelu, _maps(1), counted=True),
        _family("black-scholes", programs.black_scholes, _maps(3), counted=True, positive=True),
        _family("cast-to-double", programs.to_double, _maps(1), dtypes=("f4",), elements=lambda n: 3.0 * n),
        _family("cast-to-single", programs.to_single, _maps(1), dtypes=("f8",), elements=lambda n: 1.5 * n),
        _family(
            "broadcast-add", programs.broadcast_add, _moved(),
            shapes=lambda n, m: [(n, m), (1, m), (n, 1)], layouts=("row", "col"),
        ),
        _family(
            "broadcast-exp", programs.broadcast_exp, _moved(),
            shapes=lambda n, m: [(n, m), (1, m)], flops=lambda n, m: n * m,
        ),
        _family(
            "transposed-add", programs.transposed_add, _moved(3.0),
            shapes=lambda n, m: [(n, m)] * 2, flops=lambda n, m: n * m,
        ),
        _family("sum", programs.total, _FOLDED),
        _family("row-sum", programs.row_sum, _FOLDED),
        _family("column-sum", programs.column_sum, _FOLDED),
        _family("row-argmax", programs.row_argmax, _FOLDED),
        _family("column-argmax", programs.column_argmax, _FOLDED),
        _family("mean-variance", programs.mean_and_variance, _FOLDED),
        _family("softmax-rows", programs.softmax_rows, _ROWS, flops=lambda n, m: 25.0 * n * m),
        _family("softmax-columns", programs.softmax_columns, _ROWS, flops=lambda n, m: 25.0 * n * m),
        _family("logsumexp", programs.logsumexp, _ROWS, elements=lambda n, m: n * m, flops=lambda n, m: 25.0 * n * m),
        _family(
            "layer-norm", programs.layer_norm, _ROWS, shapes=lambda n, m: [(n, m), (m,), (m,)], layouts=("row",)
        ),
        _family("transpose", programs.transpose, _moved()),
        _family(
            "swap-last", programs.swap_last, _moved(), sizes=((4, 30, 20), (16, 128, 100), (32, 512, 700)),
            elements=lambda b, n, m: 2.0 * b * n * m,
        ),
        _family(
            "channels-first", programs.channels_first, _moved(),
            sizes=((2, 14, 14, 16), (8, 28, 28, 64), (16, 112, 112, 64)),
            elements=lambda n, h, w, c: 2.0 * n * h * w * c,
        ),
        _family("roll", programs.roll, _moved()),
        _family("pad", programs.pad, _moved()),
        _family("concatenate", programs.concatenate, _moved(), shapes=lambda n, m: [(n, m // 2), (n, m - m // 2)]),
        _family("every-other", programs.every_other, _moved(0.75)),
        _family("column-chip", programs.column_chip, _moved(), elements=lambda n, m: 2.0 * n),
        _family("stencil", programs.stencil, _STENCIL, flops=lambda n, m: 5.0 * n * m),
        _family(
            "heat", programs.heat, _STENCIL, elements=lambda n, m: 20.0 * n * m, flops=lambda n, m: 60.0 * n * m,
            layouts=("row",),
        ),
        _family("cumsum", programs.cumsum, _ROWS),
        _family("cumsum-columns", programs.cumsum_columns, _ROWS),
        _family("fft", programs.fft_rows, _TRANSFORM),
        _family(
            "fft-2d", programs.fft_plane, _TRANSFORM, sizes=((64, 64), (1024, 1024), (2048, 2048)),
            flops=lambda n, m: 5.0 * n * m * np.log2(n * m),
        ),
        _family(
            "fft-real", programs.fft_real, _TRANSFORM, dtypes=("f4", "f8"),
            flops=lambda n, m: 2.5 * n * m * np.log2(m),
        ),
        _family(
            "convolution", programs.convolve_channels, _IMAGES, shapes=lambda n, h, w, c: [(n, h, w, c), (3, 3, c, c)],
            flops=lambda n, h, w, c: 18.0 * n * (h - 2) * (w - 2) * c * c,
        ),
        _family(
            "convolution-depthwise", programs.convolve_depthwise, _IMAGES,
            shapes=lambda n, h, w, c: [(n, h, w, c), (3, 3, c)],
            flops=lambda n, h, w, c: 18.0 * n * (h - 2) * (w - 2) * c,
        ),
        _family(
            "convolve", programs.convolve_plane, _STENCIL, shapes=lambda n, m: [(n, m), (5, 5)],
            flops=lambda n, m: 50.0 * (n - 4) * (m - 4), layouts=("row",),
        ),
        _family("random-uniform", programs.random_uniform, _RANDOM),
        _family("random-normal", programs.random_normal, _RANDOM),
        _family("sort", programs.sort, _SORTED),
        _family("median", programs.median, _SORTED, elements=lambda n: n, peers=("txc", "numpy")),
        # Positions of equal elements differ between peers.
        _family("argsort", programs.argsort, _SORTED, seen=np.sort, elements=lambda n: 3.0 * n),
        _family(
            "take-rows", programs.take_rows, _moved(), places=lambda n, m: [(n,)],
            elements=lambda n, m: 2.0 * n * m,
        ),
        _family("take", programs.take_elements, _maps(1), places=lambda n: [(n,)], elements=lambda n: 4.0 * n),
        _family(
            "scatter-add", programs.scatter_add, _maps(1), shapes=lambda n: [(n // 4,), (n,)],
            places=lambda n: [(n,)], elements=lambda n: 3.5 * n,
        ),
        _family(
            "chosen", programs.chosen, _LOOPS, sizes=((100,), (10_000,), (1_000_000,)), shapes=lambda n: [(n,)],
            elements=lambda n: 2.0 * n, peers=("txc", "numpy"),
        ),
        _family(
            "mandelbrot", programs.mandelbrot, _LOOPS, sizes=((30, 20), (120, 100), (500, 400)),
            shapes=lambda n, m: [(n,), (m,)], elements=lambda n, m: n * m,
        ),
        _family(
            "k-means", programs.k_means, _LOOPS, sizes=((2, 8, 1000), (2, 8, 20_000), (16, 32, 20_000)),
            shapes=lambda d, k, n: [(d, n), (d, k)], elements=lambda d, k, n: 10.0 * d * n,
            flops=lambda d, k, n: 30.0 * d * k * n,
        ),
        _family("matmul", programs.matmul, _PRODUCT, shapes=lambda m, k, n: [(m, k), (k, n)], layouts=("row", "col")),
        _family(
            "matmul-right-transposed", programs.matmul_right_transposed, _PRODUCT,
            shapes=lambda m, k, n: [(m, k), (n, k)],
        ),
        _family(
            "matmul-left-transposed", programs.matmul_left_transposed, _PRODUCT,
            shapes=lambda m, k, n: [(k, m), (k, n)],
        ),
        _family(
            "own-transpose", programs.own_transpose, _PRODUCT, sizes=((100, 20), (1000, 64), (5000, 300), (512, 512)),
            shapes=_matrix, elements=lambda n, m: n * m + m * m, flops=lambda n, m: n * m * (m + 1.0),
        ),
        _family(
            "dense-gelu", programs.dense_gelu, _PRODUCT, shapes=lambda m, k, n: [(m, k), (k, n), (n,)],
            flops=lambda m, k, n: 2.0 * m * k * n + 40.0 * m * n,
        ),
        _family(
            "matmul-i32", programs.matmul, _PRODUCT, shapes=lambda m, k, n: [(m, k), (k, n)], dtypes=("i4",),
            sizes=((64, 64, 64), (200, 200, 200), (400, 400, 400)),
        ),
        _family(
            "small-products", programs.matmul, _PRODUCT,
            sizes=((100, 8, 8, 8), (10_000, 8, 8, 8), (100_000, 8, 8, 8), (50_000, 4, 4, 4)),
            shapes=lambda b, m, k, n: [(b, m, k), (b, k, n)],
            elements=lambda b, m, k, n: b * (m * k + k * n + m * n), flops=lambda b, m, k, n: 2.0 * b * m * k * n,
        ),
        _family(
            "matrix-vector", programs.matmul, _PRODUCT, sizes=((60, 50), (500, 400), (4096, 4096)),
            shapes=lambda n, m: [(n, m), (m,)], elements=lambda n, m: n * m, flops=lambda n, m: 2.0 * n * m,
            layouts=("row", "col"),
        ),
        _family(
            "attention", programs.attention, _PRODUCT, sizes=((2, 64, 32), (8, 256, 64), (16, 512, 64)),
            shapes=lambda b, n, d: [(b, n, d)] * 3, elements=lambda b, n, d: 4.0 * b * n * d,
            flops=lambda b, n, d: 4.0 * b * n * n * d + 25.0 * b * n * n,
        ),
    ]
)  # fmt: skip


def _drawn(family: Family, rng: np.random.Generator) -> Size:
    """A size between half and twice the middle fixed one, each dim by itself; small fixed dims stay."""
    middle = family.sizes[len(family.sizes) // 2]
    return tuple(d if d <= 8 else int(d * 2.0 ** rng.uniform(-1, 1)) for d in middle)


def _argument(rng: np.random.Generator, shape: Size, dtype: str, layout: str, positive: bool) -> np.ndarray[Any, Any]:
    if np.dtype(dtype).kind == "i":
        made = rng.integers(-100, 100, shape).astype(dtype)
    elif np.dtype(dtype).kind == "c":
        made = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    else:
        made = rng.random(shape, dtype="f4" if dtype == "f4" else "f8").astype(dtype)
        made += np.array(0.5 if positive else -0.5, dtype)
    return np.asfortranarray(made) if layout == "col" else made


def workloads(
    names: Sequence[str],
    seed: int,
    *,
    quick: bool = False,
    dtypes: Sequence[str] = (),
    layouts: Sequence[str] = (),
    sizes: Sequence[int] = (),
) -> Iterator[Workload]:
    """The workloads of families, of the given dtypes, layouts and numbers of sizes only, where any are given.

    `quick`: the smallest size, one dtype, one layout.  The drawn size's number is the last.
    """
    for name in names:
        family = FAMILIES[name]
        rng = np.random.default_rng([seed, *name.encode()])
        every = [*((s, False) for s in family.sizes), (_drawn(family, rng), True)]
        chosen = every[:1] if quick else [s for i, s in enumerate(every) if not sizes or i in sizes]
        for size, random in chosen:
            for dtype in [d for d in family.dtypes if not dtypes or d in dtypes][: 1 if quick else None]:
                for layout in [x for x in family.layouts if not layouts or x in layouts][: 1 if quick else None]:
                    made = [_argument(rng, s, dtype, layout, family.positive) for s in family.shapes(*size)]
                    made[1:1] = [rng.integers(0, made[0].shape[0], s) for s in family.places(*size)]
                    yield Workload(family, size, dtype, layout, random, tuple(made))
