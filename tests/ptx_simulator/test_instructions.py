"""Single instructions against what the PTX ISA manual says of them, computed in Python's own integers and fractions."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .harness import run

RNG = np.random.default_rng(7)
REGISTERS = {16: "%rs", 32: "%r", 64: "%rd"}
N = 64


def execute(statement: str, inputs: list[np.ndarray], result: Any) -> np.ndarray:
    """``D`` of a statement in ``A B C D``, one lane a thread; the arrays' widths are those of the registers."""
    body = ["mov.u32 %r50, %tid.x;", "cvt.u64.u32 %rd30, %r50;"]
    names = {}
    for i, (letter, array) in enumerate(zip("ABC", inputs)):
        bits = 8 * array.itemsize
        names[letter] = f"{REGISTERS[bits]}{i + 1}"
        body += [f"ld.param.u64 %rd20, [p{i}];", f"mad.lo.u64 %rd20, %rd30, {array.itemsize}, %rd20;"]
        body += [f"ld.global.b{bits} {names[letter]}, [%rd20];"]
    bits = 8 * np.dtype(result).itemsize
    names["D"] = f"{REGISTERS[bits]}9"
    body += ["".join(names.get(c, c) for c in statement) + ";"]
    body += [f"ld.param.u64 %rd20, [p{len(inputs)}];", f"mad.lo.u64 %rd20, %rd30, {bits // 8}, %rd20;"]
    body += [f"st.global.b{bits} [%rd20], {names['D']};", "ret;"]
    return run("\n".join(body), *inputs, np.zeros(N, result))


# Integers


def wrap(value: int, bits: int, signed: bool = False) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def field(a: int, start: int, length: int, bits: int, signed: bool) -> int:
    start, length = start & 255, length & 255
    if not length:
        return 0
    top = min(start + length - 1, bits - 1)
    sign = signed and a >> top & 1
    found = sum((a >> i & 1) << (i - start) for i in range(start, top + 1))
    return wrap(found | (-1 << max(top + 1 - start, 0) if sign else 0), bits)


def permuted(a: int, b: int, selector: int) -> int:
    data = [*a.to_bytes(4, "little"), *b.to_bytes(4, "little")]
    found = []
    for i in range(4):
        s = selector >> 4 * i & 15
        found.append(255 * (data[s & 7] >> 7) if s & 8 else data[s & 7])
    return int.from_bytes(bytes(found), "little")


def by_halves(f: Callable[[int, int], int], signed: bool) -> Callable[..., int]:
    """The function on both 16-bit halves."""

    def both(a: int, b: int, c: int) -> int:
        low, high = (wrap(f(wrap(a >> i, 16, signed), wrap(b >> i, 16, signed)), 16) for i in (0, 16))
        return high << 16 | low

    return both


