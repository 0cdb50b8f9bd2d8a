"""A compiled function with what a call needs: symbols, guards, outputs to allocate, arrays written in place.

The dims of the IR become one generated Python function (`_preparation`), so a call evaluates no `Dim`, and code that
comes from the cache needs none: everything here is plain data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from ...runtime.buffers.buffer_pool import empties, empty
from ...runtime.check_errors import raise_at, unpacked
from ...runtime.loader.loader import LoadedObject
from ...runtime.native_function import NativeFunction, failure, should_parallelize
from ...runtime.stub.native_call import outside
from ..call.signature import ROOM, Signature

__all__ = [
    "BufferSpec", "Code", "CodeSpec", "Executable", "GuardFailure", "Integers", "Prepared", "ShortOfRoom",
    "load_lazily", "load_native", "named_dtype",
]  # fmt: skip


#: The ints of a call, for rooms of so many elements by their names (`Executable.rooms`).
Integers: TypeAlias = Callable[[Mapping[str, int]], Sequence[int]]
_Result = TypeVar("_Result")
#: By how much a room is larger than asked for that was too small for a call before, where that asks for no more than
#: so many elements.
_SPARE, _FEW_ELEMENTS = 8, 1 << 20


class GuardFailure(ValueError):
    """Arguments for which the compiled code is not valid."""


class ShortOfRoom(Exception):
    """There was no memory for the elements of a result, or on the way to one, that values decided to be so many."""

    def __init__(self, room: str, elements: int):
        super().__init__(f"{elements} elements")
        self.room, self.elements = room, elements


class BufferSpec(NamedTuple):
    """Memory that the native function takes: NumPy dtype; dims and strides (in elements) as texts of dims."""

    dtype: np.dtype[Any]
    dims: tuple[str, ...]
    strides: tuple[str, ...]


class CodeSpec(NamedTuple):
    """How machine code is called, as plain data.  Dims are texts, as in `call/signature.py`.

    `function` is its name in the object; `symbols` are passed in this order; `outputs` are numbers of `buffers`, of
    which `written` are arguments written in place; `arena` and `thread_arena` are bytes of temporaries, for all and for
    each thread.  `work` estimates the iterations of the kernel; empty: no bound is known.  `entry` is the name
    of the entry for calls from Python; where that is empty, `by_python` says why.  Code that is `checked` notes
    an index that is outside.  `check_word` is the output that says which run-time check failed (-1: there are none).
    Results of `partial` code may have elements without a value, on paths that do not use them.
    """

    function: str
    symbols: tuple[str, ...]
    buffers: tuple[BufferSpec, ...]
    outputs: tuple[int, ...]
    written: tuple[int, ...]
    arena: str
    thread_arena: str
    work: str = ""
    entry: str = ""
    by_python: str = "no Python function has it as its body"
    checked: bool = False
    check_word: int = -1
    partial: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The functions of the object that are called from outside."""
        return (self.function, self.entry) if self.entry else (self.function,)

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        buffers = [[b.dtype.name, list(b.dims), list(b.strides)] for b in self.buffers]
        fields = {k: list(v) if isinstance(v, tuple) else v for k, v in self._asdict().items()}
        return {**fields, "buffers": buffers}

    @staticmethod
    def of_plain(plain: Mapping[str, Any]) -> CodeSpec:
        """Read back what `plain` made."""
        buffers = tuple(
            BufferSpec(named_dtype(name), tuple(dims), tuple(strides)) for name, dims, strides in plain["buffers"]
        )
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in plain.items()}
        return CodeSpec(**{**fields, "buffers": buffers})


def load_native(loaded: Any, code: CodeSpec, whole: Callable[[], Any] | None = None) -> NativeFunction:
    """The function of an object in memory, which it keeps there.

    `whole` loads the object with its entry, where that was left out.
    """

    def entry() -> tuple[int, Any]:
        linked = loaded if whole is None else whole()
        return linked.addresses[code.entry], linked

    given = 0 if not code.entry else entry if whole is not None else entry()[0]
    address = loaded.addresses[code.function]
    return NativeFunction(address, len(code.buffers), len(code.symbols), loaded, given, code.checked)


