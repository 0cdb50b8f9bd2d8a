"""Measures every approximated op against mpmath and writes docs/reference/accuracy.md: ``python docs/accuracy.py``.

The arguments are drawn from a fixed seed and the bodies run on NumPy, bit for bit as machine code does, so anyone who
measures gets the same figures; `tests/ops/test_accuracy_table.py` measures part of them again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

from txc.compiler.interpret.scalar import NumpyScalarBuilder
from txc.dialects import ops as _ops  # noqa: F401  (fills the registry)
from txc.dialects.registry import OPS, Map

__all__ = ["CASES", "Case", "accuracy_page", "errors", "measured"]

TARGET = Path(__file__).parent / "reference" / "accuracy.md"
Draw = Callable[[np.random.Generator, int], np.ndarray]


def uniform(low: float, high: float) -> Draw:
    return lambda rng, count: rng.uniform(low, high, count)


def spread(low: float, high: float, signs: Sequence[int] = (1,)) -> Draw:
    """Powers of e."""
    return lambda rng, count: np.exp(rng.uniform(low, high, count)) * rng.choice(signs, count)


def whole(low: int, high: int) -> Draw:
    return lambda rng, count: rng.integers(low, high, count, endpoint=True).astype(float)


def near(point: float, width: float) -> Draw:
    return lambda rng, count: point + width * rng.normal(size=count)


BOTH = (-1, 1)


@dataclass(frozen=True)
class Case:
    """What an op computes, by mpmath in `precision` bits, and where its operands come from (groups of draws)."""

    reference: Callable[..., Any]
    groups: tuple[tuple[Draw, ...], ...]
    count: int = 160
    precision: int = 160


def one(reference: Callable[[Any], Any], *draws: Draw, precision: int = 160) -> Case:
    return Case(reference, tuple((d,) for d in draws), precision=precision)


def hurwitz(s: Any, q: Any) -> Any:
    """Euler's and Maclaurin's formula from 40 on (mpmath's own loses digits for large q)."""
    a = q
    total = mp.mpf(0)
    while a < q + 40 or a < 40:
        total += a**-s
        a += 1
    total += a ** (1 - s) / (s - 1) + a**-s / 2
    factor = s * a ** (-s - 1)
    for j in range(1, 30):
        total += mp.bernoulli(2 * j) / mp.factorial(2 * j) * factor
        factor *= (s + 2 * j - 1) * (s + 2 * j) / a**2
    return total


def polygamma(n: Any, x: Any) -> Any:
    return mp.psi(0, x) if n == 0 else (-1) ** (int(n) + 1) * mp.factorial(n) * hurwitz(n + 1, x)


def quantile(p: Any) -> Any:
    """The inverse of the normal probability, by Newton's iteration from a double."""
    lower = min(p, 1 - p)
    x = mp.sqrt(-2 * mp.log(lower)) if lower < 0.1 else mp.sqrt(2 * mp.pi) * (mp.mpf(1) / 2 - lower)
    for _ in range(60):
        step = (mp.erfc(x / mp.sqrt(2)) / 2 - lower) / mp.npdf(x)
        x += step
        if abs(step) < mp.mpf(2) ** -140 * max(abs(x), mp.mpf(2) ** -60):
            break
    return -x if p < 0.5 else x


def inverse_erf(x: Any) -> Any:
    return quantile((1 + x) / 2) / mp.sqrt(2)


def dawson(x: Any) -> Any:
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def gamma_probability(upper: bool) -> Case:
    def reference(a: Any, x: Any) -> Any:
        return mp.gammainc(a, x, mp.inf, regularized=True) if upper else mp.gammainc(a, 0, x, regularized=True)

    def beside(rng: np.random.Generator, count: int) -> np.ndarray:
        return 0.0 * rng.uniform(size=count)

    groups = ((spread(-8, 5.2), spread(-8, 5.2)), (spread(5.3, 7.5), beside), (spread(-20, 3), spread(-8, 3.5)))
    return Case(reference, groups, count=40, precision=300)


def beta_probability(upper: bool) -> Case:
    def reference(a: Any, b: Any, x: Any) -> Any:
        return mp.betainc(a, b, x, 1, regularized=True) if upper else mp.betainc(a, b, 0, x, regularized=True)

    groups = ((spread(-4, 3), spread(-4, 3), uniform(0, 1)), (spread(2, 5), spread(2, 5), uniform(0.2, 0.8)))
    return Case(reference, groups, count=40, precision=220)


def voigt(x: Any, sigma: Any, gamma: Any) -> Any:
    z = mp.mpc(x, gamma) / (sigma * mp.sqrt(2))
    return mp.re(mp.exp(-z * z) * mp.erfc(-1j * z)) / (sigma * mp.sqrt(2 * mp.pi))


def inverse(name: str, tail: Callable[..., Any], density: Callable[..., Any], *groups: tuple[Draw, ...]) -> Case:
    """The inverse of `tail` in its last argument, by Newton's iteration from what the op itself gives."""

    last: list[tuple[Any, ...]] = []

    def start(xs: tuple[Any, ...]) -> Any:
        if last and all(abs(v - w) < 1e-5 * abs(w) for v, w in zip(xs, last[0])):
            return last[0][-1]
        op, b = OPS[name], NumpyScalarBuilder()
        assert issubclass(op, Map)
        return mp.mpf(float(op.build(b, *(b.value(np.array(float(v))) for v in xs)).ref))

    def reference(*xs: Any) -> Any:
        x = start(xs)
        for _ in range(9):
            step = (tail(*xs[:-1], x) - xs[-1]) / density(*xs[:-1], x)
            x -= step
            if abs(step) < abs(x) * mp.mpf(2) ** -80:
                last[:] = [(*xs, x)]
                return x
        raise ValueError(f"{name} of {xs} is no root")

    return Case(reference, groups, count=12, precision=200)


def gamma_series(upper: bool) -> Callable[..., Any]:
    """The regularised incomplete gamma functions (DLMF 8.7.1), for what mpmath's own takes too long."""

    def tail(a: Any, x: Any) -> Any:
        total = term = mp.mpf(1)
        n = 0
        while term > total * mp.eps:
            n += 1
            term *= x / (a + n)
            total += term
        lower = total * x**a * mp.exp(-x) / mp.gamma(a + 1)
        return 1 - lower if upper else lower

    return tail


def beta_series(upper: bool) -> Callable[..., Any]:
    """The same of the incomplete beta functions (DLMF 8.17.8)."""

    def below(a: Any, b: Any, x: Any) -> Any:
        total = term = mp.mpf(1)
        n = 0
        while term > total * mp.eps:
            term *= x * (a + b + n) / (a + 1 + n)
            total += term
            n += 1
        return total * x**a * (1 - x) ** b / (a * mp.beta(a, b))

    def tail(a: Any, b: Any, x: Any) -> Any:
        if x > mp.mpf(1) / 2:
            return below(b, a, 1 - x) if upper else 1 - below(b, a, 1 - x)
        return 1 - below(a, b, x) if upper else below(a, b, x)

    return tail


def gamma_density(a: Any, x: Any) -> Any:
    return x ** (a - 1) * mp.exp(-x) / mp.gamma(a)


def beta_density(a: Any, b: Any, x: Any) -> Any:
    return x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b)