def integer_cases() -> list[tuple[str, Callable[..., int]]]:
    cases: list[tuple[str, Callable[..., int]]] = []
    for bits in (16, 32, 64):
        for kind in "us":
            s = kind == "s"
            t = f"{kind}{bits}"

            def of(f: Callable[..., int], s: bool = s, bits: int = bits) -> Callable[..., int]:
                return lambda *a: f(*(wrap(x, bits, s) for x in a))

            cases += [
                (f"add.{t} D,A,B", of(lambda a, b, c: a + b)), (f"sub.{t} D,A,B", of(lambda a, b, c: a - b)),
                (f"mul.lo.{t} D,A,B", of(lambda a, b, c: a * b)),
                (f"mad.lo.{t} D,A,B,C", of(lambda a, b, c: a * b + c)),
                (f"mul.hi.{t} D,A,B", of(lambda a, b, c, n=bits: a * b >> n)),
                (f"mad.hi.{t} D,A,B,C", of(lambda a, b, c, n=bits: (a * b >> n) + c)),
                (f"min.{t} D,A,B", of(lambda a, b, c: min(a, b))), (f"max.{t} D,A,B", of(lambda a, b, c: max(a, b))),
                (f"div.{t} D,A,B", of(lambda a, b, c: truncated(a, b) if b else -1)),
                (f"rem.{t} D,A,B", of(lambda a, b, c: a - b * truncated(a, b) if b else a)),
                (f"sad.{t} D,A,B,C", of(lambda a, b, c: c + abs(a - b))),
            ]  # fmt: skip
            if s:
                cases += [(f"neg.{t} D,A", of(lambda a, b, c: -a)), (f"abs.{t} D,A", of(lambda a, b, c: abs(a)))]
        whole = (1 << bits) - 1
        cases += [
            (f"and.b{bits} D,A,B", lambda a, b, c: a & b), (f"or.b{bits} D,A,B", lambda a, b, c: a | b),
            (f"xor.b{bits} D,A,B", lambda a, b, c: a ^ b), (f"not.b{bits} D,A", lambda a, b, c, w=whole: a ^ w),
            (f"cnot.b{bits} D,A", lambda a, b, c: int(a == 0)),
        ]  # fmt: skip
    for n in (32, 64):
        cases += [
            (f"brev.b{n} D,A", lambda a, b, c, n=n: int(f"{a:0{n}b}"[::-1], 2)),
        ]
    for name, f in (("add", lambda a, b: a + b), ("min", min), ("max", max)):
        cases += [(f"{name}.{kind}16x2 D,A,B", by_halves(f, kind == "s")) for kind in "us"]
    cases += [
        ("add.sat.s32 D,A,B", lambda a, b, c: max(-(2**31), min(2**31 - 1, wrap(a, 32, True) + wrap(b, 32, True)))),
        ("lop3.b32 D,A,B,C,0xe8", lambda a, b, c: a & b | a & c | b & c),
        ("lop3.b32 D,A,B,C,0x96", lambda a, b, c: a ^ b ^ c),
        ("prmt.b32 D,A,B,C", permuted),
        ("mul24.lo.u32 D,A,B", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
        ("mul24.hi.s32 D,A,B", lambda a, b, c: wrap(a, 24, True) * wrap(b, 24, True) >> 16),
        ("dp4a.s32.s32 D,A,B,C", lambda a, b, c: c + sum(
            wrap(a >> i, 8, True) * wrap(b >> i, 8, True) for i in range(0, 32, 8))),
        ("dp4a.u32.u32 D,A,B,C", lambda a, b, c: c + sum((a >> i & 255) * (b >> i & 255) for i in range(0, 32, 8))),
        ("shf.l.wrap.b32 D,A,B,C", lambda a, b, c: ((b << 32 | a) << (c & 31)) >> 32),
        ("shf.r.clamp.b32 D,A,B,C", lambda a, b, c: (b << 32 | a) >> min(c, 32)),
    ]  # fmt: skip
    return cases


@pytest.mark.parametrize(("statement", "reference"), integer_cases(), ids=lambda v: v if isinstance(v, str) else "")
def test_integers(statement: str, reference: Callable[..., int]) -> None:
    bits = int(statement.split()[0].replace("16x2", "32")[-2:])
    kind = np.dtype(f"u{bits // 8}")
    special = np.array([x & (2**bits - 1) for x in (0, 1, -1, 1 << bits - 1, (1 << bits - 1) - 1, 2, 31, 3)], kind)
    a = np.concatenate([np.repeat(special, 4), RNG.integers(0, 1 << bits, 32, dtype=kind)])
    b = np.concatenate([np.tile(special, 4), RNG.integers(0, 1 << bits, 32, dtype=kind)])
    c = np.roll(a, 5)
    found = execute(statement, [a, b, c], kind)
    expected = [wrap(reference(*map(int, lane)), bits) for lane in zip(a, b, c)]
    assert found.tolist() == expected


@pytest.mark.parametrize("name", ["shl.b", "shr.u", "shr.s", "bfe.u", "bfe.s", "bfi.b"])
@pytest.mark.parametrize("bits", [32, 64])
def test_shifts_and_fields(name: str, bits: int) -> None:
    kind = np.dtype(f"u{bits // 8}")
    a = RNG.integers(0, 1 << bits, N, dtype=kind)
    n = np.resize(np.array([0, 1, 5, bits - 1, bits, bits + 1, 255, 13], np.uint32), N)
    m = np.repeat(np.array([0, 1, 7, bits, 200, 31, 3, 64], np.uint32), 8)
    signed = name.endswith("s")
    if name.startswith("bfe"):
        found = execute(f"{name}{bits} D,A,B,C", [a, n, m], kind)
        expected = [field(int(x), int(i), int(k), bits, signed) for x, i, k in zip(a, n, m)]
    elif name == "bfi.b":
        base = int(RNG.integers(0, 1 << 31))
        found = execute(f"bfi.b{bits} D,A,{base},B,C", [a, n, m], kind)
        expected = []
        for x, i, k in zip(a.tolist(), n.tolist(), m.tolist()):
            mask = wrap((1 << k) - 1 << min(i, 300), bits)
            expected.append(wrap(x << min(i, 300), bits) & mask | base & ~mask)
    else:
        found = execute(f"{name}{bits} D,A,B", [a, n], kind)
        shift = {"l": lambda x, i: x << i, "r": lambda x, i: wrap(x, bits, signed) >> i}[name[2]]
        expected = [wrap(shift(int(x), min(int(i), bits)), bits) for x, i in zip(a, n)]
    assert found.tolist() == expected


@pytest.mark.parametrize("bits", [32, 64])
def test_counts_of_bits(bits: int) -> None:
    kind = np.dtype(f"u{bits // 8}")
    a = RNG.integers(0, 1 << bits, N, dtype=kind) >> RNG.integers(0, bits, N).astype(kind)
    a[:2] = 0, np.iinfo(kind).max
    values = a.tolist()
    assert execute(f"popc.b{bits} D,A", [a], np.uint32).tolist() == [x.bit_count() for x in values]
    assert execute(f"clz.b{bits} D,A", [a], np.uint32).tolist() == [bits - x.bit_length() for x in values]
    none = 2**32 - 1
    assert execute(f"bfind.u{bits} D,A", [a], np.uint32).tolist() == [(x.bit_length() - 1) & none for x in values]
    signed = [wrap(x, bits, True) for x in values]
    tops = [((~x if x < 0 else x).bit_length() - 1) & none for x in signed]
    assert execute(f"bfind.s{bits} D,A", [a], np.uint32).tolist() == tops


def test_wide_products() -> None:
    a, b = (RNG.integers(0, 1 << 32, N, dtype=np.uint32) for _ in range(2))
    wide = RNG.integers(0, 1 << 64, N, dtype=np.uint64)
    found = execute("mul.wide.u32 D,A,B", [a, b], np.uint64)
    np.testing.assert_array_equal(found, a.astype(np.uint64) * b)
    found = execute("mad.wide.s32 D,A,B,C", [a, b, wide], np.uint64)
    signed = [a.view(np.int32).astype(np.int64) * b.view(np.int32) + wide.view(np.int64)]
    np.testing.assert_array_equal(found, signed[0].view(np.uint64))


# Floats

FORMATS = {"f16": (np.float16, 11, -24), "bf16": (ml_dtypes.bfloat16, 8, -133), "f32": (np.float32, 24, -149)}
FORMATS["f64"] = (np.float64, 53, -1074)
EMAX = {"f16": 65504, "bf16": float(ml_dtypes.finfo(ml_dtypes.bfloat16).max), "f32": float(np.finfo(np.float32).max)}
EMAX["f64"] = float(np.finfo(np.float64).max)


EXACT: dict[str, Callable[[Fraction, Fraction, Fraction], Fraction]] = {
    "add": lambda x, y, z: x + y, "sub": lambda x, y, z: x - y, "mul": lambda x, y, z: x * y,
    "div": lambda x, y, z: x / y, "fma": lambda x, y, z: x * y + z, "rcp": lambda x, y, z: 1 / x,
}  # fmt: skip


def rounded(exact: Fraction, name: str, mode: str) -> float:
    """An exact number in a format: on its grid at that magnitude, in the mode."""
    _, precision, lowest = FORMATS[name]
    if not exact:
        return 0.0
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    while Fraction(2) ** (exponent + 1) <= abs(exact):
        exponent += 1
    while Fraction(2) ** exponent > abs(exact):
        exponent -= 1
    unit = Fraction(2) ** max(exponent - precision + 1, lowest)
    scaled = exact / unit
    low = scaled.numerator // scaled.denominator
    rest = scaled - low
    if mode == "rn":
        up = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2)
    else:
        up = bool(rest) and {"rp": True, "rm": False, "rz": exact < 0}[mode]
    found = (low + bool(up)) * unit
    if abs(found) > Fraction(EMAX[name]):
        away = mode == "rn" or (mode == "rp" and exact > 0) or (mode == "rm" and exact < 0)
        return (math.inf if away else EMAX[name]) * (1 if exact > 0 else -1)
    return float(found)


