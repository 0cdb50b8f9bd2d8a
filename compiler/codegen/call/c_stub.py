"""The functions that C calls, as LLVM IR around compiled code of the internal ABI.

``int f(arrays and numbers, results, sizes, void *workspace, const txc_threads *threads)`` checks what it was given,
fills the pointers, symbols and runtime struct of the internal ABI on its stack, and calls the compiled code: the best
version that the processor can run, where there are several.  ``f_workspace`` and ``f_<result>_shape`` answer what the
caller must allocate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....dialects.dims.dims import Dim, of_atom
from ....dialects.types import DTYPES, DType
from ...aot.c_signature import STATUS, CArray, CConstant, CScalar, CSignature, CSize
from ..cpu.dispatch import emit_isa_level
from ..cpu.frame import ARENA, PARALLEL, POOL, THREAD_ARENA, THREAD_STRIDE, THREADS
from ..emit.module import attributes
from ..emit.text import IrText, Module, llvm_type, quoted
from ..emit.values.index import IndexValues
from ..emit.values.lanes import Lanes
from ..emit.values.primitives import literal
from ..target.target import Target

__all__ = ["LINE", "StubFunction", "Version", "emit_entry", "memory_type", "passed_type"]

#: Arenas start at, and worker arenas lie apart by, two cache lines: prefetchers fetch pairs.
LINE = 128
_THREADS = "{ ptr, ptr, i64 }"


@dataclass(frozen=True)
class Version:
    """Compiled code of the function for one target: its name, the symbols it is passed, the memory it needs."""

    function: str
    target: Target
    symbols: tuple[Dim, ...]
    arena: Dim
    thread_arena: Dim


def emit_entry(signature: CSignature, versions: Sequence[Version]) -> str:
    """LLVM IR text of the exported functions; `versions` go from the least to the most demanding target."""
    target = versions[0].target
    module = Module(target)
    level = ""
    if len(versions) > 1:
        level = emit_isa_level(module, f"{signature.symbol}.level", [v.target for v in versions])
    _Call(module, signature, versions, level).emit()
    _Workspace(module, signature, versions).emit()
    for result in signature.results:
        if result.has_shape:
            _Shape(module, signature, result).emit()
    for version in versions:
        module.declarations[version.function] = f"declare i32 {quoted(version.function)}(ptr, ptr, ptr)"
    return f"{module}{attributes(target)}"


class StubFunction:
    """One function over the signature's sizes."""

    def __init__(self, module: Module, signature: CSignature, versions: Sequence[Version] = ()):
        self.text = IrText(module)
        self.index = IndexValues(self.text, Lanes(self.text))
        self.signature, self.versions = signature, versions
        self.returns: dict[str, str] = {}

    def open(self, sizes: Sequence[CSize]) -> None:
        for size in sizes:
            self.index.define(size.symbol, _given(size))

    def close(self, result: str, name: str, parameters: Sequence[str]) -> None:
        for status, label in self.returns.items():
            self.text.start(label)
            self.text.put(f"ret {result} {status}")
        self.text.finish(name, result, ", ".join(parameters))

    def require(self, condition: str, status: int) -> None:
        """Go on where the i1 holds; else return `status`."""
        label = self.returns.setdefault(str(status), f"status{status}")
        good = self.text.label("good")
        self.text.branch_if(condition, good, label)
        self.text.start(good)

    def check_conditions(self, status: int | None = None) -> None:
        """Return the condition's own status, or `status`, where one does not hold."""
        codes = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle"}
        for c in self.signature.conditions:
            failed = c.status if status is None else status
            lhs, rhs = self._side(c.lhs, failed), self._side(c.rhs, failed)
            self.require(self.text.ins(f"icmp {codes[c.relation]} i64 {lhs}, {rhs}"), failed)

    def _side(self, d: Dim, status: int) -> str:
        """The value of a side of a condition; `status` is returned where 64 bits do not hold it."""
        if self._surely_fits(d):
            return self.index.value(d)
        value, fits = self._wrapped(d)
        self.require(fits, status)
        return value

    def _surely_fits(self, d: Dim) -> bool:
        """Whether a dim is a number, a parameter, or sums of sizes of arrays and a small number."""
        sizes = {(size.symbol,) for size in self.signature.sizes}
        return d.const is not None or d.symbol is not None or all(
            abs(factor) < 1 << 32 if not mono else abs(factor) == 1 and mono in sizes for mono, factor in d.terms
        )  # fmt: skip

    def _wrapped(self, d: Dim) -> tuple[str, str]:
        """What 64 bits hold of a dim, and an i1: whether that is all.  Of `index.value` LLVM takes it for sure.

        A sum whose parts come to less than 1.5 * 2**63 has the sign of the wrapped sum only there.  Larger parts are
        taken not to fit, also where they are each other's negatives.
        """
        ins = self.text.ins
        zero, near, most = (literal(x, DTYPES["f64"]) for x in (0.0, 2.0**62, 1.5 * 2.0**63))
        total, size, wrapped = zero, zero, "0"
        for mono, factor in d.terms:
            part, low = literal(float(factor), DTYPES["f64"]), literal(factor, DTYPES["i64"])
            for atom in mono:
                number = self.index.value(of_atom(atom))
                low = ins(f"mul i64 {low}, {number}")
                part = ins(f"fmul double {part}, {ins(f'sitofp i64 {number} to double')}")
            total, wrapped = ins(f"fadd double {total}, {part}"), ins(f"add i64 {wrapped}, {low}")
            size = ins(f"fadd double {size}, {self._magnitude(part)}")
        same = ins(f"icmp eq i1 {ins(f'icmp slt i64 {wrapped}, 0')}, {ins(f'fcmp olt double {total}, {zero}')}")
        inside = ins(f"or i1 {same}, {ins(f'fcmp olt double {self._magnitude(total)}, {near}')}")
        return wrapped, ins(f"and i1 {inside}, {ins(f'fcmp olt double {size}, {most}')}")

    def _magnitude(self, value: str) -> str:
        return self.text.call("fabs", 1, "double", value)

    def thread_count(self) -> str:
        """The threads to use: one where the caller passed NULL."""
        text = self.text
        with_threads, after = text.label("threads"), text.label("counted")
        before = text.block
        text.branch_if(text.ins("icmp eq ptr %threads, null"), after, with_threads)
        text.start(with_threads)
        given = text.ins(f"load i64, ptr {self.field('%threads', 2)}, align 8")
        text.branch(after)
        text.start(after)
        return text.ins(f"phi i64 [1, %{before}], [{given}, %{with_threads}]")

    def field(self, base: str, number: int) -> str:
        return self.text.ins(f"getelementptr {_THREADS}, ptr {base}, i32 0, i32 {number}")

    def largest(self, dims: Sequence[Dim]) -> str:
        """The largest of some sizes in bytes, in whole lines."""
        found = self.index.value(dims[0])
        for d in dict.fromkeys(dims[1:]):
            found = self.text.call("smax", 1, "i64", found, self.index.value(d))
        whole = self.text.add(found, str(LINE - 1))
        return self.text.ins(f"and i64 {whole}, {-LINE}") if whole[0] == "%" else str(int(whole) & -LINE)

    def memory(self, threads: str) -> tuple[str, str, str]:
        """Bytes of the arena, bytes from one thread's arena to the next, and bytes of all without alignment."""
        arena = self.largest([v.arena for v in self.versions])
        stride = self.largest([v.thread_arena for v in self.versions])
        return arena, stride, self.text.add(arena, self.text.mul(stride, threads))


