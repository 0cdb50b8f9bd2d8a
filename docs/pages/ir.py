"""docs/reference/ir.md: the ops of the three dialects, each with its text."""

from __future__ import annotations

import inspect
import re

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math
from xdsl.ir import Operation

from txc.compiler.cli.universe import UNIVERSE
from txc.compiler.codegen.target.llvm_backend import gpu_target, make_target
from txc.compiler.frontend.tx.parser import parse
from txc.compiler.pipeline import run_stages
from txc.dialects.ir_text import ir_text, read_module
from txc.dialects.kernel import KERNEL
from txc.dialects.loop import LOOP
from txc.dialects.tx import ForOp, IfOp, PlainOp, WhileOp
from txc.passes.cost.model import Machine

__all__ = ["EXAMPLES", "PAGE", "page"]

PAGE = "reference/ir.md"

HEADER = """# The IR

Written by `docs/generate.py` from the definitions of the ops (`dialects/tx`, `dialects/kernel`, `dialects/loop`); do
not edit. Each example is read, verified and printed when the page is made.

`tensor-compile FILE --emit STAGE` prints a stage, `f.lower(…).as_text(stage)` does in Python, and `tx-opt` reads what
they print. Arithmetic is in MLIR's own dialects `arith` and `math`, functions are `func.func`.

* `f32[n, m]` is a tensor and `buffer f32[n, m]` memory, packed with the last dim contiguous; `by [1, n]` are other
  strides, in elements. `f32` alone is a scalar.
* Iterators and sizes are symbols, not values: `loop.for i = 0 to n` makes `i` usable in every expression inside.
  Expressions are Python's, with `+ - * // % ^`, `min` and `max`.
* What says the usual is left out: a step of 1, vectors of 1, the end of a region that yields nothing. Attributes
  without a place of their own stand in `{…}`, before a region in `attributes {…}`.
* Lines are broken behind 120 letters. `--print-unbroken` leaves them as they are.
* `--print-locations` prints the user's line behind each op, `loc("file:line:column")`; without it no line is read back.
* `--print-op-generic` prints MLIR's generic form, which any tool of xDSL reads; `tx-opt` reads both.
"""

SOFTMAX = """\
def softmax(x: f32[n, m]) -> f32[n, m]:
    e = exp(x - x.maximum([1]).reshape([n, 1]))
    return e / e.sum([1]).reshape([n, 1])
"""

#: What examples are about: memory, scalars, and tensors.
ARGUMENTS = """%x: buffer f32[n, m], %y: buffer f32[n, m], %v: buffer f32[n], %counts: buffer i64[8],
    %from: buffer i32[n], %into: buffer i32[n], %c: i1, %k: i64, %zero: f32,
    %a: f32[n, m], %b: f32[n, m], %r: f32[n], %i: i64[n], %flag: bool[]"""
_SUM = "combine (%p, %q) { %s = arith.addf %p, %q : f32 loop.yield %s : f32 }"
_KERNEL_SUM = "combine (%p, %q) { %s = arith.addf %p, %q : f32 kernel.yield %s : f32 }"

