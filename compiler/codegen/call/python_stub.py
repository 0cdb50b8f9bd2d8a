"""LLVM IR text of a native entry: the function between a call's Python objects and the kernel.

``ptr @entry(ptr record, ptr args, i64 nargs, ptr kwnames)`` answers with a new reference; NULL and an exception; or
MISS, having changed nothing, where the call is not for this version.  It checks in this order: captured values (whose
attributes may run any code), kinds of arguments, sizes and guards.  `runtime/stub/ir.py` has what all entries share.
All that lies outside is named by a symbol, so the text is the same in every process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

import numpy as np

from ....dialects.dims.dims import Call, Dim, Sym, dim
from ....dialects.types import DType
from ....runtime.signals.layout import UNKNOWN_WORK
from ....runtime.stub import cpython_layout as layout
from ....runtime.stub.layout import BF16_NUMBER, MISS, RecordStruct
from ...call.parameters import Form
from ...call.plan import CallPlan, InputPlan, OutputPlan, Structure
from ..emit.text import ONCE, quoted
from .stub_text import EntryWriter

__all__ = ["emit_entry", "entry_name"]

_TESTS = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle"}
_MISS = f"inttoptr (i64 {MISS} to ptr)"
_OVERFLOWING = {"+": "llvm.sadd.with.overflow.i64", "*": "llvm.smul.with.overflow.i64"}
_DIVISIONS = {"//": "txc_floordiv", "%": "txc_floormod"}


def entry_name(function: str) -> str:
    """The symbol of a function's entry."""
    return f"{function}.entry"


def emit_entry(plan: CallPlan, module: str) -> str:
    """The text of the module that holds the kernel, with the entry behind it."""
    return _Entry(plan).text(module)


