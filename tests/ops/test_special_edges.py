"""Special functions where they have no ordinary value: as SciPy, unless SciPy is not what mathematics or C says."""

from __future__ import annotations

import numpy as np
import pytest

from txc.compiler.interpret.scalar import NumpyScalarBuilder
from txc.dialects import ops as _ops  # noqa: F401
from txc.dialects.registry import OPS, Map

special = pytest.importorskip("scipy.special")

VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, -2.5, 3.0, 1e-310, -1e-310, np.inf, -np.inf, np.nan, 170.0, 700.0,
          745.0, 1e5, 1e300]  # fmt: skip
NAMED = {
    op.name: spelled.removeprefix("scipy.special.")
    for op in OPS.values()
    for spelled in op.also
    if isinstance(spelled, str) and issubclass(op, Map)
}
#: Those that take a step for each unit of an order or argument.
MANY_STEPS = ("jv", "yv", "iv", "kv")
#: Differences from SciPy, as ``{op: (operands, …)}``; None stands for every value.
KNOWN: dict[str, list[tuple[float | None, ...]]] = {
    # C's and Eigen's: both infinities give infinity; and SciPy overflows early.
    "lgamma": [(-np.inf,), (1e-310,)],
    # The limits, where SciPy gives NaN; and far out SciPy's arguments of sine and cosine are not reduced exactly.
    "bessel_i0": [(np.inf,), (-np.inf,)],
    "bessel_i1": [(np.inf,), (-np.inf,)],
    "bessel_j0": [(np.inf,), (-np.inf,), (1e300,)],
    "bessel_j1": [(np.inf,), (-np.inf,), (1e300,)],
    "bessel_y0": [(np.inf,), (1e300,)],
    "bessel_y1": [(np.inf,), (1e300,)],
    # A NaN stays one; sums of which only the first term is not 0 are not NaN; 1e300**-2 is 0.
    "zeta": [(np.nan, None), (1.0, np.nan), (np.inf, None), (1e300, None)],
    # SciPy knows no n that is nearly 0, and multiplies infinity by 0.
    "polygamma": [(None, np.nan), (1e-310, None), (-1e-310, None), (1e300, None), (np.inf, None)],
    # SciPy rounds tiny arguments to its borders.
    "igamma": [(1e-310, None), (None, 1e-310)],
    "igammac": [(1e-310, None), (None, 745.0)],
    "betainc": [(1e300, None, None), (None, 1e300, None), (1e-310, None, None), (None, 1e-310, None)],
    "betaincc": [(1e300, None, None), (None, 1e300, None), (1e-310, None, None), (None, 1e-310, None)],
    # Of no element SciPy has no combination, rounds small ones away, and overflows where gamma does; its sign of a huge
    # k is by the bits of an int.
    "binom": [(0.0, 1e-310), (-2.5, 170.0), (None, 1e300), (1e5, -2.5), (-0.5, 1e5)],
    # SciPy takes tiny and negative zero parameters for others, which overflow or not by chance.
    "gammaincinv": [(-0.0, None), (1e300, 1e-310), (None, -1e-310)],
    "gammainccinv": [(-0.0, None), (1e-310, 1e-310), (1e300, 1e-310), (0.0, 1e-310), (-1e-310, -1e-310)],
    # Beyond 2**32 there is no value.
    "betaincinv": [(1e300, None, None), (None, 1e300, None), (1e-310, None, None), (None, 1e-310, None)],
    "betainccinv": [(1e300, None, None), (None, 1e300, None), (1e-310, None, None), (None, 1e-310, None)],
    # SciPy loses tiny arguments, orders and results, and infinite orders above some x.
    "jv": [(None, 1e-310), (None, -1e-310), (170.0, 2.0), (170.0, -2.0), *((v, x) for v in (np.inf, -np.inf)
           for x in (3.0, 170.0, 700.0, 745.0))],
    "yv": [(None, 1e-310), (1e-310, None), (-1e-310, None), (170.0, 2.0)],
    "iv": [(None, 1e-310), (None, -1e-310)],
    "kv": [(None, 1e-310), (1e-310, None), (-1e-310, None), (170.0, 2.0), (None, 700.0), (170.0, 745.0)],
    # SciPy rounds a tiny sigma to 0, and of a negative one has no limit of gamma.
    "voigt_profile": [(None, 1e-310, None), (None, -1e-310, None), (0.0, None, np.inf), (-0.0, None, np.inf)],
    "kl_div": [(None, 1e-310), (1e-310, 1e300)],
    "pseudo_huber": [(None, 1e300), (1e-310, None), (1e300, None), (np.inf, None), (np.nan, None)],
}  # fmt: skip


def same(a: float, b: float | None) -> bool:
    return b is None or a == b or (np.isnan(a) and np.isnan(b))


@pytest.mark.parametrize("name", sorted(NAMED))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_edges_are_scipys(name: str) -> None:
    op = OPS[name]
    assert issubclass(op, Map)
    values = VALUES[:-2] if name in MANY_STEPS else VALUES
    last = [np.array([-0.5, *np.array(VALUES)[:9], 0.9999, np.inf, np.nan])] if op.arity == 3 else []
    columns = [np.array(values)] * (op.arity - len(last)) + last
    operands = [np.ravel(v) for v in np.meshgrid(*columns)]
    b = NumpyScalarBuilder()
    with np.errstate(all="ignore"):
        got = op.build(b, *map(b.value, operands)).ref
        expected = getattr(special, NAMED[name])(*operands)
        close = (got == expected) | (np.isfinite(expected) & (np.abs(got - expected) <= 1e-10 * np.abs(expected)))
    close |= np.isnan(got) & np.isnan(expected)
    wrong = [tuple(float(o[i]) for o in operands) for i in np.flatnonzero(~close)]
    known = KNOWN.get(name, [])
    unknown = [w for w in wrong if not any(all(map(same, w, k)) for k in known)]
    assert not unknown, [(w, got[i], expected[i]) for i, w in enumerate(zip(*operands)) if any(map(w.__eq__, unknown))]
    unused = [k for k in known if not any(all(map(same, w, k)) for w in wrong)]
    assert not unused, f"no longer different from SciPy: {unused}"