EXAMPLES = {
    "loop.parallel": "loop.parallel i = 0 to n step 4 on cpu_thread grain 16 { loop.store %zero, %v[i] }",
    "loop.for": """loop.for i = 0 to n vector 8 unroll 4 {
        %e = loop.load %v[i] %d = arith.addf %e, %e : f32 loop.store %d, %v[i] }""",
    "loop.reduce": f"""%s = loop.reduce j = 0 to m order tree<1024, 64> vector 8 init -inf : f32 {{
        %e = loop.load %x[0, j] loop.yield %e : f32 }} {_SUM}""",
    "loop.scan": f"""%s = loop.scan j = 0 to m order prefix<1024, 4> from (%zero) init 0.0 : f32 {{
        %e = loop.load %x[0, j] loop.yield %e : f32 }} {_SUM} epilogue (%f) {{ loop.store %f, %y[0, j] }}""",
    "loop.load": "loop.for i = 0 to n { %e = loop.load %x[i, i + 1] where (m - 2 - i >= 0) }",
    "loop.store": "loop.for i = 0 to n { loop.store %zero, %y[i, 0] nontemporal 8388608 }",
    "loop.alloc": "%t = loop.alloc f32[n, 64] in thread at 64*n",
    "loop.index": "%e = loop.index (n*m - 1)",
    "loop.bind": "loop.bind %k as ..t0",
    "loop.if": "loop.if %c { loop.store %zero, %v[0] } else { loop.store %zero, %v[1] }",
    "loop.while": "loop.while { loop.yield %c : i1 } do { loop.store %zero, %v[0] }",
    "loop.prefetch": "loop.for i = 0 to n { loop.prefetch %y[i, 512] cache 2 writes where (n - 64 > 0) }",
    "loop.shuffle": """loop.for i = 0 to 4 vector 4 { %e = loop.load %v[i]
        %s = loop.shuffle %e, %e over i lanes [3, 2, 5, 0] loop.store %s, %v[i] }""",
    "loop.merge": """loop.merge i = 0 to n from %from into %into length 8 vector 4 unroll 2 {
        %e = loop.index (8*i) loop.yield %e, %e, %e, %e, %e : i64, i64, i64, i64, i64 }""",
    "loop.partition": """%e = loop.partition i = 0 to n into %into low 0 high n vector 4 {
        %l = loop.load %from[i] loop.yield %l, %c : i32, i1 }""",
    "loop.threads": "%e = loop.threads",
    "loop.timestamp": "loop.timestamp %counts[3]",
    "loop.yield": "loop.while { loop.yield %c : i1 } do { }",
    "kernel.generic": f"""%s = kernel.generic over (d0: n) reduce (d1: m) order tree<1024, 64> init 0.0 : f32
        in (%e = %a[d0, d1], %f = %b[n - 1 - d0, d1]) epilogue_inputs (%g = %r[d0]) -> (f32[n] at [d0]) {{
        %h = arith.mulf %e, %f : f32 kernel.yield %h : f32 }} {_KERNEL_SUM}
        epilogue (%t) {{ %o = arith.addf %t, %g : f32 kernel.yield %o : f32 }}""",
    "kernel.row_group": f"""%s = kernel.row_group shared 1 -> (f32[n, m]) {{
        %t = kernel.generic over (d0: n) reduce (d1: m) order tree<1024, 64> init 0.0 : f32 in (%e = %a[d0, d1])
        -> (f32[n] at [d0]) {{ kernel.yield %e : f32 }} {_KERNEL_SUM} epilogue (%f) {{ kernel.yield %f : f32 }}
        %u = kernel.generic over (d0: n, d1: m) in (%e = %a[d0, d1], %f = %t[d0]) -> (f32[n, m] at [d0, d1]) {{
        %d = arith.divf %e, %f : f32 kernel.yield %d : f32 }} kernel.yield %u : f32[n, m] }}""",
    "kernel.scatter": """%s = kernel.scatter over (d0: n) ordered 1 in (%e = %r[d0], %f = %i[d0])
        into (%r[..t0] where (..t0 >= 0)) { loop.bind %f as ..t0 kernel.yield %e : f32 }""",
    "kernel.custom": """%s = kernel.custom sort(%r) -> (f32[n])""",
    "kernel.read": """%s = kernel.generic over (d0: n) in (%e = %i[d0]) -> (f32[n] at [d0]) {
        loop.bind %e as ..t0 %f = kernel.read %r[..t0] where (..t0 >= 0) kernel.yield %f : f32 }""",
    "kernel.call": """%s = kernel.generic over (d0: n) in (%e = %r[d0]) -> (f32[n] at [d0]) {
        %f = kernel.call sigmoid(%e) : f32 kernel.yield %f : f32 }""",
    "kernel.empty": "%s = kernel.empty : f32[n, m]",
    "kernel.for": "%s = kernel.for i = 0 to n step 2 carry (%e = %r) { kernel.yield %e : f32[n] }",
    "kernel.while": """%s = kernel.while carry (%e = %r) { kernel.yield %flag : bool[] }
        do (%f) { kernel.yield %f : f32[n] }""",
    "kernel.if": "%s = kernel.if %flag -> (f32[n]) { kernel.yield %r : f32[n] } else { kernel.yield %r : f32[n] }",
    "kernel.yield": "%s = kernel.for i = 0 to n carry (%e = %r) { kernel.yield %e : f32[n] }",
    "tx.op": "%s = tx.sum %a {dims = [1], order = #tx.order<tree<1024, 64>>} : f32[n]",
    "tx.for": "%s = tx.for i = 0 to n step 2 carry (%e = %r) { %f = tx.exp %e : f32[n] tx.yield %f : f32[n] }",
    "tx.while": "%s = tx.while carry (%e = %r) { tx.yield %flag : bool[] } do (%f) { tx.yield %f : f32[n] }",
    "tx.if": """%s = tx.if %flag -> (f32[n]) { tx.yield %r : f32[n] }
        else { %e = tx.exp %r : f32[n] tx.yield %e : f32[n] }""",
}  # fmt: skip
#: Programs for GPUs whose loops have the other ops.
COMPILED = (
    ("sm_90a", "def f(x: i8[256, 128], y: i8[64, 128]) -> i32[256, 64]:\n    return x.cast(i32) @ y.T.cast(i32)\n"),
    ("sm_80", "def f(x: f16[256, 64], y: f16[64, 128]) -> f16[256, 128]:\n    return x @ y\n"),
    ("sm_80", "def f(x: f32[n, 5000]) -> f32[n, 5000]:\n    return x.cumsum(1)\n"),
)
DIALECTS = (
    ("tx", "Operations on whole tensors, by name (stages `tensor` to `evals`)", (PlainOp, ForOp, WhileOp, IfOp)),
    ("kernel", "Fused loop nests, over tensors (`fused`), then over memory (`buffers`)", tuple(KERNEL.operations)),
    ("loop", "Explicit loops over memory (`loops`)", tuple(LOOP.operations)),
)