class _Call(StubFunction):
    """The exported function."""

    def __init__(self, module: Module, signature: CSignature, versions: Sequence[Version], level: str):
        super().__init__(module, signature, versions)
        self.level = level

    def emit(self) -> None:
        s = self.signature
        self.open(s.integers)
        self.check_conditions()
        for array in s.arrays:
            self._check_pointer(array)
        threads = self.thread_count()
        self._check_threads(threads)
        arguments, symbols = self._arguments(), self.text.alloca("i64", max(1, len(self.versions[0].symbols)))
        runtime = self._runtime(threads)
        for version in self._versions():
            for i, d in enumerate(version.symbols):
                self.text.put(f"store i64 {self.index.value(d)}, ptr {self._slot(symbols, i)}, align 8")
            called = f"call i32 {quoted(version.function)}(ptr {arguments}, ptr {symbols}, ptr {runtime})"
            self.text.put(f"ret i32 {self.text.ins(called)}")
        self.close("i32", s.symbol, self._parameters())

    def _parameters(self) -> list[str]:
        s = self.signature
        kinds = {CArray: lambda a: "ptr noalias", CScalar: passed_type, CSize: lambda a: "i64"}
        given = [f"{kinds[type(a)](a)} {_given(a)}" for a in (*s.arguments, *s.results, *s.sizes)]
        return [*given, "ptr %workspace", "ptr %threads"]

    def _check_pointer(self, array: CArray) -> None:
        given = self.text.ins(f"icmp ne ptr {_given(array)}, null")
        if array.elements.const is None:
            empty = self.text.ins(f"icmp eq i64 {self.index.value(array.elements)}, 0")
            given = self.text.ins(f"or i1 {given}, {empty}")
        elif array.elements.const == 0:
            return
        self.require(given, STATUS["TXC_ERROR_NULL"][0])

    def _check_threads(self, threads: str) -> None:
        """At least one thread; for several, a function that runs them."""
        text = self.text
        status = STATUS["TXC_ERROR_THREADS"][0]
        self.require(text.ins(f"icmp sge i64 {threads}, 1"), status)
        several, done = text.label("several"), text.label("alone")
        text.branch_if(text.ins(f"icmp sgt i64 {threads}, 1"), several, done)
        text.start(several)
        function = text.ins(f"load ptr, ptr {self.field('%threads', 0)}")
        self.require(text.ins(f"icmp ne ptr {function}, null"), status)
        text.branch(done)
        text.start(done)

    def _slot(self, base: str, number: int) -> str:
        return self.text.ins(f"getelementptr i8, ptr {base}, i64 {8 * number}") if number else base

    def _arguments(self) -> str:
        """The array of pointers; numbers by value get memory of this frame."""
        s = self.signature
        given = [a for a in (*s.arguments, *s.results) if not isinstance(a, CSize)]
        table = self.text.alloca("i64", max(1, len(given) + len(s.constants)))
        for constant in s.constants:
            self.text.put(f"store ptr {self._constant(constant)}, ptr {self._slot(table, constant.buffer)}, align 8")
        for a in given:
            pointer = _given(a)
            if isinstance(a, CScalar) and not a.by_address:
                pointer = self.text.alloca(memory_type(a.dtype), 1)
                self.text.put(f"store {memory_type(a.dtype)} {_given(a)}, ptr {pointer}")
            self.text.put(f"store ptr {pointer}, ptr {self._slot(table, a.buffer)}, align 8")
        return table

    def _constant(self, constant: CConstant) -> str:
        """The elements of a captured array, as a global of the module."""
        name = quoted(f"{self.signature.symbol}.{constant.name}")
        text = "".join(f"\\{byte:02X}" for byte in constant.data)
        kind = f"[{len(constant.data)} x i8]"
        self.text.module.globals[name] = f'{name} = internal constant {kind} c"{text}", align 64'
        return name

    def _runtime(self, threads: str) -> str:
        """The runtime struct: the caller's threads, and the arenas in the workspace."""
        text = self.text
        arena, stride, total = self.memory(threads)
        runtime = text.alloca("i64", 6)
        if total != "0":
            needless = text.ins(f"icmp eq i64 {total}, 0")
            given = text.ins(f"or i1 {needless}, {text.ins('icmp ne ptr %workspace, null')}")
            self.require(given, STATUS["TXC_ERROR_WORKSPACE"][0])
        address = text.ins("ptrtoint ptr %workspace to i64")
        skipped = text.ins(f"and i64 {text.ins(f'sub i64 0, {address}')}, {LINE - 1}")
        base = text.ins(f"getelementptr i8, ptr %workspace, i64 {skipped}")
        thread_arena = text.ins(f"getelementptr i8, ptr {base}, i64 {arena}")
        # Without a txc_threads, its fields are read from the runtime struct itself, and never used.
        source = text.ins(f"select i1 {text.ins('icmp eq ptr %threads, null')}, ptr {runtime}, ptr %threads")
        text.put(f"store {_THREADS} zeroinitializer, ptr {runtime}")
        function = text.ins(f"load ptr, ptr {source}")
        pool = text.ins(f"load ptr, ptr {self.field(source, 1)}")
        for offset, kind, value in (
            (PARALLEL, "ptr", function), (POOL, "ptr", pool), (THREADS, "i64", threads), (ARENA, "ptr", base),
            (THREAD_ARENA, "ptr", thread_arena), (THREAD_STRIDE, "i64", stride),
        ):  # fmt: skip
            text.put(f"store {kind} {value}, ptr {self._slot(runtime, offset // 8)}, align 8")
        return runtime

    def _versions(self) -> Iterator[Version]:
        """Each version, most demanding first, with the text where the processor can run it and none before it."""
        text = self.text
        if not self.level:
            yield self.versions[0]
            return
        level = text.ins(f"call i32 {quoted(self.level)}()")
        for number, version in reversed(list(enumerate(self.versions, 1))):
            runs, below = text.label("runs"), text.label("below")
            text.branch_if(text.ins(f"icmp sge i32 {level}, {number}"), runs, below)
            text.start(runs)
            yield version
            text.start(below)
        text.put(f"ret i32 {STATUS['TXC_ERROR_CPU'][0]}")


