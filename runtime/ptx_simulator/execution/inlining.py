"""Device functions put into the kernels that call them ("Control Flow Instructions: call").

Paths then part and meet inside a function as they do anywhere else.  What `.param` variables carry between caller and
callee, and back, becomes registers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from ...gpu.gpu_device import DeviceError
from ..ptx.parser import type_bits
from ..ptx.syntax import Address, Function, Instruction, Module, Negated, Operand, Pair, Register, Symbol, Vector

__all__ = ["inlined"]


def inlined(function: Function, module: Module) -> Function:
    """The kernel without calls.  DeviceError for a function that is missing, or that calls itself."""
    if not any(i.opcode == "call" for i in function.body):
        return function
    return _Inliner(function, module).run()


class _Inliner:
    def __init__(self, kernel: Function, module: Module):
        self.kernel, self.module = kernel, module
        self.out = replace(kernel, registers=list(kernel.registers), body=[], labels={}, branch_targets={})
        self.carried: dict[tuple[str, int, int], Register] = {}
        self.calls = 0

    def run(self) -> Function:
        self.copy(self.kernel, 0, "", {}, ())
        return self.out

    def copy(
        self, function: Function, base: int, suffix: str, actual: Mapping[str, str], callers: tuple[str, ...]
    ) -> None:
        """Append a function's body: its registers from `base` on, its names with `suffix`, parameters as `actual`."""
        starts = {at: [] for at in function.labels.values()}
        for name, at in function.labels.items():
            starts[at].append(name)
        for label, targets in function.branch_targets.items():
            self.out.branch_targets[label + suffix] = [t + suffix for t in targets]
        for name, variable in function.variables.items():
            if variable.space not in ("param", "reg") and suffix:
                self.out.variables[name + suffix] = replace(variable, name=name + suffix)
        names = {*function.labels, *function.branch_targets, *function.variables}
        for i, instruction in enumerate([*function.body, None]):
            for name in starts.get(i, ()):
                self.out.labels[name + suffix] = len(self.out.body)
            if instruction is None:
                break
            moved = _renamed(instruction, base, suffix, names, actual)
            if instruction.opcode == "call":
                self.call(moved, callers)
            elif instruction.opcode in ("ld", "st") and "param" in instruction.modifiers and self.carries(moved):
                self.carry(moved)
            elif instruction.opcode == "ret" and suffix:
                self.out.body.append(replace(moved, opcode="bra", modifiers=(), operands=(Symbol("end" + suffix),)))
            else:
                self.out.body.append(moved)

    def call(self, instruction: Instruction, callers: tuple[str, ...]) -> None:
        lists = [o for o in instruction.operands if isinstance(o, Vector)]
        name = next((o.name for o in instruction.operands if isinstance(o, Symbol)), "")
        callee = self.module.functions.get(name)
        if callee is None:
            self.fail(f"no such function: {instruction.text}", instruction)
        if name in callers:
            self.fail(f"{name} calls itself", instruction)
        results = lists[0].items if callee.results else ()
        given = lists[-1].items if callee.parameters else ()
        formal = [*callee.results, *callee.parameters]
        actual = {v.name: o.name for v, o in zip(formal, (*results, *given), strict=True) if isinstance(o, Symbol)}
        self.calls += 1
        suffix = f"@{self.calls}"
        base = len(self.out.registers)
        self.out.registers.extend(callee.registers)
        body = self.out.body
        start = len(body)
        self.copy(callee, base, suffix, actual, (*callers, name))
        if instruction.guard is not None:
            self.fail("a guarded call is not known", instruction)
        self.out.labels["end" + suffix] = len(body)
        if len(body) == start:
            self.fail(f"{name} has no body", instruction)

    def carries(self, instruction: Instruction) -> bool:
        """Whether it reads or writes what a call carries, and not a parameter of the kernel."""
        address = self.address(instruction)
        kernel_names = {v.name for v in self.kernel.parameters}
        return isinstance(address.base, Symbol) and address.base.name not in kernel_names

    def address(self, instruction: Instruction) -> Address:
        found = instruction.operands[0 if instruction.opcode == "st" else 1]
        assert isinstance(found, Address)
        return found

    def carry(self, instruction: Instruction) -> None:
        """``st.param`` and ``ld.param`` as moves."""
        address = self.address(instruction)
        assert isinstance(address.base, Symbol)
        values = instruction.operands[1 if instruction.opcode == "st" else 0]
        bits = type_bits(instruction.modifiers[-1]) or 0
        for k, value in enumerate(values.items if isinstance(values, Vector) else (values,)):
            key = (address.base.name, address.offset + k * bits // 8, bits)
            held = self.carried.get(key)
            if held is None:
                if instruction.opcode == "ld":
                    self.fail(f"nothing was stored there: {instruction.text}", instruction)
                # Registers are at least 16 bits wide.
                held = self.carried[key] = Register(len(self.out.registers), max(bits, 16))
                self.out.registers.append(held.bits)
            operands = (held, value) if instruction.opcode == "st" else (value, held)
            self.out.body.append(replace(instruction, opcode="mov", modifiers=(f"b{held.bits}",), operands=operands))

    def fail(self, what: str, instruction: Instruction) -> NoReturn:
        raise DeviceError(what, kernel=self.kernel.name, ptx_line=instruction.line, place=instruction.place)


def _renamed(
    instruction: Instruction, base: int, suffix: str, names: set[str], actual: Mapping[str, str]
) -> Instruction:
    if not suffix:
        return instruction

    def moved(operand: Operand) -> Operand:
        if isinstance(operand, Register):
            return Register(operand.number + base, operand.bits)
        if isinstance(operand, Negated):
            return Negated(Register(operand.operand.number + base, operand.operand.bits))
        if isinstance(operand, Symbol):
            if operand.name in actual:
                return Symbol(actual[operand.name], operand.offset)
            return Symbol(operand.name + suffix, operand.offset) if operand.name in names else operand
        if isinstance(operand, Vector):
            return Vector(tuple(map(moved, operand.items)))
        if isinstance(operand, Pair):
            return Pair(moved(operand.first), moved(operand.second))
        if isinstance(operand, Address):
            return Address(moved(operand.base), operand.offset, tuple(map(moved, operand.rest)))
        return operand

    guard = instruction.guard
    return instruction.moved(
        tuple(map(moved, instruction.operands)),
        Register(guard.number + base, guard.bits) if guard is not None else None,
    )