class _Entry(EntryWriter):
    """Writes one entry from top to bottom."""

    def __init__(self, plan: CallPlan):
        super().__init__()
        self.plan = plan
        self.numbers: dict[Dim, str] = {}
        self.products: dict[tuple[Sym | Call, ...], str] = {}
        self.symbols: dict[Sym, str] = {}
        self.substitutions = dict(plan.substitutions)
        #: Conditions that have to hold, and those that must not, since the last branch.
        self.wanted: list[str] = []
        self.wrong: list[str] = []
        #: Sizes that are compared when all symbols are defined.
        self.compared: list[tuple[Dim, str]] = []
        self.pointers: list[str] = []
        #: What each input is made from; and those objects that only a list or a dict of the caller's holds.
        self.of_input: dict[int, str] = {}
        self.loose: list[str] = []
        self.takes_out = any(p.form == ("out",) for p in plan.parameters)

    def text(self, module: str) -> str:
        name = quoted(entry_name(self.plan.name))
        self._captured()
        self._parameters()
        self._arguments()
        self._sizes()
        self._overlaps()
        held = self._outputs()
        self._run(held)
        self._results(held)
        body = [*self.allocas, *self.lines]
        head = f"define ptr {name}(ptr %record, ptr %args, i64 %nargs, ptr %kwnames) {ONCE} {{\nentry:"
        ends = f"miss:\n  ret ptr {_MISS}\nlost:\n  ret ptr null\n}}"
        missing = [text for symbol, text in self.used.items() if f"@{symbol}(" not in module]
        return "\n".join([module, *missing, head, *body, ends, ""])

    # Before the kernel runs

    def _captured(self) -> None:
        """Captured values are checked first; a record without any costs one load."""
        count = self.load("%record", RecordStruct.captures.offset, "i64")
        none = self.ins(f"icmp eq i64 {count}, 0")
        self.put(f"br i1 {none}, label %same, label %captured")
        self.block("captured")
        same = self.call("txc_captured", "ptr %record")
        self.put(f"br i1 {same}, label %same, label %miss")
        self.block("same")

    def _parameters(self) -> None:
        """All arguments by position are taken from where the caller has them; others are put in order first."""
        count = len(self.plan.parameters) - self.takes_out
        slots = self.alloca(f"[{count + 1} x ptr]", "slots")
        full = self.ins(f"icmp eq i64 %nargs, {count}")
        plain = self.ins("icmp eq ptr %kwnames, null")
        simple = self.ins(f"and i1 {full}, {plain}")
        self.put(f"br i1 {simple}, label %bound, label %bind")
        self.block("bind")
        fits = self.call("txc_bind", "ptr %record", "ptr %args", "i64 %nargs", "ptr %kwnames", f"ptr {slots}")
        out = self.load(slots, 8 * count) if self.takes_out else ""
        self.put(f"br i1 {fits}, label %bound, label %miss")
        self.block("bound")
        self.put(f"%given = phi ptr [ %args, %same ], [ {slots}, %bind ]")
        if self.takes_out:
            self.put(f"%out = phi ptr [ {self.outside('_Py_NoneStruct')}, %same ], [ {out}, %bind ]")

    def _arguments(self) -> None:
        """Objects of the right kind, and where the kernel finds their data."""
        plan = self.plan
        hidden = [i for i, given in enumerate(plan.inputs) if given.hidden]
        self.of_input = {i: self.object(n) for n, i in enumerate(hidden)}
        for n, parameter in enumerate(plan.parameters):
            if parameter.form != ("out",):
                self._take(parameter.form, self.load("%given", 8 * n), loose=False)
        for i, given in enumerate(plan.inputs):
            getattr(self, f"_{given.kind}")(i, given, self.of_input[i])

    def _take(self, form: Form, obj: str, loose: bool) -> None:
        """Take an argument apart; `loose` says that it is part of a list or dict."""
        kind, *rest = form
        if kind == "object":
            self.demand(self.ins(f"icmp eq ptr {obj}, {self.object(rest[0])}"))
        elif kind == "input":
            self.of_input[rest[0]] = obj
            self.loose += [obj] if loose else []
        else:
            parts = rest[-1]
            items = self._dict_items(obj, *rest) if kind == "dict" else self._items(kind, obj, len(parts))
            for n, part in enumerate(parts):
                self._take(part, self.load(items, 8 * n), loose or kind != "tuple")

    def _items(self, kind: str, obj: str, count: int) -> str:
        """Where the items of a tuple or list of that size are."""
        items = self.call(f"txc_{kind}_items", f"ptr {obj}", f"i64 {count}")
        self.demand(self.ins(f"icmp ne ptr {items}, null"))
        return items

    def _dict_items(self, obj: str, first: int, parts: Sequence[Form]) -> str:
        """Where the values of a dict are copied to, whose keys are the objects from number `first` on."""
        self.count += 1
        place = self.alloca(f"[{max(1, len(parts))} x ptr]", f"values{self.count}")
        arguments = (f"ptr {obj}", f"ptr {self.objects(first)}", f"i64 {len(parts)}", f"ptr {place}")
        self.demand(self.call("txc_dict_items", *arguments))
        return place

    def _array(self, i: int, given: InputPlan, obj: str) -> None:
        assert given.dtype is not None
        kind, *rest = given.fact
        mask, wanted = layout.ALIGNED | layout.C_CONTIGUOUS, layout.ALIGNED
        if kind == "packed":
            wanted |= layout.C_CONTIGUOUS
        else:
            mask |= layout.F_CONTIGUOUS
            wanted |= layout.F_CONTIGUOUS if kind == "order" else 0
        if given.stored:
            mask, wanted = mask | layout.WRITEABLE, wanted | layout.WRITEABLE
        arguments = (f"i64 {_numbers(given.dtype)}", f"i32 {len(given.dims)}", f"i32 {mask}", f"i32 {wanted}")
        self.demand(self.call("txc_is_array", f"ptr {obj}", *arguments))
        dims = self.load(obj, layout.ARRAY_DIMS) if given.dims else ""
        for axis, d in enumerate(given.dims):
            self._size(d, self.load(dims, 8 * axis, "i64"))
        if kind == "strides":
            self._strides(given, rest, self.load(obj, layout.ARRAY_STRIDES))
        self.pointers.append(self.load(obj, layout.ARRAY_DATA))

    def _strides(self, given: InputPlan, classes: Sequence[str], strides: str) -> None:
        """Each stride is of its class; those that are symbols are passed in elements."""
        assert given.dtype is not None
        item = given.dtype.bytes
        for axis, (expected, step) in enumerate(zip(classes, given.strides, strict=True)):
            stride = self.load(strides, 8 * axis, "i64")
            if expected != "s":
                self.wanted.append(self.ins(f"icmp eq i64 {stride}, {item if expected == '1' else 0}"))
                continue
            self.wanted.append(self.ins(f"icmp ne i64 {stride}, 0"))
            self.wanted.append(self.ins(f"icmp ne i64 {stride}, {item}"))
            rest = self.ins(f"and i64 {stride}, {item - 1}")
            self.wanted.append(self.ins(f"icmp eq i64 {rest}, 0"))
            assert step.symbol is not None
            self.symbols[step.symbol] = self.ins(f"ashr i64 {stride}, {item.bit_length() - 1}")

    def _float(self, i: int, given: InputPlan, obj: str) -> None:
        self._exact(obj, "PyFloat_Type")

    def _complex(self, i: int, given: InputPlan, obj: str) -> None:
        self._exact(obj, "PyComplex_Type")

    def _scalar(self, i: int, given: InputPlan, obj: str) -> None:
        assert given.dtype is not None
        self._exact(obj, f"txc_type_{given.dtype.numpy.name}")

    def _exact(self, obj: str, type_: str) -> None:
        """An object of exactly this type, whose value follows its header."""
        its = self.load(obj, layout.OBJECT_TYPE)
        self.demand(self.ins(f"icmp eq ptr {its}, {self.outside(type_)}"))
        self.pointers.append(self.ins(f"getelementptr i8, ptr {obj}, i64 {layout.SCALAR_VALUE}"))

    def _bool(self, i: int, given: InputPlan, obj: str) -> None:
        yes = self.ins(f"icmp eq ptr {obj}, {self.outside('_Py_TrueStruct')}")
        no = self.ins(f"icmp eq ptr {obj}, {self.outside('_Py_FalseStruct')}")
        self.demand(self.ins(f"or i1 {yes}, {no}"))
        place = self.alloca("i8", f"bool{i}")
        self.put(f"store i8 {self.ins(f'zext i1 {yes} to i8')}, ptr {place}")
        self.pointers.append(place)

    def _int(self, i: int, given: InputPlan, obj: str) -> None:
        place = self.alloca("i64", f"int{i}")
        self.demand(self.call("txc_integer", f"ptr {obj}", f"ptr {place}"))
        self._size(given.dims[0], self.load(place, 0, "i64"))

    def _size(self, d: Dim, value: str) -> None:
        """A size, or an int, that an argument shows: it defines the symbol, or is compared when all are defined."""
        if d.symbol is not None and d.symbol not in self.symbols:
            self.symbols[d.symbol] = value
        else:
            self.compared.append((d, value))

    def _sizes(self) -> None:
        """Sizes that must be equal, guards, and the arithmetic for what comes later, which must not overflow."""
        plan = self.plan
        for d, value in self.compared:
            self.wanted.append(self.ins(f"icmp eq i64 {value}, {self.number(d)}"))
        for a, relation, b in plan.guards:
            left, right = self.number(a), self.number(b)
            if not (left == right and relation in ("==", "<=")):  # one was substituted for the other
                self.wanted.append(self.ins(f"icmp {_TESTS[relation]} i64 {left}, {right}"))
        work = dim(UNKNOWN_WORK) if plan.work is None else plan.work
        sizes = (
            *(d for o in plan.outputs for d in o.dims),
            *(d for v in plan.views for d in (*v.dims, *v.strides, v.offset)),
            *plan.checks,
        )
        for d in (*plan.symbols, *sizes, plan.arena, plan.thread_arena, work):
            self.number(d)
        self.work = self.number(work)
        if self.wrong:
            any_ = reduce(lambda a, b: self.ins(f"or i1 {a}, {b}"), self.wrong)
            self.wanted.append(self.ins(f"xor i1 {any_}, true"))
        if self.wanted:
            self.demand(*self.wanted)

    def number(self, d: Dim) -> str:
        """The value of an expression."""
        found = self.numbers.get(d)
        if found is None:
            found = self.numbers[d] = self._sum(d)
        return found

    def _sum(self, d: Dim) -> str:
        if d.const is not None:
            return str(d.const)
        total = ""
        for atoms, coefficient in d.terms:
            term = self._checked("*", self._product(atoms), str(coefficient)) if atoms else str(coefficient)
            total = self._checked("+", total, term) if total else term
        return total

    def _product(self, atoms: tuple[Sym | Call, ...]) -> str:
        """Atoms multiplied, which many terms are, each with a coefficient of its own."""
        found = self.products.get(atoms)
        if found is None:
            *first, last = atoms
            value = self._atom(last)
            found = self.products[atoms] = self._checked("*", self._product((*first,)), value) if first else value
        return found

    def _atom(self, atom: Sym | Call) -> str:
        if isinstance(atom, Sym):
            found = self.symbols.get(atom)
            return self.number(self.substitutions[atom]) if found is None else found
        a, b = self.number(atom.a), self.number(atom.b)
        if atom.fn in ("min", "max"):
            name = f"llvm.s{atom.fn}.i64"
            self.used[name] = f"declare i64 @{name}(i64, i64)"
            return self.ins(f"call i64 @{name}(i64 {a}, i64 {b})")
        if atom.fn == "^":
            return self.ins(f"xor i64 {a}, {b}")
        power = atom.b.const
        if power is not None and power > 0 and power & (power - 1) == 0:
            by = f"ashr i64 {a}, {power.bit_length() - 1}" if atom.fn == "//" else f"and i64 {a}, {power - 1}"
            return self.ins(by)
        return self._pair(self.call(_DIVISIONS[atom.fn], f"i64 {a}", f"i64 {b}"))

    def _checked(self, sign: str, a: str, b: str) -> str:
        """A sum or product that may overflow, unless an operand changes nothing."""
        unit = "0" if sign == "+" else "1"
        if unit in (a, b):
            return a if b == unit else b
        name = _OVERFLOWING[sign]
        self.used[name] = f"declare {{i64, i1}} @{name}(i64, i64)"
        return self._pair(self.ins(f"call {{i64, i1}} @{name}(i64 {a}, i64 {b})"))

    def _pair(self, pair: str) -> str:
        value = self.ins(f"extractvalue {{i64, i1}} {pair}, 0")
        self.wrong.append(self.ins(f"extractvalue {{i64, i1}} {pair}, 1"))
        return value

    def _overlaps(self) -> None:
        """Compiled code takes what it writes to be disjoint from all else, and what it compares to be other objects.

        Python looks at calls where it is not so.
        """
        arrays = [(i, given) for i, given in enumerate(self.plan.inputs) if given.kind == "array"]
        for i, written in arrays:
            for j, other in arrays:
                if written.compared and other.compared and i < j:
                    self.demand(self.ins(f"icmp ne ptr {self.of_input[i]}, {self.of_input[j]}"))
                if written.stored and i != j and not (other.stored and j < i):
                    assert written.dtype is not None and other.dtype is not None
                    sizes = f"i64 {written.dtype.bytes}", f"i64 {other.dtype.bytes}"
                    a, b = f"ptr {self.of_input[i]}", f"ptr {self.of_input[j]}"
                    shared = self.call("txc_overlap", a, sizes[0], b, sizes[1])
                    self.demand(self.ins(f"xor i1 {shared}, true"))

    # The kernel

    def _outputs(self) -> str:
        """The caller's arrays, or new ones; room on the stack for results of rank 0.

        The pointer to the array of references: to the outputs, then to what might otherwise vanish during the call.
        """
        outputs = self.plan.outputs
        held = self.alloca(f"[{max(1, len(outputs) + len(self.loose))} x ptr]", "held")
        for n in range(len(outputs)):
            self.store("null", "ptr", held, n)
        dims = [self._dims(n, output) for n, output in enumerate(outputs)]
        if self.takes_out:
            self._destinations(held, dims)
        for n, obj in enumerate(self.loose, len(outputs)):
            self.store(self.referred(obj), "ptr", held, n)
        for n, output in enumerate(outputs):
            given = self.load(held, 8 * n) if self.takes_out else "null"
            if not output.dims and not output.boxed:
                place = self.alloca("[16 x i8]", f"scalar{n}")
                self.pointers.append(self.call("txc_data", f"ptr {given}", f"ptr {place}") if self.takes_out else place)
                continue
            made = self._empty(n, output, dims[n], given)
            self._keep(held, n, made)
            self.pointers.append(self.load(made, layout.ARRAY_DATA))
        return held

    def _dims(self, n: int, output: OutputPlan) -> str:
        """The sizes of an output, in memory."""
        if not output.dims:
            return "null"
        dims = self.alloca(f"[{len(output.dims)} x i64]", f"dims{n}")
        for axis, d in enumerate(output.dims):
            self.store(self.number(d), "i64", dims, axis)
        return dims

    def _destinations(self, held: str, dims: Sequence[str]) -> None:
        """The arrays that ``out=`` names, in the places of their outputs.  What does not fit is for Python to judge."""
        none = self.ins(f"icmp eq ptr %out, {self.outside('_Py_NoneStruct')}")
        numbers = self._placed()
        if not numbers:
            self.demand(none)
            return
        self.put(f"br i1 {none}, label %placed, label %place")
        self.block("place")
        objects = ["%out"]
        if self.plan.structure[0] not in _ARRAYS:
            items = self._items("tuple", "%out", len(numbers))
            objects = [self.load(items, 8 * n) for n in range(len(numbers))]
        for number, obj in zip(numbers, objects):
            self._destination(number, obj, held, dims)
        outputs = self.plan.outputs
        arrays = [(self.of_input[i], g.dtype) for i, g in enumerate(self.plan.inputs) if g.kind == "array"]
        for n in sorted(number for number in numbers if number >= 0):
            place = self.load(held, 8 * n)
            for other, element in arrays:
                assert element is not None
                sizes = f"i64 {outputs[n].dtype.bytes}", f"i64 {element.bytes}"
                self.demand(self.call("txc_apart", f"ptr {place}", sizes[0], f"ptr {other}", sizes[1]))
            arrays.append((place, outputs[n].dtype))
        self.call("txc_hold", f"ptr {held}", f"i64 {len(outputs)}")
        self.put("br label %placed")
        self.block("placed")

    def _placed(self) -> list[int]:
        """The output that each array of ``out=`` is for, negative where it is an argument; empty where none can be."""
        kind, *rest = self.plan.structure
        parts = [self.plan.structure] if kind in _ARRAYS else rest[-1] if kind in ("tuple", "list", "named") else []
        if any(part[0] not in _ARRAYS for part in parts):
            return []
        first = len([i for i in self.plan.inputs if i.kind != "int"])
        numbers = [part[1] - first for part in parts]
        return numbers if len(set(numbers)) == len(numbers) else []

    def _destination(self, n: int, obj: str, held: str, dims: Sequence[str]) -> None:
        output = self.plan.outputs[n] if n >= 0 else None
        axes = tuple(range(len(output.dims))) if output else ()
        if output is None or output.order not in (axes, axes[::-1]):
            self.demand(self.ins(f"icmp eq ptr {obj}, {self.outside('_Py_NoneStruct')}"))
            return
        flags = layout.ALIGNED | layout.WRITEABLE
        flags |= layout.C_CONTIGUOUS if output.order == axes else layout.F_CONTIGUOUS
        slot = self.ins(f"getelementptr ptr, ptr {held}, i64 {n}")
        arguments = (f"i64 {_numbers(output.dtype)}", f"i32 {len(axes)}", f"i32 {flags}", f"ptr {dims[n]}")
        self.demand(self.call("txc_destination", f"ptr {obj}", *arguments, f"ptr {slot}"))

    def _empty(self, n: int, output: OutputPlan, dims: str, given: str) -> str:
        rank, element = len(output.dims), output.dtype
        strides, flags = "null", 0
        if output.order == tuple(reversed(range(rank))) and rank > 1:
            flags = layout.F_CONTIGUOUS
        elif output.order != tuple(range(rank)):
            strides = self._output_strides(n, output)
        number = _type_number(element)
        arguments = (f"i32 {rank}", f"ptr {dims}", f"i32 {number}", f"ptr {strides}", f"i32 {flags}")
        return self.call("txc_empty", f"ptr {given}", *arguments)

    def _output_strides(self, n: int, output: OutputPlan) -> str:
        # Not checked for overflow: NumPy refuses dims whose product does not fit.
        place = self.alloca(f"[{len(output.dims)} x i64]", f"strides{n}")
        running = str(output.dtype.bytes)
        for axis in reversed(output.order):
            self.store(running, "i64", place, axis)
            running = self.ins(f"mul i64 {running}, {self.number(output.dims[axis])}")
        return place

    def _keep(self, held: str, n: int, made: str) -> None:
        """Note a new reference; where there is none, give up those that were made before."""
        self.store(made, "ptr", held, n)
        self.demand(self.ins(f"icmp ne ptr {made}, null"), otherwise="release")

    def _run(self, held: str) -> None:
        plan = self.plan
        if not plan.outputs and not any(given.stored for given in plan.inputs):
            return
        pointers = self.alloca(f"[{max(1, len(self.pointers))} x ptr]", "pointers")
        for n, pointer in enumerate(self.pointers):
            self.store(pointer, "ptr", pointers, n)
        symbols = self.alloca(f"[{max(1, len(plan.symbols))} x i64]", "symbols")
        for n, d in enumerate(plan.symbols):
            self.store(self.number(d), "i64", symbols, n)
        done = self.call(
            "txc_run", "ptr %record", f"ptr {quoted(plan.name)}", f"ptr {pointers}", f"ptr {symbols}",
            f"i64 {self.work}", f"i64 {self.number(plan.arena)}", f"i64 {self.number(plan.thread_arena)}",
        )  # fmt: skip
        self.demand(done, otherwise="release" if self.held_count else "lost")

    # After it ran

    @property
    def held_count(self) -> int:
        """How many references a call has when the kernel runs."""
        return len(self.plan.outputs) + len(self.loose)

    def _results(self, held: str) -> None:
        plan = self.plan
        first = len(self.pointers) - len(plan.outputs)
        used = _buffers(plan.structure)
        if plan.checks:
            self._check(self.pointers[-1])
        for n, output in enumerate(plan.outputs[: len(plan.outputs) - bool(plan.checks)]):
            if not output.dims and not output.boxed and first + n in used:
                given = self.load(held, 8 * n) if self.takes_out else "null"
                number = _type_number(output.dtype)
                arguments = (f"ptr {given}", f"ptr {self.pointers[first + n]}", f"i32 {number}")
                self._keep(held, n, self.call("txc_scalar", *arguments))
        self._use_rooms(held, first)
        if plan.structure[0] in _ARRAYS and plan.structure[1] == first and self.held_count == 1:
            self.put(f"ret ptr {self.load(held, 0)}")
        else:
            made = self._result(plan.structure, held, first)
            if self.held_count:
                self.call("txc_release", f"ptr {held}", f"i64 {self.held_count}")
            self.put(f"ret ptr {made}")
        if plan.checks:
            self._failed(self.pointers[-1], held)
        if self.held_count:
            self.block("release")
            self.call("txc_release", f"ptr {held}", f"i64 {self.held_count}")
            self.put("br label %lost")

    def _check(self, word: str) -> None:
        """Go on only where no check failed."""
        fine = self.ins(f"icmp eq i64 {self.load(word, 0, 'i64')}, 0")
        self.demand(fine, otherwise="failed")

    def _failed(self, word: str, held: str) -> None:
        """The block that raises the error of the check that failed, or leaves the call to Python, to make it again."""
        self.block("failed")
        sizes = self.alloca(f"[{len(self.plan.checks)} x i64]", "sizes")
        # Few checks have a size, and where none failed nobody waits for that of the others.
        self.used["llvm.memset.p0.i64"] = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
        self.put(f"call void @llvm.memset.p0.i64(ptr {sizes}, i8 -1, i64 {8 * len(self.plan.checks)}, i1 false)")
        for n, size in enumerate(self.plan.checks):
            if size.const != -1:
                self.store(self.number(size), "i64", sizes, n)
        raised = self.call("txc_failed", "ptr %record", f"i64 {self.load(word, 0, 'i64')}", f"ptr {sizes}")
        self.put(f"br i1 {raised}, label %release, label %again")
        self.block("again")
        self.call("txc_release", f"ptr {held}", f"i64 {self.held_count}")
        self.put("br label %miss")

    def _result(self, x: Structure, held: str, first: int) -> str:
        """A new reference to a part of the result, or NULL with an exception."""
        kind, *rest = x
        if kind == "object":
            return self.referred(self.object(rest[0]))
        if kind == "number":
            output = rest[0] - first
            of = self.outside(_PYTHON_TYPES[self.plan.outputs[output].dtype.numpy.kind])
            return self.call("txc_number", f"ptr {of}", f"ptr {self.load(held, 8 * output)}")
        if kind == "view":
            return self._view(rest[0], held, first)
        if kind in (*_ARRAYS, "sized"):
            number = rest[0] - first
            if number >= 0:
                return self.referred(self.load(held, 8 * number))
            position, given = self._argument(rest[0])
            if not given.dims and kind == "buffer":
                return self.call("txc_scalar_of", f"ptr {self.of_input[position]}")
            return self.referred(self.of_input[position])
        if kind == "either":
            conds, choices = rest
            return self._either(conds, choices, held, first)
        parts = [self._result(part, held, first) for part in rest[-1]]
        items = self.array_of(parts)
        if kind == "dict":
            keys = self.array_of([self.object(k) for k in rest[0]])
            return self.call("txc_dict", f"ptr {keys}", f"ptr {items}", f"i64 {len(parts)}")
        if kind == "named":
            return self.call("txc_named", f"ptr {self.object(rest[0])}", f"ptr {items}", f"i64 {len(parts)}")
        return self.call(f"txc_{kind}", f"ptr {items}", f"i64 {len(parts)}")

    def _either(self, conds: Sequence[int], parts: Sequence[Structure], held: str, first: int) -> str:
        """The part whose bool is true; the last one where no other's is."""
        self.objects()  # here, so that it is known in all blocks
        self.count += 1
        place = self.alloca("ptr", f"either{self.count}")
        done = self.label("chosen")
        for cond, part in zip(conds[:-1], parts):
            taken, other = self.label("taken"), self.label("other")
            holds = self.ins(f"icmp ne i8 {self.load(self.pointers[cond], 0, 'i8')}, 0")
            self.put(f"br i1 {holds}, label %{taken}, label %{other}")
            self.block(taken)
            self.store(self._result(part, held, first), "ptr", place, 0)
            self.put(f"br label %{done}")
            self.block(other)
        self.store(self._result(parts[-1], held, first), "ptr", place, 0)
        self.put(f"br label %{done}")
        self.block(done)
        return self.load(place, 0)

    def _view(self, number: int, held: str, first: int) -> str:
        """A new array in the memory of a buffer, or NULL with an exception."""
        view = self.plan.views[number]
        if view.buffer >= first:
            element = self.plan.outputs[view.buffer - first].dtype
            base = self.load(held, 8 * (view.buffer - first))
        else:
            position, given = self._argument(view.buffer)
            element, base = given.dtype, self.of_input[position]
        self.count += 1
        rows = []
        for name, row in (("sizes", view.dims), ("steps", view.strides)):
            rows.append(self.alloca(f"[{max(1, len(row))} x i64]", f"{name}{self.count}"))
            for axis, d in enumerate(row):
                self.store(self.number(d), "i64", rows[-1], axis)
        type_ = -1 if view.dtype == element else _type_number(view.dtype)
        flags = 0 if view.read_only else layout.WRITEABLE
        return self.call(
            "txc_view", f"ptr {base}", f"i32 {type_}", f"i32 {len(view.dims)}", f"ptr {rows[0]}", f"ptr {rows[1]}",
            f"i64 {self.number(view.offset)}", f"i32 {flags}",
        )  # fmt: skip

    def _use_rooms(self, held: str, first: int) -> None:
        """Arrays of the sizes that the kernel found take the places of the memory that they are in."""
        for buffer, sizes in sorted({leaf[1:] for leaf in _leaves(self.plan.structure) if leaf[0] == "sized"}):
            dims = self.alloca(f"[{len(sizes)} x i64]", f"found{buffer}")
            for axis, size in enumerate(sizes):
                self.store(self.load(self.pointers[size], 0, "i64"), "i64", dims, axis)
            room = self.load(held, 8 * (buffer - first))
            made = self.call("txc_sized", f"ptr {room}", f"i32 {len(sizes)}", f"ptr {dims}")
            self._keep(held, buffer - first, made)

    def _argument(self, buffer: int) -> tuple[int, InputPlan]:
        """The input that a buffer is."""
        return [(i, given) for i, given in enumerate(self.plan.inputs) if given.kind != "int"][buffer]


