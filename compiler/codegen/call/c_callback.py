"""A function of the type that another library calls, as LLVM IR around a function as C exports it (`c_stub.py`).

It takes numbers, addresses and lengths as that type has them, and has memory of its own: a few kilobytes of its stack,
or, where that is too little, what the C library gives it for the call.  It runs on the thread that calls it.  Where the
exported function returns an error, or the program's checks failed, it gives `Callback.failed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....dialects.dims.dims import Dim, dim
from ...aot.c_signature import CArray, CScalar, CSignature
from ...aot.c_type import CFunctionType
from ..emit.module import attributes
from ..emit.text import Module, llvm_type, quoted
from .c_stub import LINE, StubFunction, Version, memory_type, passed_type

__all__ = ["Callback", "allocates", "emit_callback"]

#: Bytes of temporaries that lie on the stack.
_STACK_BYTES = 4096


@dataclass(frozen=True)
class Callback:
    """How a function of `type`, called `symbol`, calls the exported one.

    `arguments` has the parameter of `type` for each of the signature's, `sizes` that for each of its sizes; with
    `spread` the arguments are elements of that one parameter instead.  A result is stored at the parameter `result`,
    or, with `returns`, returned; else 1 is, where the type returns something.  `checked` programs give their word last.
    """

    symbol: str
    type: CFunctionType
    arguments: tuple[int, ...]
    sizes: tuple[int, ...]
    spread: int | None
    result: int | None
    returns: bool
    checked: bool

    @property
    def failed(self) -> str:
        """What is returned where something failed, as LLVM writes it: NaN, else 0."""
        kind = self.type.result
        if kind is None:
            return ""
        return "0x7FF8000000000000" if kind.is_float else "0"

    def unsure(self, signature: CSignature) -> list[tuple[int, Dim]]:
        """The lengths that may not be what they have to be, with that: of equal sizes the signature has only one."""
        known = {size.symbol: at for size, at in zip(signature.sizes, self.sizes, strict=True)}
        arrays = [] if self.spread is not None else [*zip(signature.arguments, self.arguments, strict=True)]
        if self.result is not None:
            arrays.append((signature.results[0], self.result))
        found = []
        for array, at in arrays:
            length = self.type.parameters[at].length
            if isinstance(array, CArray) and length is not None:
                size = array.elements.symbol
                if size is None or known.get(size) != length:
                    found.append((length, array.elements))
        if self.spread is not None:
            length = self.type.parameters[self.spread].length
            assert length is not None
            found.append((length, dim(len(signature.arguments))))
        return found


def allocates(versions: Sequence[Version]) -> bool:
    """Whether there are temporaries whose memory may be refused."""
    sizes = [d.const for v in versions for d in (v.arena, v.thread_arena)]
    return any(size is None or size > _STACK_BYTES // 2 for size in sizes)


def emit_callback(signature: CSignature, versions: Sequence[Version], callback: Callback) -> str:
    """LLVM IR text of the function that calls the exported one, which is declared here."""
    module = Module(versions[0].target)
    _Callback(module, signature, versions, callback).emit()
    return f"{module}{attributes(module.target)}"


class _Callback(StubFunction):
    def __init__(self, module: Module, signature: CSignature, versions: Sequence[Version], callback: Callback):
        super().__init__(module, signature, versions)
        self.callback = callback
        self._lengths: dict[int, str] = {}
        self._memory_to_free = ""

    def emit(self) -> None:
        s, callback, text = self.signature, self.callback, self.text
        for size, at in zip(s.sizes, callback.sizes, strict=True):
            self.index.define(size.symbol, self._length(at))
        self._check_lengths()
        results = self._results()
        given = [*self._arguments(), *results, *(f"i64 {self._length(at)}" for at in callback.sizes)]
        called = ", ".join([*given, f"ptr {self._workspace()}", "ptr null"])
        kinds = ", ".join(g.partition(" ")[0] for g in [*given, "ptr", "ptr"])
        text.module.declarations[s.symbol] = f"declare i32 {quoted(s.symbol)}({kinds})"
        status = text.ins(f"call i32 {quoted(s.symbol)}({called})")
        if self._memory_to_free:
            text.declare("free", "void", ["ptr"])
            text.put(f"call void @free(ptr {self._memory_to_free})")
        self._require(text.ins(f"icmp eq i32 {status}, 0"))
        if callback.checked:
            word = text.ins(f"load i64, ptr {results[-1].partition(' ')[2]}, align 8")
            self._require(text.ins(f"icmp eq i64 {word}, 0"))
        self._return(results)

    def _require(self, condition: str) -> None:
        """Go on where the i1 holds; else return what says that it does not."""
        label = self.returns.setdefault(self.callback.failed, "failed")
        good = self.text.label("good")
        self.text.branch_if(condition, good, label)
        self.text.start(good)

    def _return(self, results: Sequence[str]) -> None:
        text, kind = self.text, self.callback.type.result
        if kind is None:
            text.put("ret void")
            returned = "void"
        else:
            returned = memory_type(kind)
            value = "1"
            if self.callback.returns:
                value = text.ins(f"load {returned}, ptr {results[0].partition(' ')[2]}")
            text.put(f"ret {returned} {value}")
        for value, label in self.returns.items():
            text.start(label)
            text.put(f"ret {returned} {value}")
        extended = ""
        if kind is not None and not kind.is_float and kind.bits < 64:
            extended = "signext " if kind.is_signed else "zeroext "
        parameters = [f"{self._kind(n)} {_given(n)}" for n in range(len(self.callback.type.parameters))]
        text.finish(self.callback.symbol, f"{extended}{returned}", ", ".join(parameters))

    def _kind(self, number: int) -> str:
        p = self.callback.type.parameters[number]
        return "ptr" if p.pointer or p.dtype is None else memory_type(p.dtype)

    def _length(self, number: int) -> str:
        """How many elements a parameter says there are; fewer than none are none."""
        found = self._lengths.get(number)
        if found is None:
            entry, dtype = self.text.entry, self.callback.type.parameters[number].dtype
            assert dtype is not None
            wide = _given(number)
            if dtype.bits < 64:
                how = "sext" if dtype.is_signed else "zext"
                wide = self.text.ins(f"{how} {llvm_type(dtype)} {wide} to i64", entry)
            negative = self.text.ins(f"icmp slt i64 {wide}, 0", entry)
            found = self._lengths[number] = self.text.ins(f"select i1 {negative}, i64 0, i64 {wide}", entry)
        return found

    def _check_lengths(self) -> None:
        """Go on where there are as many elements as the function takes and gives."""
        text, spread = self.text, self.callback.spread
        for length, wanted in self.callback.unsure(self.signature):
            self._require(text.ins(f"icmp eq i64 {self._length(length)}, {self.index.value(wanted)}"))
        if spread is not None:
            self._require(text.ins(f"icmp ne ptr {_given(spread)}, null"))

    def _arguments(self) -> list[str]:
        s, callback = self.signature, self.callback
        if callback.spread is not None:
            return [self._element(n, a) for n, a in enumerate(s.arguments) if isinstance(a, CScalar)]
        kinds = [passed_type(a) if isinstance(a, CScalar) else "ptr" for a in s.arguments]
        return [f"{kind} {_given(at)}" for kind, at in zip(kinds, callback.arguments, strict=True)]

    def _element(self, number: int, scalar: CScalar) -> str:
        """An argument that is an element of the parameter that has them all."""
        assert self.callback.spread is not None
        base, kind = _given(self.callback.spread), memory_type(scalar.dtype)
        at = self.text.ins(f"getelementptr {kind}, ptr {base}, i64 {number}")
        return f"{kind} {self.text.ins(f'load {kind}, ptr {at}')}"

    def _results(self) -> list[str]:
        """Where the exported function's results go: the caller's memory, or that of this frame."""
        at, results = self.callback.result, self.signature.results
        stored = [] if at is None else [f"ptr {_given(at)}"]
        return [*stored, *(f"ptr {self.text.alloca(memory_type(r.dtype), 1)}" for r in results[len(stored) :])]

    def _workspace(self) -> str:
        """Memory for temporaries: of the stack, or of the C library where there are more of them."""
        text = self.text
        total = self.memory("1")[2]
        if total == "0":
            return "null"
        stack = text.alloca("i8", _STACK_BYTES + LINE, LINE)
        if not allocates(self.versions):
            return stack
        more, have, before = text.label("more"), text.label("have"), text.block
        text.branch_if(text.ins(f"icmp ule i64 {total}, {_STACK_BYTES}"), have, more)
        text.start(more)
        text.declare("malloc", "ptr", ["i64"])
        found = text.ins(f"call ptr @malloc(i64 {text.add(total, str(LINE))})")
        self._require(text.ins(f"icmp ne ptr {found}, null"))
        last = text.block
        text.branch(have)
        text.start(have)
        self._memory_to_free = text.ins(f"phi ptr [null, %{before}], [{found}, %{last}]")
        return text.ins(f"phi ptr [{stack}, %{before}], [{found}, %{last}]")


def _given(number: int) -> str:
    """A parameter in the IR."""
    return f"%given{number}."