def load_lazily(machine_code: bytes, code: CodeSpec) -> NativeFunction:
    """The function of an ELF object, its entry to be linked when it is asked for.

    What an entry stands on costs more than a first call, which may stay the only one.
    """

    def whole() -> LoadedObject:
        return LoadedObject(machine_code, code.names, outside())

    return load_native(LoadedObject(machine_code, [code.function], left_out=code.entry), code, whole)


def named_dtype(name: str) -> np.dtype[Any]:
    """NumPy's dtype of that name, or that of bf16, which NumPy may not know yet."""
    if name == "bfloat16":  # NumPy knows it once this is imported
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


class Prepared(NamedTuple):
    """What a call's shapes imply."""

    symbols: tuple[int, ...]
    outputs: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    arena: int
    thread_arena: int
    #: Units of work (`runtime.stub.layout.LIGHT`); infinity: no bound is known.
    work: float
    #: Of each result that is a view: its sizes, its strides and where it begins, in bytes.
    views: tuple[tuple[tuple[int, ...], tuple[int, ...], int], ...] = ()


class Code(Protocol):
    """What a function was compiled to, loaded: `runtime.call.NativeFunction`, or `gpu.code.GpuCode`."""

    @property
    def entry(self) -> int:
        """The address of its entry for calls from Python; 0: there is none."""
        ...

    @property
    def linked(self) -> bool:
        """Whether `entry` is there without more work."""
        ...

    def run(self, arrays: Sequence[np.ndarray], inputs: int, prepared: Any, threads: int) -> None:
        """Run it on the buffers, the first `inputs` of which hold the arguments; `prepared` is a `Prepared`."""
        ...