def _leaves(x: Structure) -> Iterator[Structure]:
    """The parts of a result that have no parts."""
    if x[0] in ("either", "tuple", "list", "dict", "named"):
        for part in x[-1]:
            yield from _leaves(part)
    else:
        yield x


def _buffers(x: Structure) -> set[int]:
    """The buffers that a result has, and not only what says which of several parts there is."""
    return {leaf[1] for leaf in _leaves(x) if leaf[0] in (*_ARRAYS, "number", "sized")}


#: Parts of a result that are arrays, or scalars, of a buffer.
_ARRAYS = ("buffer", "boxed")
#: Python's types of numbers, by the kinds of NumPy's.
_PYTHON_TYPES = {"b": "PyBool_Type", "i": "PyLong_Type", "u": "PyLong_Type", "f": "PyFloat_Type", "c": "PyComplex_Type"}


def _type_number(element: DType) -> int:
    return BF16_NUMBER if element.name == "bf16" else element.numpy.num


def _numbers(element: DType) -> int:
    """The set of NumPy's type numbers for an element type: on most systems two of C's integers are the same."""
    if element.name == "bf16":
        return 1 << BF16_NUMBER
    codes = "?bBhHiIlLqQefdFD"
    return sum(1 << np.dtype(c).num for c in codes if np.dtype(c) == element.numpy)