def bessel(f: Callable[[int, Any], Any], order: int, scale: int, *draws: Draw) -> Case:
    return one(lambda x: f(order, x) * mp.exp(scale * abs(x)) if scale else f(order, x), *draws)


def lambert(part: Callable[[Any], Any]) -> Case:
    groups = (
        (uniform(-3, 3), uniform(-3, 3), whole(-3, 3)), (uniform(-0.5, 0.2), uniform(-0.2, 0.2), whole(-1, 1)),
        (spread(-20, 20, BOTH), spread(-20, 20, BOTH), whole(-2, 2)), (uniform(-3, 3), whole(0, 0), whole(-1, 0)),
    )  # fmt: skip
    return Case(lambda x, y, k: part(mp.lambertw(mp.mpc(x, y), int(k))), groups, count=40)


def airy(f: Callable[..., Any], slope: int) -> Case:
    return one(lambda x: f(x, derivative=slope), uniform(-20, 9), uniform(-1, 1), spread(-20, 4, (-1,)))


def of_order(f: Callable[[Any, Any], Any]) -> Case:
    groups = (
        (uniform(0, 12), uniform(0, 20)), (spread(-8, 3), spread(-9, 3)), (uniform(0, 40), uniform(2, 90)),
        (whole(0, 20), uniform(0, 50)), (uniform(10, 20), uniform(15, 60)),
    )  # fmt: skip
    return Case(f, groups, count=16)


