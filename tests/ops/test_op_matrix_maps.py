"""Every map on every dtype, and on every layout, kind of array and rank: machine code against the op's NumPy meaning.

Of each dtype the first maps of each kind of operands have all layouts, kinds and ranks; each other map has all of them
on the dtypes of a kind together (`share`).  So any two of op, dtype, and layout, kind and rank come together.

Maps of one dtype and number of operands share a program, in which nests over the same operands are one nest with many
results; so the whole product costs what a fraction of it would alone.  An op that is added to the registry is tested
here without a line of its own, unless it has parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from txc.compiler.driver.options import Options
from txc.compiler.frontend.tensor.apply import apply
from txc.dialects.registry import Map
from txc.dialects.types import DTYPES

from .generated import (
    CALLS,
    FINITE,
    LAYOUTS,
    MAPS,
    NARROW,
    PACKED,
    SLOTS,
    SPECIAL,
    Case,
    Program,
    Slot,
    any_strides,
    chunks,
    dtypes_of,
    in_users_order,
    part_of,
    placed,
    shape_of,
    values,
)  # fmt: skip
from .oracles import EXACT_COMPLEX, wrong_in_map

#: Parameters of the maps that have some, for operands of any dtype.
MAP_PARAMETERS: dict[str, list[dict[str, Any]]] = {"cast": [{"dtype": element} for element in DTYPES.values()]}
#: From which cost on bodies are fractions and series: of large arguments they take the interpreter thousands of steps
#: (`test_special_edges.py` has such).
ITERATIVE = 1000.0
#: How many maps share a program, and up to how many on the same operands stand for no others.
TOGETHER, FEW = 32, 3
#: Each group has one rank, in turn, whose nests are just as users have them.  In the nests of other ranks vectors are
#: narrow, and bodies from this cost on are functions that all of them call.
CALLED_FROM = 20.0

Member = tuple[type[Map], dict[str, Any]]


class Group(NamedTuple):
    """Maps on the same operands: those of one dtype, count and kind of operands."""

    dtype: str
    operands: tuple[str, ...]
    special: bool | tuple[float, ...]
    members: tuple[Member, ...]
    #: The rank whose nests are as users have them.
    whole: int
    slots: tuple[Slot, ...]

    def __str__(self) -> str:
        return f"{self.dtype}-{self.members[0][0].name}-{self.members[-1][0].name}"

    @property
    def domains(self) -> list[tuple[float, float]]:
        return list(dict.fromkeys(op.domain for op, _ in self.members))

    def cases(self, op: str) -> Iterator[Case]:
        """Those of one of its maps."""
        for layout in LAYOUTS:
            for slot in self.slots:
                yield from (Case(op, self.dtype, layout, slot.kind(call), slot.rank) for call in range(CALLS))
            for slot in self.joined:
                yield Case(op, self.dtype, layout, "broadcast", slot.rank)

    @property
    def joined(self) -> list[Slot]:
        """Where operands of several ranks come together."""
        return [slot for slot in self.slots if slot.packed and slot.rank and len(self.operands) > 1]

    def draw(self, shape: tuple[int, ...], seed: int) -> list[np.ndarray]:
        """Operands of one shape; along the last dim each domain has its turn."""
        made = []
        for i, name in enumerate(self.operands):
            drawn = [values(name, shape, seed + 31 * i + j, d, self.special) for j, d in enumerate(self.domains)]
            chosen = drawn[seed % len(drawn)]
            if shape:
                for j, array in enumerate(drawn):
                    chosen[..., j :: len(drawn)] = array[..., j :: len(drawn)]
            made.append(chosen)
        return made


def operands_of(op: type[Map], name: str) -> tuple[str, ...]:
    return ("bool", name, name) if op.name == "select" else (name,) * op.arity


def special_of(op: type[Map], name: str) -> bool | tuple[float, ...]:
    """Which special values an op is given: NumPy raises for some of them, and complex functions differ in some."""
    element = DTYPES[name]
    if op.name == "pow" and element.is_integer:
        return False
    if op.cost >= ITERATIVE:
        return tuple(v for v in SPECIAL if not 10 < abs(v) < np.inf)
    return FINITE if element.is_complex and op.name not in EXACT_COMPLEX else True


def groups() -> list[Group]:
    """All maps on all their dtypes, in groups of like operands and, as far as it goes, domains and costs."""
    by_operands: dict[tuple[str, tuple[str, ...], bool | tuple[float, ...]], list[Member]] = {}
    for op in sorted(MAPS, key=lambda op: (op.cost >= CALLED_FROM, op.domain)):
        for name in dtypes_of(op):
            for attrs in MAP_PARAMETERS.get(op.name, [{}]):
                key = (name, operands_of(op, name), special_of(op, name))
                by_operands.setdefault(key, []).append((op, attrs))
    made: list[Group] = []
    for (name, operands, special), members in by_operands.items():
        for i, part in enumerate(chunks(members, TOGETHER)):
            first = i == 0 and len(members) > FEW
            slots = SLOTS if first else share(name)
            ranks = sorted({slot.rank for slot in slots} - {0})
            made.append(Group(name, operands, special, tuple(part), ranks[len(made) % len(ranks)], tuple(slots)))
    return made


def share(name: str) -> list[Slot]:
    """The slots that fall to a dtype: packed arrays and others, together with its kind's dtypes all."""
    part, parts = part_of(name)
    return [slot for slot in SLOTS if (slot.rank + 2 * slot.packed) % 4 % parts == part]