class Executable:
    """Runs compiled code on arrays: what `signature` says of the call, `code` of the code."""

    def __init__(self, signature: Signature, code: CodeSpec, native: Code):
        self.signature, self.code, self.native = signature, code, native
        self.buffers, self.outputs, self.written = code.buffers, code.outputs, code.written
        self.fresh = _fresh(code, len(signature.arrays))
        self.views = signature.views
        #: For how many elements there is memory where no bound of a size is known.
        self.rooms = signature.rooms

    def prepare(
        self, shapes: Sequence[tuple[int, ...]], strides: Sequence[tuple[int, ...]], integers: Sequence[int]
    ) -> Prepared | None:
        """Symbols, output shapes and memory for a call, or None where a guard fails."""
        found = self._preparation(shapes, strides, integers)
        return None if found is None else Prepared(*found)

    @cached_property
    def _preparation(self) -> Callable[..., Any]:
        signature = self.signature
        return _preparation(
            signature.name,
            tuple(given.dims for given in signature.arrays),
            tuple(given.symbol for given in signature.integers),
            signature.substitutions,
            tuple((lhs, relation, rhs) for lhs, relation, rhs, _ in signature.guards),
            tuple((view.dims, view.strides, view.offset) for view in self.views),
            self.code,
        )

    def failing_guard(self, shapes: Sequence[tuple[int, ...]], integers: Sequence[int]) -> str:
        """A sentence on the first condition that the arguments do not meet; empty where all are met."""
        from ..call.guards import failing_guard

        return failing_guard(self.signature, shapes, integers)

    def __call__(
        self, arrays: Sequence[np.ndarray], integers: Sequence[int] = (), threads: int = 0
    ) -> list[np.ndarray]:
        """Run on arrays whose dtypes, ranks and stride classes are those compiled for; results by output number.

        Raises GuardFailure where shapes do not fit.
        """
        return self.run(self.prepared(arrays, integers), arrays, threads)

    def prepared(self, arrays: Sequence[np.ndarray], integers: Sequence[int] = ()) -> Prepared:
        """What the shapes of a call imply.  Raises GuardFailure where they do not fit."""
        shapes = [a.shape for a in arrays]
        steps = [tuple(s // a.itemsize for s in a.strides) for a in arrays]
        prepared = self.prepare(shapes, steps, integers)
        if prepared is None:
            raise GuardFailure(self.failing_guard(shapes, integers) or "the arguments do not fit the compiled code")
        return prepared

    def run(
        self,
        prepared: Prepared,
        arrays: Sequence[np.ndarray],
        threads: int = 0,
        given: Mapping[int, np.ndarray] | None = None,
    ) -> list[np.ndarray]:
        """The call itself, for shapes that were prepared; arrays written in place are among the results.

        Raises the error of a check that failed; what was written in place until then stays.
        `given` has arrays to be used for new buffers, by the buffer's number.
        """
        made = zip(self.fresh, prepared.outputs)
        if given:
            fresh = [given[b] if b in given else _empty(self.buffers[b].dtype, *form) for b, form in made]
        else:
            fresh = [_empty(self.buffers[b].dtype, *form) for b, form in made]
        held = [*arrays, *fresh]
        threads = threads if should_parallelize(prepared.work) else 1
        self.native.run(held, len(arrays), prepared, threads)
        outputs = [held[o] for o in self.outputs]
        if self.signature.checks:
            self._check(int(outputs[-1]), prepared)
        return outputs

    def with_room(self, attempt: Callable[[], _Result]) -> _Result:
        """What `attempt` gives, which runs a call prepared for `rooms`; it is made again where one was too small.

        Later calls have the larger rooms too.  What grows in a loop is short again and again, so from its second time
        on there is memory to spare.
        """
        short_before: set[str] = set()
        while True:
            try:
                return attempt()
            except ShortOfRoom as short:
                spare = _SPARE if short.room in short_before and short.elements <= _FEW_ELEMENTS else 1
                elements = spare << (short.elements - 1).bit_length()
                self.rooms = {**self.rooms, short.room: max(self.rooms[short.room], elements)}
                short_before.add(short.room)

    def repeated(self, prepared: Prepared) -> Callable[[Sequence[np.ndarray]], list[np.ndarray]] | None:
        """`run` for shapes that come again, with all that depends on them alone done; None where that is not worth it.

        It is where a call takes less time than what is around it: of code for the CPU, on one thread.
        """
        alone = self.native.alone(prepared) if isinstance(self.native, NativeFunction) else None
        if alone is None or self.signature.checks:
            return None
        forms = [(form, self.buffers[b].dtype) for b, form in zip(self.fresh, prepared.outputs)]
        if any(sorted(strides, reverse=True) != list(strides) for (_, strides), _ in forms):
            return None
        fresh = [empties(shape, dtype) for (shape, _), dtype in forms]
        outputs = self.outputs
        if len(fresh) == 1 and outputs == (len(self.buffers) - 1,):  # what most expressions are
            (new,) = fresh

            def call_for_one(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
                made = new()
                if status := alone(*arrays, made):
                    raise failure(status)
                return [made]

            return call_for_one

        def call(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
            held = [*arrays, *[new() for new in fresh]]
            if status := alone(*held):
                raise failure(status)
            return [held[o] for o in outputs]

        return call

    def _check(self, word: int, prepared: Prepared) -> None:
        """Raises the error of the check that failed, as the code says."""
        if not word:
            return
        from ...dialects.dims.dims import Sym, parse_dim

        failed = unpacked(word)
        check = self.signature.checks[failed.number]
        if check.error == ROOM:
            raise ShortOfRoom(check.text, failed.place)
        symbols = {Sym(name): value for name, value in zip(self.code.symbols, prepared.symbols, strict=True)}
        self.raise_failed(word, int(parse_dim(check.size).evaluate(symbols)))

    def raise_failed(self, word: int, size: int) -> None:
        """Raise, at the user's line, the error of the check that a word speaks of, whose dim has that size.

        None is raised where there was too little memory: the call is to be made again.
        """
        failed = unpacked(word)
        places = self.signature.places
        check = self.signature.checks[failed.number]._replace(size=size)
        if check.error == ROOM:
            return
        raise_at(check, failed.place, places[failed.number] if places else None)


def _empty(dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """An array of packed strides (in elements), whatever the order of its dims."""
    if sorted(strides, reverse=True) == list(strides):
        return empty(shape, dtype)
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    made = empty([shape[d] for d in order], dtype)
    return made.transpose(np.argsort(order))


_NAME = re.compile(r"(?:\$|[^\W\d])[\w.$]*")


def _fresh(code: CodeSpec, arrays: int) -> tuple[int, ...]:
    """The outputs that are new buffers, where the first buffers are `arrays` arguments."""
    return tuple(o for o in sorted(set(code.outputs)) if o >= arrays)


@lru_cache(maxsize=1024)
def _preparation(*given: Any) -> Callable[..., Any]:
    """The function that `_Preparation` writes, once for equal texts: evaluations of equal expressions share code."""
    return _Preparation(*given).compile()


class _Preparation:
    """Writes the Python function that checks a call's shapes and computes what depends on them.

    `arrays` are the dims of the arguments that are arrays, `integers` the symbols of those that are ints.
    """

    def __init__(
        self,
        name: str,
        arrays: tuple[tuple[str, ...], ...],
        integers: tuple[str, ...],
        substitutions: tuple[tuple[str, str], ...],
        guards: tuple[tuple[str, str, str], ...],
        views: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...],
        code: CodeSpec,
    ):
        self.name, self.arrays, self.integers = name, arrays, integers
        self.substitutions, self.guards, self.views, self.code = substitutions, guards, views, code
        self.fresh = [code.buffers[b] for b in _fresh(code, len(arrays))]
        self.names: dict[str, str] = {}
        self.lines: list[str] = []

    def compile(self) -> Callable[..., Any]:
        """``prepare(shapes, strides, integers)``, which gives the fields of `Prepared`, or None."""
        code = self.code
        sizes = self._bind_inputs()
        for symbol, value in self.substitutions:
            if symbol not in self.names:
                self._bind(symbol, self._text(value))
        checks = [f"{size} == {self._text(d)}" for d, size in sizes]
        checks += [f"{self._text(lhs)} {relation} {self._text(rhs)}" for lhs, relation, rhs in self.guards]
        outputs = "".join(f"({self._tuple(s.dims)}, {self._tuple(s.strides)}), " for s in self.fresh)
        work = self._text(code.work) if code.work else "float('inf')"
        sizes_of_memory = f"{self._text(code.arena)}, {self._text(code.thread_arena)}"
        views = "".join(f"({self._tuple(d)}, {self._tuple(s)}, {self._text(at)}), " for d, s, at in self.views)
        result = f"{self._tuple(code.symbols)}, ({outputs}), {sizes_of_memory}, {work}, ({views})"
        body = [*self.lines, *(f"if not ({check}): return None" for check in checks), f"return {result}"]
        source = "def prepare(shapes, strides, integers):\n" + "".join(f"    {line}\n" for line in body)
        scope: dict[str, Any] = {}
        exec(compile(source, f"<dims of {self.name}>", "exec"), scope)
        return scope["prepare"]

    def _bind_inputs(self) -> list[tuple[str, str]]:
        """Give every symbol that an argument shows a variable; what is left to compare: a dim and the size's text."""
        compared: list[tuple[str, str]] = []
        for i, dims in enumerate(self.arrays):
            for axis, d in enumerate(dims):
                size = f"shapes[{i}][{axis}]"
                if _NAME.fullmatch(d) and d not in self.names:
                    self._bind(d, size)
                else:
                    compared.append((d, size))
        for i, symbol in enumerate(self.integers):
            if _NAME.fullmatch(symbol):
                self._bind(symbol, f"integers[{i}]")
            else:
                compared.append((symbol, f"integers[{i}]"))
        for i, spec in enumerate(self.code.buffers[: len(self.arrays)]):
            for axis, stride in enumerate(spec.strides):
                if _NAME.fullmatch(stride) and stride.startswith("$"):
                    self._bind(stride, f"strides[{i}][{axis}]")
        return compared

    def _bind(self, name: str, text: str) -> None:
        self.names[name] = f"v{len(self.names)}"
        self.lines.append(f"{self.names[name]} = {text}")

    def _text(self, d: str) -> str:
        """The expression over the function's variables."""
        return _NAME.sub(lambda m: m[0] if m[0] in ("min", "max") else self.names[m[0]], d)

    def _tuple(self, dims: Sequence[str]) -> str:
        return f"({''.join(f'{self._text(d)}, ' for d in dims)})"