def _bessel_cases() -> Iterator[tuple[str, Case]]:
    every, positive = (uniform(-30, 30), spread(-30, 4, BOTH)), (uniform(0, 30), spread(-30, 4))
    waves = (uniform(0, 30), spread(-30, 9), near(2.404825557695773, 1e-6), near(0.893576966279167, 1e-6))
    for n in (0, 1):
        yield f"bessel_i{n}", bessel(mp.besseli, n, 0, *every)
        yield f"bessel_i{n}e", bessel(mp.besseli, n, -1, *every)
        yield f"bessel_k{n}", bessel(mp.besselk, n, 0, *positive)
        yield f"bessel_k{n}e", bessel(mp.besselk, n, 1, *positive)
        yield f"bessel_j{n}", bessel(mp.besselj, n, 0, *waves)
        yield f"bessel_y{n}", bessel(mp.bessely, n, 0, *waves)


def binomial(n: Any, k: Any) -> Any:
    return mp.gammaprod([n + 1], [k + 1, n - k + 1])


def student(df: Any, t: Any) -> Any:
    tail = mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + t * t), regularized=True) / 2
    return tail if t < 0 else 1 - tail


_WAVES = (uniform(-7, 7), uniform(-8e5, 8e5), spread(13, 88, BOTH))
_LOGS = (uniform(0.5, 2), spread(-80, 80))
_ODD = (uniform(-3, 3), spread(-40, 0, BOTH))
_PAIR = (spread(-20, 20), spread(-20, 20))