def floats(name: str, seed: int) -> np.ndarray:
    """Ordinary numbers, neighbours that cancel, tiny and huge ones."""
    rng = np.random.default_rng(seed)
    dtype = FORMATS[name][0]
    spread = 6 if name == "f16" else 20
    ordinary = rng.standard_normal(N) * 2.0 ** rng.integers(-spread, spread, N)
    ordinary[:8] = [
        1,
        -1,
        1 + 2.0**-6,
        3,
        EMAX[name],
        -EMAX[name],
        2.0 ** (FORMATS[name][2] + 2),
        2.0 ** FORMATS[name][2],
    ]
    return np.roll(ordinary.astype(dtype), seed)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "fma", "sqrt", "rcp"])
def test_arithmetic_rounds_once(op: str, name: str, mode: str) -> None:
    a, b, c = floats(name, 1), floats(name, 2), floats(name, 3)
    if op == "sqrt":
        a = np.abs(a)
    count = {"sqrt": 1, "rcp": 1, "fma": 3}.get(op, 2)
    inputs = [x.view(f"u{x.itemsize}") for x in (a, b, c)[:count]]
    dtype = FORMATS[name][0]
    found = execute(f"{op}.{mode}.{name} D,{','.join('ABC'[:count])}", inputs, inputs[0].dtype).view(dtype)
    for result, *lane in zip(found.tolist(), a.tolist(), b.tolist(), c.tolist()):
        x, y, z = map(Fraction, lane)
        if op == "sqrt":
            near = Fraction(result) if math.isfinite(result) else None
            assert near is not None and root_is(near, x, dtype, mode), (lane, result)
            continue
        exact = EXACT[op](x, y, z)
        assert result == rounded(exact, name, mode), (lane, result)


