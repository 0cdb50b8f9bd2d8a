"""Every primitive of scalar bodies, through `arith`/`math` ops, gives the bits that the interpreter's builder gives."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from txc.compiler.codegen.target.llvm_backend import host_target, make_target
from txc.compiler.codegen.target.target import Target
from txc.compiler.interpret.scalar import NumpyScalarBuilder
from txc.dialects.attributes import BufferInfo, DimsAttr, buffer_type
from txc.dialects.dims.dims import dim, sym
from txc.dialects.loop import ForOp, LoadOp, StoreOp, YieldOp
from txc.dialects.registry import OPS, Map, find_op
from txc.dialects.scalar.builder import BodyBuilder
from txc.dialects.scalar.language import Value
from txc.dialects.types import DTYPES, DType, dtype

from .harness import run_module, same_bits

TARGETS = ("native", "x86-64", "x86-64-v2")
FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
#: From which cost on bodies are recurrences and series, which take the interpreter as many steps as an argument is
#: large: beyond `LARGEST` they are given no finite ones (`tests/ops/test_special_edges.py` has such, against SciPy).
ITERATIVE, LARGEST = 1000.0, 100.0


@lru_cache(maxsize=8)
def target(cpu: str) -> Target:
    if not host_target().is_x86:
        pytest.skip("the levels are x86's")
    return make_target(cpu=cpu) if cpu != "native" else host_target()


@lru_cache(maxsize=64)
def samples(name: str) -> np.ndarray:
    """Special values and random ones, a size that leaves a tail."""
    element, rng = DTYPES[name], np.random.default_rng(3)
    if element.kind == "bool":
        return rng.integers(0, 2, 61).astype(bool)
    if element.is_integer:
        info = np.iinfo(element.numpy)
        edges = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, info.max // 2, info.max // 3 * 2]
        wide = rng.integers(0, 2**63, 500, dtype=np.uint64) >> rng.integers(0, 63, 500).astype(np.uint64)
        return np.concatenate([np.array(edges, element.numpy), wide.astype(element.numpy), -wide.astype(element.numpy)])
    with np.errstate(all="ignore"):
        edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-40, 65519.0, 65520.0, 1e5,
                          2.0**63, -(2.0**63), 2.0**64, 2.0**31, 2.0**32, 2.0**24 + 1, 128.0, 255.5, 3e38, 3.4e38,
                          1e-8, 5.9e-8, 6.1e-5, 2.0**-25])  # fmt: skip
        spread = rng.standard_normal(500) * 2.0 ** rng.integers(-40, 40, 500)
        near = rng.integers(-4000, 4000, 200) / 8
        halves = (1 + rng.integers(0, 4096, 300) / 2048) * 2.0 ** rng.integers(-26, 17, 300)
        halves = halves * (1 + rng.integers(-1, 2, 300) * 2.0**-40)
        return np.concatenate([edges, spread, near, halves]).astype(element.numpy)


def check(cases: Sequence[tuple[str, DType]], operands: Sequence[np.ndarray], cpu: str) -> None:
    """Primitives, with their results' dtypes, over arrays of equal length, by machine code and by the interpreter."""
    interpreter = NumpyScalarBuilder()
    expected = [interpreter.emit(name, [interpreter.value(x) for x in operands], to).ref for name, to in cases]
    bodies = [lambda b, values, name=name, to=to: b.emit(name, values, to) for name, to in cases]
    compare(bodies, operands, expected, cases, cpu)


Body = Callable[[BodyBuilder, list[Value]], Value]


def compare(
    bodies: Sequence[Body], operands: Sequence[np.ndarray], expected: Sequence[np.ndarray],
    named: Sequence[tuple[str, DType]], cpu: str, vector: int = 8, unroll: int = 1,
) -> None:  # fmt: skip
    """Machine code of bodies, in one loop over arrays of equal length, gives what is `expected`, bit for bit."""
    n = len(operands[0])
    types = [*(dtype(x.dtype) for x in operands), *(result for _, result in named)]
    buffers = [buffer_type(BufferInfo(t, (sym("n"),), (dim(1),))) for t in types]
    function = func.FuncOp("f", (buffers, []))
    function.attributes["tx.symbols"] = DimsAttr((sym("n"),))
    arguments, body = function.body.block.args, Block()
    builder, values = BodyBuilder(body), []
    for argument, element in zip(arguments[: len(operands)], types):
        loaded = LoadOp(argument, (sym("i"),))
        body.add_op(loaded)
        values.append(builder.wrap(loaded.result, element))
    for make, argument in zip(bodies, arguments[len(operands) :], strict=True):
        body.add_op(StoreOp(make(builder, values).ref, argument, (sym("i"),)))
    body.add_op(YieldOp())
    loop = ForOp("i", 0, sym("n"), body, vector=vector, unroll=unroll)
    function.body.block.add_op(loop)
    function.body.block.add_op(func.ReturnOp())
    outs = [np.zeros(n, result.numpy) for _, result in named]
    run_module(ModuleOp([function]), [*operands, *outs], [n], target=target(cpu))
    wrong: dict[str, tuple[int, Sequence[object]]] = {}
    for (name, result), out, want in zip(named, outs, expected, strict=True):
        if not same_bits(out, want):
            where = [i for i in range(n) if not same_bits(out[i : i + 1], want[i : i + 1])]
            shown = [([x[i] for x in operands], out[i], want[i]) for i in where[:5]]
            wrong[f"{name} -> {result.name}"] = len(where), shown
    assert not wrong


