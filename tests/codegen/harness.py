"""Compile `loops` text and run it on NumPy arrays, with a serial stand-in for the thread pool.

Code gets the temporaries that its function asks for, arrays are as large as their types say, and nothing behind the
temporaries may be written: what is outside would be somebody else's memory, where it is noticed much later.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, builtin, complex, func, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect

import txc
from txc.compiler.codegen.emit.function import symbols_of
from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import (
    LoadedObject,
    compile_llvm,
    host_target,
    libcalls,
    load_object,
)
from txc.compiler.codegen.target.target import Target
from txc.compiler.config.options import Options
from txc.compiler.pipeline import run_stages
from txc.dialects.attributes import BufferInfo, BufferType, DimAttr, DimsAttr, OrderAttr
from txc.dialects.dims.dims import Dim, Sym, dim
from txc.dialects.ir_text import ir_text, read_module
from txc.dialects.kernel import KERNEL
from txc.dialects.loop import LOOP
from txc.dialects.order import Order
from txc.dialects.types import dtype

_CHUNK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_PARALLEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


@_PARALLEL
def _serial_pool(pool: Any, function: int, context: int, chunks: int, threads: int) -> None:
    call = _CHUNK(function)
    for chunk in reversed(range(chunks)):  # no order is promised
        call(context, chunk, chunk % threads)


def text_at(stage: str, function: Callable[..., Any], *args: Any, **options: Any) -> str:
    """What a function's program is at a stage of IR, for packed arrays; nothing behind it is compiled."""
    graph = txc.jit(function, **options).graph(*args)
    module = run_stages(graph, Options.of(**options), stop_after=stage).module
    assert module is not None
    return ir_text(module)


def parse(text: str) -> ModuleOp:
    context = Context()
    attributes = Dialect("tx", [], [DimAttr, DimsAttr, OrderAttr])
    for dialect in (builtin.Builtin, func.Func, arith.Arith, complex.Complex, math.Math, LOOP, KERNEL, attributes):
        context.load_dialect(dialect)
    module = read_module(context, text)
    module.verify()
    return module


@dataclass(frozen=True)
class Program:
    """``@f`` in memory, its arguments and symbols, and the bytes of temporaries that it asks for."""

    loaded: LoadedObject
    buffers: tuple[BufferInfo, ...]
    symbols: tuple[Sym, ...]
    arena: Dim
    thread_arena: Dim


#: Temporaries of functions that do not say what they need, and bytes behind them that stay as they are.
ARENA, THREAD_ARENA, GUARD = dim(1 << 16), dim(1 << 14), 1 << 14
UNTOUCHED = 0xA5


@lru_cache(maxsize=256)
def compiled(text: str, target: Target) -> Program:
    return _loaded(parse(text), target)


def _loaded(module: ModuleOp, target: Target) -> Program:
    data = compile_llvm(emit_llvm(module, target), target)
    assert not libcalls(data)
    (f,) = (op for op in module.body.block.ops if isinstance(op, func.FuncOp))
    buffers = tuple(a.type.data for a in f.body.block.args if isinstance(a.type, BufferType))
    sizes = [f.attributes.get(name) for name in ("tx.arena", "tx.thread_arena")]
    arena, thread_arena = (s.data if isinstance(s, DimAttr) else d for s, d in zip(sizes, (ARENA, THREAD_ARENA)))
    return Program(load_object(data, ["f"]), buffers, tuple(symbols_of(f)), arena, thread_arena)


def run(text: str, arrays: Sequence[np.ndarray], symbols: Sequence[int] = (), threads: int = 2,
        target: Target | None = None) -> None:  # fmt: skip
    """Call ``@f``; arrays are passed by their data pointers."""
    _call(compiled(text, target or host_target()), arrays, symbols, threads)


def chunks_of(text: str, arrays: Sequence[np.ndarray], symbols: Sequence[int] = (), threads: int = 2) -> list[int]:
    """As `run`; into how many chunks each parallel loop was cut that threads share."""
    cut: list[int] = []

    @_PARALLEL
    def counting_pool(pool: Any, function: int, context: int, chunks: int, threads: int) -> None:
        cut.append(chunks)
        _serial_pool(pool, function, context, chunks, threads)

    _call(compiled(text, host_target()), arrays, symbols, threads, counting_pool)
    return cut


def run_module(module: ModuleOp, arrays: Sequence[np.ndarray], symbols: Sequence[int] = (), *, target: Target) -> None:
    """As `run`, of a module made in Python."""
    module.verify()
    _call(_loaded(module, target), arrays, symbols, 1)