GROUPS = groups()
#: The cases of this file, each of which is compared with its meaning.
RUN = {case for group in GROUPS for op, _ in group.members for case in group.cases(op.name)}


def falling(a: np.ndarray, dims: int, layout: str) -> np.ndarray:
    """A copy of `a` without its first dims, as the user counts them: so it broadcasts against the whole."""
    return (a[(*(0,) * dims, ...)] if layout == "row" else a[(..., *(0,) * dims)]).copy()


class Call(NamedTuple):
    """Results of all members for operands of one kind and rank."""

    layout: str
    kind: str
    rank: int
    operands: list[np.ndarray]
    results: list[np.ndarray]


def calls(group: Group, layout: str, slots: Sequence[Slot], joined: bool, passes: str) -> Iterator[Call]:
    """The group's program for these slots, compiled and called; `joined`: each operand has one dim less."""

    def operands(slot: Slot, kind: str, seed: int) -> list[np.ndarray]:
        drawn = group.draw(shape_of(slot.rank, kind), seed)
        return [falling(a, min(i, slot.rank), layout) for i, a in enumerate(drawn)] if joined else drawn

    with Program("maps") as program:
        for slot in slots:
            inputs: list[Any] = []
            for a in operands(slot, "contiguous", 0):
                fact = PACKED if slot.packed else any_strides(a.ndim)
                inputs.append(program.input(a, fact, layout, inputs[0] if inputs and not joined else None))
            program.outputs += [apply(op, *inputs, **attrs) for op, attrs in group.members]
    executable = program.compile(Options.of(passes=passes))
    for call in range(1 if joined else CALLS):
        given = [(slot.kind(call), operands(slot, slot.kind(call), 100 * call + slot.rank)) for slot in slots]
        arrays = [placed(a, kind) for kind, each in given for a in each]
        got = iter(executable(arrays, (), 1 + call % 2))
        taken = iter(arrays)
        for slot, (kind, each) in zip(slots, given):
            laid = [in_users_order(next(taken), layout) for _ in each]
            results = [in_users_order(next(got), layout) for _ in group.members]
            yield Call(layout, "broadcast" if joined else kind, slot.rank, laid, results)


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_maps(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Call] = []
    for narrow in (False, True):
        if narrow:
            monkeypatch.setattr(Map, "OUTLINED", CALLED_FROM)
        for joined, given in ((False, group.slots), (True, group.joined)):
            slots = [slot for slot in given if (slot.rank != group.whole) == narrow]
            for layout in LAYOUTS if slots else ():
                made += calls(group, layout, slots, joined, NARROW * narrow)
    assert {(call.layout, call.kind, call.rank) for call in made} == {case[2:] for case in group.cases("")}
    together = [np.broadcast_arrays(*call.operands) for call in made]
    operands = [np.concatenate([np.ravel(each[i]) for each in together]) for i in range(len(group.operands))]
    ends = np.cumsum([each[0].size for each in together])
    for i, (op, attrs) in enumerate(group.members):
        for call, each in zip(made, together):
            assert call.results[i].shape == each[0].shape, f"{case_of(op, group, call)}: shape"
        got = np.concatenate([np.ravel(call.results[i]) for call in made])
        wrong, expected = wrong_in_map(op, attrs, operands, got)
        if wrong.any():
            first = int(np.argmax(wrong))
            case = case_of(op, group, made[int(np.searchsorted(ends, first, "right"))])
            raise AssertionError(
                f"{case} {attrs or ''}: {wrong.sum()} of {wrong.size} elements of all cases are wrong; the first, for "
                f"{[a[first] for a in operands]}, is {got[first]!r}, not {expected[first]!r}"
            )


def case_of(op: type[Map], group: Group, call: Call) -> Case:
    return Case(op.name, group.dtype, call.layout, call.kind, call.rank)