def pairs(name: str) -> list[np.ndarray]:
    x = samples(name)
    return [x, np.roll(np.random.default_rng(5).permutation(x), 3)]


@pytest.mark.parametrize("source", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("cpu", TARGETS)
def test_casts(source: str, cpu: str) -> None:
    check([("cast", DTYPES[to]) for to in ["bool", *INTEGERS, *FLOATS] if to != source], [samples(source)], cpu)


COMPARISONS = [(primitive, DTYPES["bool"]) for primitive in ("lt", "le", "gt", "ge", "eq", "ne")]


@pytest.mark.parametrize(("cpu", "name"), list(product(TARGETS, FLOATS)))
def test_float_operations(cpu: str, name: str) -> None:
    element = DTYPES[name]
    if element.bits == 16:  # bodies widen them first
        check([("add", element), ("mul", element), COMPARISONS[0]], pairs(name), cpu)
        return
    check([(p, element) for p in ("neg", "abs", "sqrt", "floor", "ceil", "trunc", "rint")], [samples(name)], cpu)
    arithmetic = [(p, element) for p in ("add", "sub", "mul", "div", "copysign", "min", "max")]
    check(arithmetic + COMPARISONS, pairs(name), cpu)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_fused_multiply_add(name: str) -> None:
    a, b = pairs(name)
    check([("fma", DTYPES[name])], [a, b, np.roll(b, 7)], "native")


@pytest.mark.parametrize(("cpu", "name"), list(product(TARGETS[:2], INTEGERS)))
def test_integer_operations(cpu: str, name: str) -> None:
    element = DTYPES[name]
    arithmetic = [(p, element) for p in ("add", "sub", "mul", "div", "rem", "min", "max", "and", "or", "xor")]
    check(arithmetic + COMPARISONS, pairs(name), cpu)
    check([("neg", element), ("abs", element)], [samples(name)], cpu)
    x, amounts = pairs(name)
    amounts = np.where(np.arange(len(x)) % 3 == 0, amounts, np.abs(amounts % element.numpy.type(element.bits + 2)))
    check([("shl", element), ("shr", element)], [x, amounts.astype(element.numpy)], cpu)


def test_select_and_bitcast() -> None:
    x, y = pairs("f32")
    check([("select", DTYPES["f32"])], [np.arange(len(x)) % 3 == 0, x, y], "native")
    check([("bitcast", DTYPES["u32"])], [x], "native")
    check([("bitcast", DTYPES["f64"])], [samples("i64")], "native")


def approximations() -> list[str]:
    """The maps that bodies keep as one op, so that code generation expands them."""
    importlib.import_module("txc.dialects.ops")
    return sorted(n for n, c in OPS.items() if issubclass(c, Map) and c.ulp is not None)


@pytest.mark.parametrize(("name", "element"), list(product(approximations(), ("f32", "f64"))))
def test_expanded_maps(name: str, element: str) -> None:
    """Also in lanes where only some need the rare path, and in a tail."""
    decl = find_op(name)
    assert issubclass(decl, Map)
    low, high = decl.domain
    wide = samples(element)
    if decl.cost >= ITERATIVE:
        wide = wide[~(np.isfinite(wide) & (np.abs(wide) > LARGEST))]
    inside = np.random.default_rng(1).uniform(low, high, 400).astype(wide.dtype)
    first = np.concatenate([inside, wide, np.linspace(low, high, 101).astype(wide.dtype)])
    operands = [first] + [np.roll(first, 13 * k) for k in range(1, decl.arity)]
    interpreter = NumpyScalarBuilder()
    expected = decl.build(interpreter, *[interpreter.value(x) for x in operands]).ref
    dtype = DTYPES[element]

    def body(builder: BodyBuilder, values: list[Value]) -> Value:
        return builder.apply(decl, values)

    compare([body], operands, [expected], [(name, dtype)], "native", vector=8, unroll=2)
    if decl.arity == 1:
        compare([body], [first[:1]], [expected[:1]], [(name, dtype)], "native", vector=1)


def collatz(b: BodyBuilder | NumpyScalarBuilder, x: Value) -> Value:
    """Steps until 1, in lanes that need between none and a hundred of them, but no more than 60."""

    def step(n: Value, steps: Value) -> tuple[Value, list[Value]]:
        n = b.select((n & 1).differs(0), n * 3 + 1, n >> 1)
        return n > 1, [n, steps + 1]

    return b.iterate(x > 1, [x, b.constant(0, x.dtype)], step, 60)[1]


@pytest.mark.parametrize(("vector", "unroll"), [(8, 1), (4, 3), (1, 1)])
def test_a_loop_runs_in_each_lane_for_as_long_as_it_needs(vector: int, unroll: int) -> None:
    x = np.arange(-3, 74, dtype=np.int64)

    def steps(n: int) -> int:
        count = 0
        while n > 1 and count < 60:
            n, count = (3 * n + 1 if n % 2 else n // 2), count + 1
        return count

    expected = np.array([steps(int(n)) for n in x])
    assert expected.max() == 60 and expected.min() == 0
    interpreter = NumpyScalarBuilder()
    assert np.array_equal(collatz(interpreter, interpreter.value(x)).ref, expected)
    named = [("collatz", DTYPES["i64"])]
    compare([lambda b, values: collatz(b, values[0])], [x], [expected], named, "native", vector, unroll)