def _call(program: Program, arrays: Sequence[np.ndarray], symbols: Sequence[int], threads: int,
          parallel: Any = _serial_pool) -> None:  # fmt: skip
    env = dict(zip(program.symbols, symbols))
    for array, info in zip(arrays, program.buffers, strict=True):
        assert array.nbytes >= _bytes(info, env), f"an array of {array.nbytes} bytes for {info}"
    arguments = (ctypes.c_void_p * max(1, len(arrays)))(*[a.ctypes.data for a in arrays])
    numbers = (ctypes.c_int64 * max(1, len(symbols)))(*symbols)
    size, each = (-(-int(d.evaluate(env)) // 128) * 128 for d in (program.arena, program.thread_arena))
    arena, thread_arena = (np.full(n + GUARD, UNTOUCHED, np.uint8) for n in (size, each * threads))
    pool = ctypes.cast(parallel, ctypes.c_void_p).value or 0
    words = [pool, 0, threads, arena.ctypes.data, thread_arena.ctypes.data, each, 0]
    runtime = (ctypes.c_int64 * len(words))(*words)
    assert _FUNCTION(program.loaded.addresses["f"])(arguments, numbers, runtime) == 0
    assert (arena[size:] == UNTOUCHED).all() and (thread_arena[each * threads :] == UNTOUCHED).all()


def _bytes(info: BufferInfo, env: dict[Sym, int]) -> int:
    """What memory of a type reaches to."""
    sizes = [int(d.evaluate(env)) for d in info.dims]
    steps = [int(s.evaluate(env)) for s in info.strides]
    return info.dtype.bytes * (1 + sum(max(0, s * (n - 1)) for s, n in zip(steps, sizes))) if all(sizes) else 0


def function(arguments: Sequence[str], body: str, symbols: str = "n") -> str:
    """``@f`` with buffers ``%0``, ``%1``, … of the given types (``f32[n] by [1]``)."""
    given = ", ".join(f'%{i}: !loop.buffer<"{t}">' for i, t in enumerate(arguments))
    return f'func.func @f({given}) attributes {{tx.symbols = #tx.dims<"{symbols}">}} {{\n{body}\nfunc.return\n}}'


def loop(iv: str, lower: str, upper: str, body: str, vector: int = 1, unroll: int = 1, step: str = "1") -> str:
    return f"""
"loop.for"() ({{ {body}
loop.yield }}) {{iv = "{iv}", lower = #tx.dim<"{lower}">, upper = #tx.dim<"{upper}">, step = #tx.dim<"{step}">,
vector = {vector} : i64, unroll = {unroll} : i64}} : () -> ()"""


def parallel(iv: str, lower: str, upper: str, body: str, step: str = "1", grain: str = "1") -> str:
    return f"""
"loop.parallel"() ({{ {body}
loop.yield }}) {{iv = "{iv}", lower = #tx.dim<"{lower}">, upper = #tx.dim<"{upper}">, step = #tx.dim<"{step}">,
kind = "cpu_thread", grain = #tx.dim<"{grain}">}} : () -> ()"""


def load(result: str, buffer: int | str, info: str, index: str, guards: str = "") -> str:
    where = f', guards = #tx.dims<"{guards}">' if guards else ""
    kind = f'(!loop.buffer<"{info}">) -> {scalar(info)}'
    return f'%{result} = "loop.load"(%{buffer}) {{index = #tx.dims<"{index}">{where}}} : {kind}\n'


def store(value: str, buffer: int | str, info: str, index: str, guards: str = "") -> str:
    where = f', guards = #tx.dims<"{guards}">' if guards else ""
    kind = f'({scalar(info)}, !loop.buffer<"{info}">) -> ()'
    return f'"loop.store"(%{value}, %{buffer}) {{index = #tx.dims<"{index}">{where}}} : {kind}\n'


def scalar(info: str) -> str:
    """The type of a body scalar of a buffer type (or element type's name)."""
    name = info.partition("[")[0]
    return {"bool": "i1"}.get(name) or (f"i{name[1:]}" if name[0] == "u" else name)


def reduce(
    result: str, iv: str, upper: str, body: str, yields: str, merge: str, merged: str, *, types: Sequence[str],
    order: str, identity: Sequence[str], vector: int = 1, lower: str = "0", yield_types: Sequence[str] = (),
) -> str:  # fmt: skip
    """`merge` uses ``%a0 …`` (older) and ``%b0 …`` (newer) and yields `merged`."""
    arguments = ", ".join([f"%a{i}: {t}" for i, t in enumerate(types)] + [f"%b{i}: {t}" for i, t in enumerate(types)])
    kinds = ", ".join(types)
    return f"""
%{result}{f":{len(types)}" if len(types) > 1 else ""} = "loop.reduce"() ({{ {body}
loop.yield {yields} : {", ".join(yield_types or types)} }}, {{
^bb0({arguments}):
{merge}
loop.yield {merged} : {kinds} }}) {{iv = "{iv}", lower = #tx.dim<"{lower}">, upper = #tx.dim<"{upper}">,
step = #tx.dim<"1">, order = #tx.order<"{order}">, identity = [{", ".join(identity)}], vector = {vector} : i64}}
: () -> ({kinds})"""


def ordered_sum(x: np.ndarray, order: Order) -> Any:
    """The sum of a 1-D array (or of rows of products, along axis 0 of a 2-D array) in an order, without `fma`."""
    identity = np.full(x.shape[1:], -0.0, x.dtype)
    if order.kind == "free":
        return x.sum(axis=0)

    def block_value(block: np.ndarray) -> np.ndarray:
        lanes = np.stack([identity] * order.lanes)
        for start in range(0, len(block), order.lanes):
            row = block[start : start + order.lanes]
            lanes[: len(row)] = lanes[: len(row)] + row
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = lanes[:half] + lanes[half:]
        return lanes[0]

    blocks = [block_value(x[b : b + order.block]) for b in range(0, len(x), order.block)]
    if order.kind == "chain":
        total = identity
        for value in blocks:
            total = total + value
        return total
    waiting: list[tuple[int, np.ndarray]] = []
    for value in blocks:
        size = 1
        while waiting and waiting[-1][0] == size:
            _, older = waiting.pop()
            value, size = older + value, size * 2
        waiting.append((size, value))
    total = identity
    for _, older in reversed(waiting):
        total = older + total
    return total


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bits, all NaNs counting as one."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind not in "fV" and a.dtype.name != "bfloat16":
        return bool(np.array_equal(a, b))
    nan = np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
    return bool((nan | (a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}"))).all()) and a.shape == b.shape


__all__ = [
    "chunks_of", "compiled", "dim", "dtype", "function", "load", "loop", "ordered_sum", "parallel", "parse", "reduce",
    "run", "run_module", "same_bits", "scalar", "store",
]  # fmt: skip