class _Workspace(StubFunction):
    """``size_t f_workspace(sizes, threads)``: what the arenas need, and room to align them."""

    def emit(self) -> None:
        text = self.text
        s = self.signature
        self.open(s.shape_sizes)
        self.check_conditions(0)
        threads = self.thread_count()
        total = self.memory(threads)[2]
        if total != "0":
            some = text.ins(f"icmp sgt i64 {total}, 0")
            total = text.ins(f"select i1 {some}, i64 {text.add(total, str(LINE - 1))}, i64 0")
        size = f"i{text.target.pointer_bits}"
        if size != "i64":
            total = text.ins(f"trunc i64 {total} to {size}")
        text.put(f"ret {size} {total}")
        parameters = [f"i64 {_given(size)}" for size in s.shape_sizes]
        self.close(size, f"{s.symbol}_workspace", [*parameters, "ptr %threads"])


class _Shape(StubFunction):
    """``int f_<result>_shape(sizes, int64_t *shape)``: the sizes of a result that are more than a parameter."""

    def __init__(self, module: Module, signature: CSignature, result: CArray):
        super().__init__(module, signature)
        self.result = result

    def emit(self) -> None:
        s = self.signature
        self.open(s.shape_sizes)
        self.check_conditions()
        for i, d in enumerate(self.result.dims):
            at = self.text.ins(f"getelementptr i64, ptr %shape, i64 {i}")
            self.text.put(f"store i64 {self.index.value(d)}, ptr {at}, align 8")
        self.text.put("ret i32 0")
        parameters = [f"i64 {_given(size)}" for size in s.shape_sizes]
        self.close("i32", f"{s.symbol}_{self.result.name}_shape", [*parameters, "ptr %shape"])


def _given(parameter: CArray | CScalar | CSize) -> str:
    """A parameter in the IR: whatever C calls it, no value or block of the function has its name."""
    return f"%given.{parameter.name}"


def passed_type(scalar: CScalar) -> str:
    return "ptr" if scalar.by_address else memory_type(scalar.dtype)


def memory_type(dtype: DType) -> str:
    """How a number by value is passed: a bool as a byte of 0 or 1."""
    return "i8" if dtype.kind == "bool" else llvm_type(dtype)