def page() -> str:
    """The text of docs/reference/ir.md."""
    compiled = _compiled()
    parts = [HEADER, f"\n## A loop nest\n\nSoftmax in `.tx`, and its loops:\n\n```\n{SOFTMAX}```\n"]
    parts.append(f"\n```mlir\n{_loops(SOFTMAX)}\n```\n")
    for name, meaning, ops in DIALECTS:
        parts.append(f"\n## `{name}`\n\n{meaning}.\n")
        parts += (_section(op, compiled) for op in sorted(ops, key=lambda op: op.name))
    return "".join(parts)


def _section(op: type[Operation], compiled: dict[str, str]) -> str:
    title = "tx.NAME" if op is PlainOp else op.name
    said = re.sub(r"``([^`]*)``", r"`\1`", inspect.getdoc(op) or "")
    if op is PlainOp:
        said = "Any operation without regions: [all of them](ops.md)."
    text = compiled.get(op.name) or _example(op.name) if op.name in EXAMPLES or op.name in compiled else ""
    return f"\n### `{title}`\n\n{said}\n" + (f"\n```mlir\n{text}\n```\n" if text else "")


def _context() -> Context:
    context = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, math.Math):
        context.load_dialect(dialect)
    for name, dialect in UNIVERSE.all_dialects.items():
        context.register_dialect(name, dialect)
    return context


def _example(name: str) -> str:
    module = read_module(_context(), f"func.func @f({ARGUMENTS}) {{ {EXAMPLES[name]} func.return }}")
    module.verify()
    wanted = "tx.sum" if name == "tx.op" else name
    return ir_text(next(op for op in module.walk() if op.name == wanted))


def _loops(source: str) -> str:
    (function,) = parse(source, "ir.tx").functions.values()
    target = make_target("x86_64-unknown-linux-gnu", "x86-64-v3")
    machine = Machine.of_cpu(target.vector_bits, target.vector_registers)
    module = run_stages(function.graph(), stop_after="loops", target=target, machine=machine).module
    assert module is not None
    return "".join(ir_text(op) for op in module.body.block.ops)


def _compiled() -> dict[str, str]:
    """The shortest text of each op that only programs for GPUs have."""
    found: dict[str, str] = {}
    for name, source in COMPILED:
        target = gpu_target(name)
        (function,) = parse(source, "ir.tx").functions.values()
        machine = Machine.of_gpu(target.capability)
        module = run_stages(function.graph(), stop_after="loops", target=target, machine=machine).module
        assert module is not None
        for op in module.walk():
            if op.name.startswith("loop.") and op.name not in EXAMPLES:
                text = ir_text(op)
                if op.name not in found or len(text) < len(found[op.name]):
                    found[op.name] = text
    return found
