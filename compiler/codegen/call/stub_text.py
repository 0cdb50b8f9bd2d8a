"""Writing the LLVM IR of a native entry (`python_stub.py`): instructions, blocks, what lies outside, references."""

from __future__ import annotations

from collections.abc import Sequence

from ....runtime.stub.ir import DECLARATIONS
from ....runtime.stub.layout import RecordStruct

__all__ = ["EntryWriter"]


class EntryWriter:
    """The lines of one function, from top to bottom; it has the blocks ``miss`` and ``lost`` to leave by."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.allocas: list[str] = []
        #: Declarations of what lies outside, by symbol.
        self.used: dict[str, str] = {}
        self.count = 0
        self._objects = ""

    def ins(self, instruction: str) -> str:
        """An instruction with a result; its name."""
        name = f"%e{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {instruction}")
        return name

    def put(self, instruction: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {instruction}")

    def block(self, label: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{label}:")

    def label(self, hint: str) -> str:
        """A label that is not taken."""
        self.count += 1
        return f"{hint}{self.count}"

    def alloca(self, type_: str, name: str) -> str:
        """Room on the stack, made once a call."""
        self.allocas.append(f"  %{name} = alloca {type_}, align 16")
        return f"%{name}"

    def call(self, name: str, *arguments: str) -> str:
        """A call of a shared function."""
        self.used[name] = DECLARATIONS[name]
        result = DECLARATIONS[name].removeprefix("declare ").partition(" @")[0]
        text = f"call {result} @{name}({', '.join(arguments)})"
        if result == "void":
            self.put(text)
            return ""
        return self.ins(text)

    def outside(self, name: str) -> str:
        """The address of a Python object that is the same in every process."""
        self.used[name] = f"@{name} = external global i8"
        return f"@{name}"

    def load(self, base: str, offset: int, type_: str = "ptr") -> str:
        """What is `offset` bytes behind `base`."""
        at = self.ins(f"getelementptr i8, ptr {base}, i64 {offset}") if offset else base
        return self.ins(f"load {type_}, ptr {at}")

    def store(self, value: str, type_: str, base: str, index: int) -> None:
        """Put a value into element `index` of what is at `base`."""
        at = self.ins(f"getelementptr {type_}, ptr {base}, i64 {index}") if index else base
        self.put(f"store {type_} {value}, ptr {at}")

    def demand(self, *conditions: str, otherwise: str = "miss") -> None:
        """Go on only where all conditions hold."""
        held = conditions[0]
        for condition in conditions[1:]:
            held = self.ins(f"and i1 {held}, {condition}")
        onward = self.label("on")
        self.put(f"br i1 {held}, label %{onward}, label %{otherwise}")
        self.block(onward)

    def objects(self, first: int = 0) -> str:
        """Where the record keeps the plan's objects, from number `first` on."""
        if not self._objects:
            self._objects = self.load("%record", RecordStruct.objects.offset)
        return self.ins(f"getelementptr ptr, ptr {self._objects}, i64 {first}") if first else self._objects

    def object(self, number: int) -> str:
        """One of the plan's objects."""
        return self.load(self.objects(), 8 * number)

    def array_of(self, values: Sequence[str]) -> str:
        """Pointers in memory, one behind the other."""
        self.count += 1
        place = self.alloca(f"[{max(1, len(values))} x ptr]", f"items{self.count}")
        for n, value in enumerate(values):
            self.store(value, "ptr", place, n)
        return place

    def referred(self, obj: str) -> str:
        """The object, with a reference more."""
        self.used["Py_IncRef"] = "declare void @Py_IncRef(ptr)"
        self.put(f"call void @Py_IncRef(ptr {obj})")
        return obj