def root_is(found: Fraction, x: Fraction, dtype: Any, mode: str) -> bool:
    below = Fraction(float(np.nextafter(dtype(float(found)), dtype(0))))
    above = Fraction(float(np.nextafter(dtype(float(found)), dtype(np.inf))))
    if mode == "rn":
        return ((found + below) / 2) ** 2 <= x <= ((found + above) / 2) ** 2
    if mode == "rp":
        return below**2 < x <= found**2
    return found**2 <= x < above**2


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "fma"])
def test_half_precision(op: str, name: str) -> None:
    a, b, c = floats(name, 1), floats(name, 2), floats(name, 3)
    count = 3 if op == "fma" else 2
    inputs = [x.view(np.uint16) for x in (a, b, c)[:count]]
    found = execute(f"{op}.rn.{name} D,{','.join('ABC'[:count])}", inputs, np.uint16).view(FORMATS[name][0])
    pairs = [np.ascontiguousarray(np.stack([i, np.roll(i, 1)], axis=1)).view(np.uint32).reshape(-1) for i in inputs]
    packed = execute(f"{op}.rn.{name}x2 D,{','.join('ABC'[:count])}", pairs, np.uint32)
    packed = packed.view(np.uint16).reshape(-1, 2)
    np.testing.assert_array_equal(packed[:, 0], found.view(np.uint16))
    np.testing.assert_array_equal(packed[:, 1], np.roll(found.view(np.uint16), 1))
    for result, *lane in zip(found.astype(float), a.astype(float), b.astype(float), c.astype(float)):
        x, y, z = map(Fraction, lane)
        exact = EXACT[op](x, y, z)
        assert result == rounded(exact, name, "rn"), (lane, result)