CASES: dict[str, Case] = {
    "exp": one(mp.exp, uniform(-2, 2), uniform(-87, 88)),
    "exp2": one(lambda x: mp.power(2, x), uniform(-2, 2), uniform(-125, 127)),
    "exp10": one(lambda x: mp.power(10, x), uniform(-2, 2), uniform(-37, 38)),
    "expm1": one(mp.expm1, uniform(-2, 2), uniform(-50, 88), spread(-40, 0, BOTH)),
    "exprel": one(lambda x: mp.expm1(x) / x, uniform(-5, 80), spread(-30, 0, BOTH)),
    "log": one(mp.log, *_LOGS),
    "log2": one(lambda x: mp.log(x) / mp.log(2), *_LOGS),
    "log10": one(mp.log10, *_LOGS),
    "log1p": one(mp.log1p, uniform(-0.99, 2), spread(-40, 80)),
    "tanh": one(mp.tanh, *_ODD, uniform(-1, 1), uniform(-30, 30)),
    "sinh": one(mp.sinh, *_ODD, uniform(-88, 88)),
    "cosh": one(mp.cosh, uniform(-3, 3), uniform(-88, 88)),
    "sigmoid": one(lambda x: 1 / (1 + mp.exp(-x)), uniform(-5, 5), uniform(-80, 80)),
    "log_expit": one(lambda x: -mp.log1p(mp.exp(-x)), uniform(-5, 5), uniform(-80, 80)),
    "logit": one(lambda p: mp.log(p / (1 - p)), uniform(0, 1), spread(-40, 0)),
    "asinh": one(mp.asinh, uniform(-3, 3), spread(-40, 80, BOTH)),
    "acosh": one(mp.acosh, uniform(1, 10), spread(0, 80)),
    "atanh": one(mp.atanh, uniform(-1, 1), spread(-40, -1, BOTH)),
    "sin": one(mp.sin, *_WAVES, precision=300),
    "cos": one(mp.cos, *_WAVES, precision=300),
    "cos_turns": one(lambda x: mp.cospi(2 * x), uniform(-8, 8), uniform(-0.5, 0.5)),
    "tan": one(mp.tan, *_WAVES, precision=300),
    "cosm1": one(lambda x: -2 * mp.sin(x / 2) ** 2, uniform(-7, 7), spread(-20, 0, BOTH)),
    "sinc": one(lambda x: mp.sinpi(x) / (mp.pi * x), uniform(-10, 10), spread(-30, 0)),
    "asin": one(mp.asin, uniform(-1, 1), spread(-40, -1, BOTH)),
    "acos": one(mp.acos, uniform(-1, 1), spread(-40, -1, BOTH)),
    "atan": one(mp.atan, uniform(-5, 5), spread(-40, 80, BOTH)),
    "atan2": Case(mp.atan2, ((spread(-60, 60, BOTH), spread(-60, 60, BOTH)), (uniform(-3, 3), uniform(-3, 3)))),
    "hypot": Case(mp.hypot, (_PAIR, (uniform(0, 3), uniform(0, 3)))),
    "logaddexp": Case(lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), ((uniform(0, 9), uniform(0, 9)),)),
    "pow": Case(mp.power, ((uniform(0.5, 2), uniform(-80, 80)), (spread(-20, 20), uniform(-4, 4)))),
    "cbrt": one(mp.cbrt, uniform(0, 9), spread(-80, 80)),
    "rsqrt": one(lambda x: 1 / mp.sqrt(x), uniform(0.1, 10), spread(-80, 80)),
    "erf": one(mp.erf, uniform(-1.2, 1.2), uniform(-6, 6), spread(-40, 0, BOTH)),
    "erfc": one(mp.erfc, uniform(-1.2, 1.2), uniform(-6, 9), near(3.834, 0.004)),
    "erfinv": one(inverse_erf, uniform(-1, 1), spread(-12, 0, BOTH)),
    "erfcinv": one(lambda z: -quantile(z / 2) / mp.sqrt(2), uniform(0, 2), spread(-80, 0)),
    "ndtr": one(mp.ncdf, uniform(-12, 8), uniform(-2, 2)),
    "log_ndtr": one(lambda x: mp.log(mp.ncdf(x)) if x < 0 else mp.log1p(-mp.ncdf(-x)), uniform(-60, 5), uniform(-2, 2)),
    "ndtri": one(quantile, uniform(0, 1), spread(-80, 0)),
    "lgamma": one(lambda x: mp.re(mp.loggamma(x)), uniform(-10, 10), spread(-40, 80), near(1, 1e-4), near(2, 1e-4)),
    "gamma": one(mp.gamma, uniform(-8, 30), spread(-40, 3)),
    "digamma": one(mp.digamma, uniform(-10, 10), spread(-40, 80), near(1.461632144968362, 1e-4)),
    "zeta": Case(hurwitz, ((uniform(1.01, 12), spread(-2, 3)), (whole(2, 12), uniform(-8, 0))), count=60),
    "polygamma": Case(polygamma, ((whole(0, 12), spread(-2, 3)), (whole(1, 6), uniform(-8, 0))), count=60),
    **dict(_bessel_cases()),
    "igamma": gamma_probability(False),
    "igammac": gamma_probability(True),
    "betainc": beta_probability(False),
    "betaincc": beta_probability(True),
    "gammaincinv": inverse(
        "gammaincinv",
        gamma_series(False),
        gamma_density,
        (spread(-2, 5), uniform(0, 0.9)),
        (spread(-2, 3), spread(-20, 0)),
    ),
    "gammainccinv": inverse(
        "gammainccinv",
        gamma_series(True),
        lambda a, x: -gamma_density(a, x),
        (spread(-2, 5), uniform(0.1, 1)),
        (spread(-2, 3), spread(-20, 0)),
    ),
    "betaincinv": inverse(
        "betaincinv",
        beta_series(False),
        beta_density,
        (spread(-1, 3), spread(-1, 3), uniform(0, 1)),
        (spread(-1, 2), spread(-1, 2), spread(-20, 0)),
    ),
    "betainccinv": inverse(
        "betainccinv",
        beta_series(True),
        lambda a, b, x: -beta_density(a, b, x),
        (spread(-1, 3), spread(-1, 3), uniform(0, 1)),
        (spread(-1, 2), spread(-1, 2), spread(-20, 0)),
    ),
    **{
        f"airy_{name}": airy(f, slope)
        for name, f, slope in (("ai", mp.airyai, 0), ("aip", mp.airyai, 1), ("bi", mp.airybi, 0), ("bip", mp.airybi, 1))
    },
    "lambertw_re": lambert(mp.re),
    "lambertw_im": lambert(mp.im),
    "jv": of_order(mp.besselj),
    "yv": of_order(mp.bessely),
    "iv": of_order(mp.besseli),
    "kv": of_order(mp.besselk),
    "voigt_profile": Case(
        voigt,
        (
            (uniform(-8, 8), uniform(0.5, 2), uniform(0, 8)),
            (spread(-5, 3), spread(-3, 3), spread(-9, 3)),
            (uniform(0, 8), uniform(0.9, 1), spread(-40, 0)),
        ),
        count=40,
        precision=400,
    ),
    "stdtr": Case(student, ((uniform(0, 30), uniform(-10, 10)), (spread(-5, 8), spread(-9, 5, BOTH))), precision=220),
    "ellipk": one(mp.ellipk, uniform(-5, 1), spread(-40, 80, (-1,))),
    "ellipkm1": one(lambda p: mp.ellipk(1 - p), uniform(0, 2), spread(-80, 80), precision=400),
    "ellipe": one(mp.ellipe, uniform(-5, 1), spread(-40, 80, (-1,))),
    "exp1": one(mp.e1, uniform(0, 5), spread(-80, 4.4)),
    "expi": one(mp.ei, uniform(-5, 60), spread(-80, 4.4, BOTH), near(0.3725074107813666, 1e-4)),
    "dawsn": one(dawson, uniform(-6, 6), spread(-80, 4)),
    "erfcx": one(lambda x: mp.exp(x * x) * mp.erfc(x), uniform(-9, 30), spread(-40, 40), spread(-40, 2, (-1,))),
    "spence": one(lambda x: mp.re(mp.polylog(2, 1 - x)), uniform(0, 6), spread(-80, 40), near(1, 1e-3)),
    "fresnel_s": one(mp.fresnels, uniform(-6, 6), spread(-20, 6), spread(6, 25), precision=300),
    "fresnel_c": one(mp.fresnelc, uniform(-6, 6), spread(-20, 6), spread(6, 25), precision=300),
    "binom": Case(
        binomial,
        ((uniform(-3, 30), uniform(-3, 30)), (spread(-10, 5), spread(-10, 3)), (whole(0, 120), whole(0, 60))),
    ),
    "xlogy": Case(lambda x, y: x * mp.log(y), (_PAIR,)),
    "xlog1py": Case(lambda x, y: x * mp.log1p(y), (_PAIR,)),
    "entr": one(lambda x: -x * mp.log(x), uniform(0, 9), spread(-40, 40)),
    "rel_entr": Case(lambda x, y: x * mp.log(x / y), (_PAIR, (uniform(1, 2), uniform(1, 2)))),
    "kl_div": Case(
        lambda x, y: x * mp.log(x / y) - x + y, (_PAIR, (uniform(1, 1.01), uniform(1, 1.01))), precision=300
    ),
    "huber": Case(lambda d, r: r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2), (_PAIR,)),
    "pseudo_huber": Case(lambda d, r: d * d * (mp.sqrt(1 + (r / d) ** 2) - 1), (_PAIR,), precision=400),
    "boxcox": Case(lambda x, y: (x**y - 1) / y, ((uniform(0.01, 9), uniform(-5, 5)),)),
    "boxcox1p": Case(lambda x, y: ((1 + x) ** y - 1) / y, ((spread(-15, 2), uniform(-5, 5)),)),
}


