"""Reads PTX text into the objects of `syntax.py`."""

from __future__ import annotations

import re
from typing import NoReturn

from ...gpu.gpu_device import DeviceError
from .syntax import (
    Address,
    Function,
    Immediate,
    Instruction,
    Module,
    Negated,
    Operand,
    Pair,
    Register,
    Special,
    Symbol,
    Variable,
    Vector,
)

__all__ = ["parse"]

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|//[^\n]*|/\*.*?\*/)
      | (?P<newline>\n)
      | (?P<float>0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16})
      | (?P<number>0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+(?:\.\d+)?U?)
      | (?P<string>"[^"]*")
      | (?P<word>[%.]?[A-Za-z_$][\w$]*(?:(?:\.|::)[\w$]+)*)
      | (?P<sign>[-{}()\[\]<>;:,@!|+=])""",
    re.VERBOSE | re.DOTALL,
)
_WIDTHS = {"pred": 1, "b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "f16": 16, "bf16": 16}
_WIDTHS |= {f"{kind}{bits}": bits for kind in "busf" for bits in (32, 64)} | {"f16x2": 32, "bf16x2": 32, "b128": 128}
_LINKING = {".visible", ".extern", ".weak", ".common"}
_SPACES = {".global", ".const", ".shared", ".local", ".param"}


def parse(text: str) -> Module:
    """The module that a PTX text describes.  DeviceError with the line for what is no PTX that compilers emit."""
    return _Parser(text).module()


def type_bits(name: str) -> int | None:
    """The width of a type such as ``b32``, None for what is no type."""
    return _WIDTHS.get(name)


class _Parser:
    def __init__(self, text: str):
        self.tokens: list[str] = []
        self.lines: list[int] = []
        line, at = 1, 0
        for match in _TOKEN.finditer(text):
            if match.start() != at:
                break
            at = match.end()
            kind = match.lastgroup
            if kind == "space" or kind == "newline":
                line += match.group().count("\n")
                continue
            self.tokens.append(match.group())
            self.lines.append(line)
        if at != len(text):
            raise DeviceError(f"no PTX: {text[at : at + 20]!r}", ptx_line=line)
        self.tokens.append("")
        self.lines.append(line)
        self.at = 0
        #: Compilers write them behind the functions whose lines refer to them.
        following = zip(self.tokens, self.tokens[1:], self.tokens[2:])
        self.files = {n: name.strip('"') for word, n, name in following if word == ".file"}
        self.place = ""
        self.out = Module()
        self.function: Function | None = None
        self.scopes: list[dict[str, Register]] = []

    # Tokens

    def peek(self) -> str:
        return self.tokens[self.at]

    def take(self) -> str:
        token = self.tokens[self.at]
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.tokens[self.at] != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            self.fail(f"expected {token!r}, found {self.peek() or 'the end'!r}")

    def fail(self, what: str) -> NoReturn:
        raise DeviceError(what, ptx_line=self.lines[self.at], kernel=self.function.name if self.function else "")

    def integer(self) -> int:
        negative = self.accept("-")
        token = self.take().removesuffix("U")
        try:
            octal = len(token) > 1 and token[0] == "0" and token.isdigit()
            value = int(token, 8) if octal else int(token, 0)
        except ValueError:
            self.at -= 1
            self.fail(f"expected a number, found {token!r}")
        return -value if negative else value

    # Module scope

    def module(self) -> Module:
        while token := self.peek():
            if token == ".version":
                self.at += 1
                self.out.version = self.take()
            elif token == ".target":
                self.at += 1
                self.out.target = self.take()
                while self.accept(","):
                    self.take()
            elif token == ".address_size":
                self.at += 1
                if self.integer() != 64:
                    self.fail("addresses of 64 bits are needed")
            elif token == ".file":
                self.file()
            elif token == ".section":
                self.skip_braces()
            else:
                self.declaration()
        return self.out

    def file(self) -> None:
        self.expect(".file")
        self.integer()
        self.take()
        while self.accept(","):
            self.integer()

    def skip_braces(self) -> None:
        while self.take() != "{":
            pass
        depth = 1
        while depth:
            token = self.take()
            depth += (token == "{") - (token == "}")

    def declaration(self) -> None:
        linking = set()
        while self.peek() in _LINKING:
            linking.add(self.take())
        token = self.peek()
        if token in (".entry", ".func"):
            self.function_definition()
        elif token in _SPACES:
            for variable in self.variables(".extern" in linking):
                self.out.variables[variable.name] = variable
        else:
            self.fail(f"{token!r} begins no declaration")

    def variables(self, extern: bool = False) -> list[Variable]:
        """``.shared .align 4 .b8 a[16], b[16];``"""
        first = self.variable(extern)
        found = [first[0]]
        while self.accept(","):
            found.append(self.declarator(*first[1:]))
        self.expect(";")
        return found

    def variable(self, extern: bool = False) -> tuple[Variable, str, int, int, bool]:
        space = self.take()[1:]
        align, bits = 0, 0
        while self.peek().startswith("."):
            word = self.take()[1:]
            if word == "align":
                align = self.integer()
            elif word in _WIDTHS:
                bits = _WIDTHS[word]
            elif word in ("v2", "v4"):
                self.fail("variables of vector type are not known")
            elif word not in ("ptr", "global", "shared", "const", "local", "managed"):
                self.fail(f".{word} is not known in a declaration")
            elif word == "ptr":
                # `.param .u64 .ptr .global .align 4 name`: the alignment is that of what the pointer points to.
                while self.peek() in _SPACES or self.peek() == ".align":
                    if self.take() == ".align":
                        self.integer()
        parts = (space, bits // 8, align or bits // 8, extern)
        return (self.declarator(*parts), *parts)

    def declarator(self, space: str, element: int, align: int, extern: bool) -> Variable:
        name, count = self.take(), 1
        while self.accept("["):
            count *= 0 if self.peek() == "]" else self.integer()
            self.expect("]")
        data = None
        if self.accept("="):
            values: list[int] = []
            self.initialiser(values)
            data = b"".join((v & ((1 << 8 * element) - 1)).to_bytes(element, "little") for v in values)
            data = data.ljust(element * count, b"\0")
        return Variable(name, space, element * count, max(align, 1), data, extern)

    def initialiser(self, values: list[int]) -> None:
        if self.accept("{"):
            while not self.accept("}"):
                self.initialiser(values)
                self.accept(",")
            return
        found = self.operand()
        if not isinstance(found, Immediate):
            self.fail("an initialiser with addresses is not known")
        values.append(found.value)

    # Functions

    def function_definition(self) -> None:
        is_kernel = self.peek() == ".entry"
        line = self.lines[self.at]
        self.at += 1
        results = self.parameters() if self.peek() == "(" else []
        name = self.take()
        self.function = made = Function(name, line, is_kernel, results=results)
        self.place = ""
        self.scopes = [{}]
        if self.peek() == "(":
            made.parameters = self.parameters()
        while (token := self.peek()).startswith("."):
            self.at += 1
            numbers = []
            if self.peek()[:1].isdigit():
                numbers.append(self.integer())
                while self.accept(","):
                    numbers.append(self.integer())
            sizes = (*numbers, 1, 1, 1)[:3]
            if token == ".reqntid":
                made.required_threads = sizes[0], sizes[1], sizes[2]
            elif token == ".maxntid":
                made.most_threads = sizes[0], sizes[1], sizes[2]
            elif token not in (".minnctapersm", ".maxnreg", ".noreturn", ".maxclusterrank", ".pragma"):
                self.at -= 1
                self.fail(f"{token} is not known before a body")
        if not self.accept(";"):
            self.body(made)
            self.out.functions[name] = made
        self.function = None

    def parameters(self) -> list[Variable]:
        found = []
        self.expect("(")
        while not self.accept(")"):
            found.append(self.variable()[0])
            self.accept(",")
        return found

    def body(self, made: Function) -> None:
        self.expect("{")
        depth = 1
        while depth:
            token = self.peek()
            if token == "{":
                depth += 1
                self.at += 1
                self.scopes.append({})
            elif token == "}":
                depth -= 1
                self.at += 1
                self.scopes.pop()
            elif token == ".reg":
                self.register_declaration()
            elif token == ".loc":
                self.location()
            elif token == ".pragma":
                self.at += 2
                self.expect(";")
            elif token in _SPACES:
                made.variables |= {v.name: v for v in self.variables()}
            elif self.tokens[self.at + 1] == ":":
                self.label(made)
            elif token == ";":
                self.at += 1
            elif not token:
                self.fail("the body has no end")
            else:
                made.body.append(self.instruction())

    def label(self, made: Function) -> None:
        name = self.take()
        self.expect(":")
        if self.accept(".branchtargets"):
            targets = [self.take()]
            while self.accept(","):
                targets.append(self.take())
            self.expect(";")
            made.branch_targets[name] = targets
        else:
            made.labels[name] = len(made.body)

    def register_declaration(self) -> None:
        assert self.function is not None
        self.expect(".reg")
        kind = self.take()[1:]
        if kind not in _WIDTHS:
            self.fail(f"registers of type .{kind} are not known")
        bits = _WIDTHS[kind]
        while True:
            name = self.take()
            names = [name]
            if self.accept("<"):
                names = [f"{name}{i}" for i in range(self.integer())]
                self.expect(">")
            for each in names:
                self.scopes[-1][each] = Register(len(self.function.registers), bits)
                self.function.registers.append(bits)
            if not self.accept(","):
                break
        self.expect(";")

    def location(self) -> None:
        """``.loc 1 12 5`` with ``, function_name LABEL, inlined_at 1 3 4`` or without; it ends with its line."""
        line = self.lines[self.at]
        self.expect(".loc")
        file, number = self.take(), self.integer()
        while self.lines[self.at] == line and self.peek():
            self.at += 1
        self.place = f"{self.files.get(file, f'file {file}')}:{number}" if number else ""

    def instruction(self) -> Instruction:
        start, line = self.at, self.lines[self.at]
        guard, negated = None, False
        if self.accept("@"):
            negated = self.accept("!")
            found = self.operand()
            if not isinstance(found, Register):
                self.fail("a guard is a predicate register")
            guard = found
        opcode, *modifiers = self.take().split(".")
        operands = []
        while not self.accept(";"):
            operands.append(self.operand())
            if self.peek() != ";":
                self.expect(",")
        tokens = tuple(self.tokens[start : self.at - 1])
        return Instruction(opcode, tuple(modifiers), tuple(operands), line, self.place, tokens, guard, negated)

    # Operands

    def operand(self) -> Operand:
        found = self.simple_operand()
        if self.accept("|"):
            return Pair(found, self.simple_operand())
        return found

    def simple_operand(self) -> Operand:
        token = self.peek()
        if token == "{":
            return self.list_until("{", "}")
        if token == "(":
            return self.list_until("(", ")")
        if token == "[":
            return self.address()
        if token == "!":
            self.at += 1
            found = self.simple_operand()
            if not isinstance(found, Register):
                self.fail("! stands before a predicate register")
            return Negated(found)
        if token == "-" or token[:1].isdigit():
            return self.literal()
        self.at += 1
        return self.name(token)

    def literal(self) -> Immediate:
        token = self.peek()
        if token[:2] in ("0f", "0F") and len(token) == 10:
            self.at += 1
            return Immediate(int(token[2:], 16), 32)
        if token[:2] in ("0d", "0D") and len(token) == 18:
            self.at += 1
            return Immediate(int(token[2:], 16), 64)
        return Immediate(self.integer())

    def name(self, token: str) -> Operand:
        for scope in reversed(self.scopes):
            if token in scope:
                return scope[token]
        if token.startswith("%"):
            return Special(token)
        offset = 0
        if self.accept("+"):
            offset = self.integer()
        return Symbol(token, offset)

    def list_until(self, start: str, end: str) -> Vector:
        self.expect(start)
        items = []
        while not self.accept(end):
            items.append(self.operand())
            self.accept(",")
        return Vector(tuple(items))

    def address(self) -> Address:
        self.expect("[")
        base = self.simple_operand()
        offset = 0
        if isinstance(base, Symbol):
            base, offset = Symbol(base.name), base.offset
        if self.accept("+"):
            offset += self.integer()
        elif self.peek() == "-":
            offset += self.integer()
        rest: tuple[Operand, ...] = ()
        if self.accept(","):
            coordinates = self.operand()
            rest = coordinates.items if isinstance(coordinates, Vector) else (coordinates,)
        self.expect("]")
        return Address(base, offset, rest)