def bits32(*values: float) -> np.ndarray:
    return np.resize(np.array(values, np.float32).view(np.uint32), N)


NAN, INF, TINY = math.nan, math.inf, 2.0**-140


@pytest.mark.parametrize(
    ("statement", "a", "b", "expected"),
    [
        ("add.ftz.f32 D,A,B", TINY, 1.0, 1.0), ("mul.ftz.f32 D,A,B", 2.0**-100, -(2.0**-40), -0.0),
        ("add.sat.f32 D,A,B", 0.75, 0.75, 1.0), ("add.sat.f32 D,A,B", -3.0, 1.0, 0.0),
        ("add.sat.f32 D,A,B", NAN, 1.0, 0.0),
        ("min.f32 D,A,B", NAN, 2.0, 2.0), ("max.f32 D,A,B", 2.0, NAN, 2.0), ("min.NaN.f32 D,A,B", NAN, 2.0, NAN),
        ("max.NaN.f32 D,A,B", 1.0, 2.0, 2.0), ("min.f32 D,A,B", 0.0, -0.0, -0.0), ("max.f32 D,A,B", -0.0, 0.0, 0.0),
        ("max.f32 D,A,B,A", NAN, 2.0, 2.0), ("min.f32 D,A,B,B", 3.0, 1.0, 1.0), ("max.NaN.f32 D,A,A,B", 1.0, NAN, NAN),
        ("copysign.f32 D,A,B", -0.0, 3.0, -3.0), ("neg.f32 D,A", 0.0, 0.0, -0.0), ("abs.f32 D,A", -INF, 0.0, INF),
        ("add.rm.f32 D,A,B", 1.0, -1.0, -0.0), ("add.rn.f32 D,A,B", 1.0, -1.0, 0.0),
        ("div.full.f32 D,A,B", 1.0, 4.0, 0.25), ("ex2.approx.f32 D,A", 3.0, 0.0, 8.0),
        ("lg2.approx.f32 D,A", 8.0, 0.0, 3.0),
        ("rsqrt.approx.f32 D,A", 0.25, 0.0, 2.0), ("tanh.approx.f32 D,A", INF, 0.0, 1.0),
        ("selp.f32 D,A,B,%p1", 1.0, 2.0, 2.0), ("slct.f32.f32 D,A,B,B", 1.0, -0.5, -0.5),
    ],
)  # fmt: skip
def test_floats_at_the_edges(statement: str, a: float, b: float, expected: float) -> None:
    prepare = "setp.gt.f32 %p1, A, B;\n" if "selp" in statement else ""
    found = execute(prepare.replace("A", "%r1").replace("B", "%r2") + statement, [bits32(a), bits32(b)], np.uint32)
    value = found.view(np.float32)[0]
    assert np.array_equal(value, np.float32(expected), equal_nan=True)
    assert expected != expected or np.signbit(value) == np.signbit(expected)