#: Operands that are whole numbers.
WHOLE = {("polygamma", 0), ("lambertw_re", 2), ("lambertw_im", 2)}


def operands(name: str, dtype: type) -> list[np.ndarray]:
    """The arguments that a row is measured at."""
    case = CASES[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    columns = list(zip(*[[draw(rng, case.count) for draw in group] for group in case.groups]))
    made = [np.concatenate(column) for column in columns]
    if name in ("igamma", "igammac"):
        # Some of them where both are large and close, which is where the expansion holds.
        made[1] = np.where(made[1] == 0, made[0] * (1 + rng.normal(size=made[0].size) / np.sqrt(made[0])), made[1])
    return [m.astype(dtype) for m in made]


def errors(name: str, dtype: type, every: int = 1) -> np.ndarray:
    """The errors of an op at each `every`-th argument, in the unit that its `ulp` is stated in."""
    op = OPS[name]
    assert issubclass(op, Map)
    xs = [x[::every] for x in operands(name, dtype)]
    b = NumpyScalarBuilder()
    got = op.build(b, *map(b.value, xs)).ref
    found = []
    with mp.workprec(CASES[name].precision):
        for i, value in enumerate(got):
            found.append(_error(op, [x[i] for x in xs], value))
    return np.array(found)


def _error(op: type[Map], xs: list[Any], got: Any) -> float:
    reference = CASES[op.name].reference
    exact = reference(*(mp.mpf(float(x)) for x in xs))
    with np.errstate(all="ignore"):
        nearest = got.dtype.type(float(exact))
    if not np.isfinite(nearest) or not np.isfinite(got):
        return 0.0 if nearest == got else np.inf
    unit = mp.mpf(float(np.spacing(abs(nearest))))
    if op.name == "logaddexp":
        unit = max(unit, *(mp.mpf(float(np.spacing(abs(x)))) for x in xs))
    if op.conditioned:
        for i, x in enumerate(xs):
            if (op.name, i) in WHOLE:
                continue
            moved = [mp.mpf(float(v)) for v in xs]
            moved[i] += mp.mpf(float(np.spacing(x)))
            unit += abs(reference(*moved) - exact)
    return float(abs(mp.mpf(float(got)) - exact) / unit)


def measured(name: str) -> tuple[float, float]:
    """The largest error in f32 and in f64."""
    return errors(name, np.float32).max(), errors(name, np.float64).max()


HEADER = """# Accuracy

Written by `docs/accuracy.py`, which measures every op that is an approximation against mpmath; do not edit. All other
maps are exact, or correctly rounded ([Ops](ops.md)). Errors are in units in the last place of the result; where the
unit is "conditioned", one unit is that plus what one unit in the last place of each operand changes in the result,
because these functions have zeros that no float is, or turn the last bit of an operand into many of the result.
*Stated* is what the op promises and tests hold it to; f16 and bf16 are computed in f32 and rounded once. Against the
tables that NumPy validates itself with (`umath-validation-set-*.csv`) the exponentials and logarithms are within 1 ulp,
all others within 2 (`tests/ops/test_umath_validation.py`).

| op | stated | f32 | f64 | unit |
|---|---|---|---|---|
"""


def accuracy_page() -> str:
    """The text of docs/reference/accuracy.md."""
    rows = []
    for name in sorted(CASES):
        op = OPS[name]
        assert issubclass(op, Map)
        single, double = measured(name)
        unit = "conditioned" if op.conditioned else "ulp"
        rows.append(f"| `{name}` | {op.ulp:g} | {single:.2f} | {double:.2f} | {unit} |")
    return HEADER + "\n".join(rows) + "\n"


if __name__ == "__main__":
    TARGET.write_text(accuracy_page(), encoding="utf-8")
