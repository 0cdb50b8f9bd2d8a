"""Nests over buffers as text, their schedule, and three ways to run them: kernels, loops, machine code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from txc.compiler.cli.universe import UNIVERSE
from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.target.llvm_backend import compile_llvm, host_target, load_object
from txc.compiler.interpret import kernel as kernel_interpreter
from txc.compiler.interpret import loops as loops_interpreter
from txc.dialects.attributes import from_attr
from txc.dialects.dims.dims import Sym
from txc.passes.schedule.cpu.schedule import ScheduleCpuPass
from txc.runtime.native_function import NativeFunction

__all__ = ["Scheduled", "function", "nest", "scheduled"]


def parse(text: str) -> ModuleOp:
    context = Context()
    for name, dialect in UNIVERSE.all_dialects.items():
        context.register_dialect(name, dialect)
    for name in ("builtin", "func", "arith", "math"):
        if name not in context.registered_dialect_names:
            from xdsl.dialects import get_all_dialects

            context.register_dialect(name, get_all_dialects()[name])
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def buffer(info: str) -> str:
    return f'!loop.buffer<"{info}">'


def function(buffers: Mapping[str, str], body: str, symbols: str) -> str:
    """``@f`` over named buffers, ``{"x": "f32[n] by [1]"}``."""
    given = ", ".join(f"%m_{name}: {buffer(info)}" for name, info in buffers.items())
    return f"""func.func @f({given}) attributes {{tx.symbols = #tx.dims<"{symbols}">, tx.arena = #tx.dim<"0">,
tx.thread_arena = #tx.dim<"0">}} {{
{body}
func.return }}"""


def nest(
    extents: str,
    ins: Sequence[tuple[str, str, str]],
    outs: Sequence[tuple[str, str, str]],
    body: str,
    *,
    order: str = "",
    identity: str = "",
    merge: str = "",
    finish: str = "",
    post: int = 0,
) -> str:
    """A `kernel.generic`; operands are (name, buffer type, index expressions with ``where (…)`` if guarded)."""
    sizes = [e.strip() for e in extents.split(",")] if extents else []
    head = ", ".join(f"d{i}: {e}" for i, e in enumerate(sizes))

    def maps(operands: Sequence[tuple[str, str, str]]) -> str:
        texts = []
        for _, _, index in operands:
            index, _, where = index.partition(" where ")
            texts.append(f'#tx.map<"({head}) -> ({index}){f" where {where}" if where else ""}">')
        return ", ".join(texts)

    operands = ", ".join(f"%m_{name}" for name, _, _ in (*ins, *outs))
    types = ", ".join(buffer(info) for _, info, _ in (*ins, *outs))
    fold = f', order = #tx.order<"{order}">, identity = [{identity}]' if order else ""
    parallel = len(sizes) - bool(order)
    return f"""
"kernel.generic"({operands}) ({{ {body} }}, {{ {merge} }}, {{ {finish} }}) {{extents = #tx.dims<"{extents}">,
parallel = {parallel} : i64, epilogue_inputs = {post} : i64, in_maps = [{maps(ins)}], out_maps = [{maps(outs)}],
operandSegmentSizes = array<i32: {len(ins)}, {len(outs)}>{fold}}} : ({types}) -> ()"""


@dataclass
class Scheduled:
    """A function after the schedule, and compiled."""

    text: str
    module: ModuleOp
    symbols: list[Sym]
    native: NativeFunction

    def sizes(self, env: Mapping[str, int]) -> tuple[int, int]:
        values = {Sym(k): v for k, v in env.items()}
        attributes = self._function.attributes
        arena, thread = (from_attr(attributes[name]).evaluate(values) for name in ("tx.arena", "tx.thread_arena"))
        return int(arena), int(thread)

    @property
    def _function(self) -> func.FuncOp:
        return next(op for op in self.module.body.block.ops if isinstance(op, func.FuncOp))

    def run(self, arrays: Sequence[np.ndarray[Any, Any]], env: Mapping[str, int], threads: int = 2) -> None:
        """Machine code, in place."""
        values = [env[str(s)] for s in self.symbols]
        self.native([a.ctypes.data for a in arrays], values, *self.sizes(env), threads)

    def check(
        self,
        arrays: Sequence[np.ndarray[Any, Any]],
        env: Mapping[str, int],
        *,
        interpret: bool = True,
        threads: Sequence[int] = (1, 2),
    ) -> list[np.ndarray[Any, Any]]:
        """Kernels, loops and machine code give the same bits in every array; what the kernels gave."""
        expected = [a.copy() for a in arrays]
        kernel_interpreter.run(parse(self.text), expected, env)
        if interpret:
            found = [a.copy() for a in arrays]
            loops_interpreter.run(self.module, found, env)
            _compare(found, expected, "interpreted loops")
        for n in threads:
            found = [a.copy() for a in arrays]
            self.run(found, env, n)
            _compare(found, expected, f"machine code on {n} threads")
        return expected


def _compare(found: Sequence[np.ndarray[Any, Any]], expected: Sequence[np.ndarray[Any, Any]], what: str) -> None:
    for i, (a, b) in enumerate(zip(found, expected)):
        nan = np.isnan(a) & np.isnan(b) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
        same = nan | (a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")) if a.size else np.ones(a.shape, bool)
        assert same.all(), (
            f"{what}: buffer {i} differs at {np.argwhere(~same)[:5].tolist()}: {a[~same][:5]}, {b[~same][:5]}"
        )


@lru_cache(maxsize=256)
def scheduled(text: str, **options: Any) -> Scheduled:
    """A buffers function through `tx-schedule-cpu` and to machine code."""
    module = parse(text)
    ScheduleCpuPass(**options).apply(Context(), module)
    module.verify()
    target = host_target()
    loaded = load_object(compile_llvm(emit_llvm(module, target), target), ["f"])
    made = next(op for op in module.body.block.ops if isinstance(op, func.FuncOp))
    symbols = [d.symbol for d in from_attr(made.attributes["tx.symbols"])]
    native = NativeFunction(loaded.addresses["f"], len(made.body.block.args), len(symbols), loaded)
    return Scheduled(text, module, symbols, native)