@pytest.mark.parametrize("name", "eq ne lt le gt ge equ neu ltu leu gtu geu num nan".split())
def test_comparisons_of_floats(name: str) -> None:
    values = [1.0, 2.0, -0.0, 0.0, NAN, INF, -INF, TINY]
    a = np.repeat(np.array(values, np.float32), 8)
    b = np.tile(np.array(values, np.float32), 8)
    statement = f"setp.{name}.f32 %p1, A, B;\n selp.u32 D, 1, 0, %p1"
    found = execute(statement, [a.view(np.uint32), b.view(np.uint32)], np.uint32)
    unordered = np.isnan(a) | np.isnan(b)
    if name in ("num", "nan"):
        expected = unordered == (name == "nan")
    else:
        compare = {
            "eq": np.equal,
            "ne": np.not_equal,
            "lt": np.less,
            "le": np.less_equal,
            "gt": np.greater,
            "ge": np.greater_equal,
        }
        expected = np.where(unordered, name.endswith("u"), compare[name[:2]](a, b))
    np.testing.assert_array_equal(found, expected)


def test_comparisons_that_join_and_give_two() -> None:
    a, b = np.arange(N, dtype=np.uint32), np.full(N, 20, np.uint32)
    statement = """setp.gt.u32 %p3, A, 10;
        setp.lt.and.u32 %p1|%p2, A, B, %p3;
        selp.u32 %r10, 2, 0, %p2;
        selp.u32 D, 1, 0, %p1;
        or.b32 D, D, %r10"""
    found = execute(statement, [a, b], np.uint32)
    np.testing.assert_array_equal(found, ((a < 20) & (a > 10)) + 2 * ((a >= 20) & (a > 10)))
    found = execute("set.le.s32.u32 D, A, B", [a, b], np.uint32)
    np.testing.assert_array_equal(found, np.where(a <= 20, 2**32 - 1, 0))


# Conversions


@pytest.mark.parametrize(
    ("to", "source", "mode"),
    [
        *((to, source, mode) for to, source in (("f32", "f64"), ("f16", "f32")) for mode in ("rn", "rz", "rm", "rp")),
        *(("bf16", "f32", mode) for mode in ("rn", "rz")),
    ],
)
def test_narrowing(to: str, source: str, mode: str) -> None:
    a = floats(source, 1) * FORMATS[source][0](2.0 ** RNG.integers(-12, 12))
    result = np.uint16 if to.endswith("16") else np.uint32
    found = (
        execute(f"cvt.{mode}.{to}.{source} D,A", [a.view(f"u{a.itemsize}")], result).view(FORMATS[to][0]).astype(float)
    )
    for value, x in zip(found.tolist(), a.tolist()):
        expected = rounded(Fraction(x), to, mode) if math.isfinite(x) else x
        assert value == expected, (x, value)


