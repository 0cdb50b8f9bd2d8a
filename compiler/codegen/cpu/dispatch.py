"""Which x86-64 level the running processor has, as LLVM IR: CPUID and XGETBV once, the answer kept in a variable.

No compiler support library is needed.  The levels are those of the x86-64 psABI; a level counts only where the
operating system saves its registers (XCR0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..emit.text import IrText, Module, quoted
from ..target.target import Target

__all__ = ["LEVELS", "emit_isa_level"]


def _bits(*numbers: int) -> int:
    """A word with these bits set, as the i32 that LLVM reads."""
    word = sum(1 << n for n in numbers)
    return word - (word >> 31 << 32)


@dataclass(frozen=True)
class _Needs:
    """Bits that a level adds to the one below: CPUID leaf 1 (ecx), leaf 7 (ebx), leaf 0x80000001 (ecx), and XCR0."""

    leaf1: int = 0
    leaf7: int = 0
    extended: int = 0
    saved: int = 0


#: In order.  v2: SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT, LAHF.  v3: FMA, MOVBE, XSAVE (by the system), AVX, F16C,
#: BMI1, AVX2, BMI2, LZCNT.  v4: AVX-512 F, DQ, CD, BW, VL.
LEVELS: dict[str, _Needs] = {
    "x86-64": _Needs(),
    "x86-64-v2": _Needs(_bits(0, 9, 13, 19, 20, 23), 0, _bits(0)),
    "x86-64-v3": _Needs(_bits(12, 22, 27, 28, 29), _bits(3, 5, 8), _bits(5), _bits(1, 2)),
    "x86-64-v4": _Needs(0, _bits(16, 17, 28, 30, 31), 0, _bits(1, 2, 5, 6, 7)),
}


def emit_isa_level(module: Module, name: str, targets: Sequence[Target]) -> str:
    """Write ``i32 name()`` into the module: how many of the targets, which ascend, the processor can run."""
    module.globals[name] = f"{quoted(name + '.known')} = internal global i32 -1, align 4"
    w = IrText(module)
    known = quoted(name + ".known")
    cached = w.ins(f"load atomic i32, ptr {known} monotonic, align 4")
    w.branch_if(w.ins(f"icmp sge i32 {cached}, 0"), "again", "first")
    w.start("again")
    w.put(f"ret i32 {cached}")
    w.start("first")
    words = _Words(w)
    count, running = "0", "true"
    order = list(LEVELS)
    done = 0
    for target in targets:
        upto = order.index(target.cpu) + 1
        for level in order[done:upto]:
            running = w.ins(f"and i1 {running}, {words.meet(LEVELS[level])}")
        done = max(done, upto)
        count = w.ins(f"add i32 {count}, {w.ins(f'zext i1 {running} to i32')}")
    w.put(f"store atomic i32 {count}, ptr {known} monotonic, align 4")
    w.put(f"ret i32 {count}")
    module.functions.append(f"define internal i32 {quoted(name)}() #0 {{\nentry:\n{w.lines()}\n}}")
    return name


class _Words:
    """The four words that levels are read from; leaves that the processor lacks read as zero."""

    def __init__(self, writer: IrText):
        self.w = writer
        most = self._cpuid("0")[0]
        self.leaf1 = self._cpuid("1")[2]
        has7 = writer.ins(f"icmp uge i32 {most}, 7")
        self.leaf7 = self._or_zero(has7, self._cpuid("7")[1])
        more = self._cpuid("-2147483648")[0]
        has_extended = writer.ins(f"icmp uge i32 {more}, -2147483647")
        self.extended = self._or_zero(has_extended, self._cpuid("-2147483647")[2])
        self.saved = self._xcr0()

    def _cpuid(self, leaf: str) -> list[str]:
        kind = "{ i32, i32, i32, i32 }"
        constraints = "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"
        made = self.w.ins(f'call {kind} asm "cpuid", "{constraints}"(i32 {leaf}, i32 0)')
        return [self.w.ins(f"extractvalue {kind} {made}, {i}") for i in range(4)]

    def _or_zero(self, condition: str, value: str) -> str:
        return self.w.ins(f"select i1 {condition}, i32 {value}, i32 0")

    def _xcr0(self) -> str:
        """What the operating system saves; zero where XGETBV, which then must not be executed, is not switched on."""
        w = self.w
        before, ask, after = w.block, w.label("ask"), w.label("asked")
        osxsave = w.ins(f"and i32 {self.leaf1}, {1 << 27}")
        w.branch_if(w.ins(f"icmp ne i32 {osxsave}, 0"), ask, after)
        w.start(ask)
        made = w.ins('call { i32, i32 } asm "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"(i32 0)')
        low = w.ins(f"extractvalue {{ i32, i32 }} {made}, 0")
        w.branch(after)
        w.start(after)
        return w.ins(f"phi i32 [0, %{before}], [{low}, %{ask}]")

    def meet(self, needs: _Needs) -> str:
        """Whether every bit that a level adds is set."""
        found = "true"
        for word, mask in (
            (self.leaf1, needs.leaf1), (self.leaf7, needs.leaf7), (self.extended, needs.extended),
            (self.saved, needs.saved),
        ):  # fmt: skip
            if mask:
                has = self.w.ins(f"icmp eq i32 {self.w.ins(f'and i32 {word}, {mask}')}, {mask}")
                found = self.w.ins(f"and i1 {found}, {has}")
        return found