@pytest.mark.parametrize("mode", ["rni", "rzi", "rmi", "rpi"])
@pytest.mark.parametrize("to", ["s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_floats_to_integers_saturate(to: str, source: str, mode: str) -> None:
    values = [
        0.5,
        1.5,
        -1.5,
        2.5,
        -0.5,
        NAN,
        INF,
        -INF,
        300.7,
        -300.7,
        2.0**31,
        -(2.0**31),
        2.0**63,
        -(2.0**64),
        127.5,
        65535.5,
    ]
    a = np.resize(np.array(values, FORMATS[source][0]), N)
    bits = int(to[1:])
    register = {8: np.uint32, 16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
    found = execute(f"cvt.{mode}.{to}.{source} D,A", [a.view(f"u{a.itemsize}")], register)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if to[0] == "s" else (0, (1 << bits) - 1)
    whole: dict[str, Callable[[float], Any]] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    for value, x in zip(found.tolist(), a.tolist()):
        exact = 0 if x != x else max(low, min(high, whole[mode](x) if math.isfinite(x) else (high if x > 0 else low)))
        assert value == wrap(exact, 8 * np.dtype(register).itemsize), (x, value)


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("source", ["s32", "u32", "s64", "u64"])
@pytest.mark.parametrize("to", ["f16", "f32", "f64"])
def test_integers_to_floats(to: str, source: str, mode: str) -> None:
    bits = int(source[1:])
    kind = np.dtype(f"u{bits // 8}")
    a = RNG.integers(0, 1 << bits, N, dtype=kind) >> np.resize(np.arange(0, bits, 3), N).astype(kind)
    a[:3] = 0, 1, np.iinfo(kind).max
    result = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}[to]
    found = execute(f"cvt.{mode}.{to}.{source} D,A", [a], result).view(FORMATS[to][0]).astype(float)
    for value, x in zip(found.tolist(), a.tolist()):
        assert value == rounded(Fraction(wrap(x, bits, source[0] == "s")), to, mode), x


def test_other_conversions() -> None:
    a = np.resize(np.array([0, 1, 127, 128, 255, 256, 40000, 2**31, 2**32 - 1], np.uint32), N)
    values = a.tolist()
    assert execute("cvt.s32.s8 D,A", [a], np.uint32).tolist() == [wrap(wrap(x, 8, True), 32) for x in values]
    assert execute("cvt.u32.u8 D,A", [a], np.uint32).tolist() == [x & 255 for x in values]
    assert execute("cvt.s64.s32 D,A", [a], np.uint64).tolist() == [wrap(wrap(x, 32, True), 64) for x in values]
    assert execute("cvt.sat.u8.s32 D,A", [a], np.uint32).tolist() == [
        max(0, min(255, wrap(x, 32, True))) for x in values
    ]
    assert execute("cvt.u16.u32 D,A", [a], np.uint16).tolist() == [x & 65535 for x in values]
    x = floats("f32", 5)
    pair = execute("cvt.rn.bf16x2.f32 D,A,B", [x.view(np.uint32), np.roll(x, 1).view(np.uint32)], np.uint32)
    expected = np.stack([np.roll(x, 1), x], axis=1).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(pair.view(np.uint16).reshape(-1, 2), expected.view(np.uint16))
    whole = execute("cvt.rni.f32.f32 D,A", [x.view(np.uint32)], np.uint32).view(np.float32)
    np.testing.assert_array_equal(whole, np.rint(x))
    tf32 = execute("cvt.rna.tf32.f32 D,A", [bits32(1 + 2.0**-11, 1 + 2.0**-12, -1 - 3 * 2.0**-11)], np.uint32)
    assert tf32.view(np.float32)[:3].tolist() == [1 + 2.0**-10, 1.0, -1 - 2.0**-9]


def test_packing() -> None:
    a = RNG.integers(0, 1 << 32, N, dtype=np.uint32)
    swapped = execute("mov.b32 {%rs1, %rs2}, A;\n mov.b32 D, {%rs2, %rs1}", [a], np.uint32)
    np.testing.assert_array_equal(swapped, (a >> 16) | (a << 16))
    wide = execute("mov.b64 D, {A, %r1}", [a], np.uint64)
    np.testing.assert_array_equal(wide, a.astype(np.uint64) << 32 | a)
    high = execute("mov.b64 %rd9, {A, 7};\n mov.b64 {_, D}, %rd9", [a], np.uint32)
    assert (high == 7).all()


def test_a_literal_is_of_the_instruction_s_type() -> None:
    a = np.zeros(N, np.uint32)
    one = struct.unpack("<I", struct.pack("<f", 1.0))[0]
    assert (execute("add.rn.f32 D,A,0f3F800000", [a], np.uint32) == one).all()
    assert (execute("add.s32 D,A,-1", [a], np.uint32) == 2**32 - 1).all()
    assert (execute("and.b32 D,0xFFFFFFFF,0b101", [a], np.uint32) == 5).all()
