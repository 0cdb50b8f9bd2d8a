"""Every map on every dtype, and on every layout, kind of array and rank: machine code against the op's NumPy meaning.

Of each dtype the first maps of each kind of operands have all layouts, kinds and ranks; each other map has one layout
and few ranks of a dtype, and all of them on the dtypes together (`Share`).  So any two of op, dtype, layout, kind and
rank come together (all-pairs testing, see `tests/pairwise.py`), and of those not in every combination.

Maps of one dtype and number of operands share a program, in which nests over the same operands are one nest with many
results; so the whole product costs what a fraction of it would alone.  An op that is added to the registry is tested
here without a line of its own, unless it has parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from txc.compiler.config.options import Options
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
    RANKS,
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
#: How many maps share a program, and how many of those on the same operands have all slots.
TOGETHER, STANDING = 32, 3
#: A group has one rank whose nests are just as users have them.  In the nests of other ranks vectors are narrow, and
#: bodies from this cost on are functions that all of them call.
CALLED_FROM = 20.0

Member = tuple[type[Map], dict[str, Any]]


class Nest(NamedTuple):
    """Operands as a program has them; `joined`: each has one dim less than the one before it."""

    slot: Slot
    joined: bool

    def kind(self, call: int) -> str:
        return "broadcast" if self.joined else self.slot.kind(call)


class Share(NamedTuple):
    """In which memory a group of maps runs."""

    layouts: Sequence[str]
    #: The slots whose nests are as users have them, and those with narrow vectors.
    wide: Sequence[Slot]
    narrow: Sequence[Slot]
    #: The slots, of either, in which operands of several ranks come together.
    joined: Sequence[Slot]


class Group(NamedTuple):
    """Maps on the same operands: those of one dtype, count and kind of operands."""

    dtype: str
    operands: tuple[str, ...]
    special: bool | tuple[float, ...]
    members: tuple[Member, ...]
    share: Share

    def __str__(self) -> str:
        return f"{self.dtype}-{self.members[0][0].name}-{self.members[-1][0].name}"

    @property
    def domains(self) -> list[tuple[float, float]]:
        return list(dict.fromkeys(op.domain for op, _ in self.members))

    @property
    def nests(self) -> list[list[Nest]]:
        """Those of the program as users have it, and those of the program with narrow vectors."""
        joined = [Nest(slot, True) for slot in self.share.joined if len(self.operands) > 1]
        return [
            [Nest(slot, False) for slot in self.share.wide],
            [Nest(slot, False) for slot in self.share.narrow] + joined,
        ]

    def cases(self, op: str) -> Iterator[Case]:
        """Those of one of its maps."""
        for layout, nests in itertools.product(self.share.layouts, self.nests):
            for nest, call in itertools.product(nests, range(CALLS)):
                yield Case(op, self.dtype, layout, nest.kind(call), nest.slot.rank)

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
        standing = STANDING if len(members) > STANDING and members[0][0].cost < CALLED_FROM else 0
        parts = [members[:standing]] if standing else []
        for i, part in enumerate([*parts, *chunks(members[standing:], TOGETHER)]):
            costly = part[0][0].cost >= CALLED_FROM
            share = whole_share() if i < len(parts) else share_of_costly(name) if costly else share_of(name)
            made.append(Group(name, operands, special, tuple(part), share))
    return made


def whole_share() -> Share:
    """Everything."""
    wide = [slot for slot in SLOTS if slot.rank == 2]
    return Share(LAYOUTS, wide, [s for s in SLOTS if s not in wide], [s for s in SLOTS if s.packed and s.rank])


def share_of(name: str) -> Share:
    """What falls to a dtype: a layout, and ranks whose arrays are packed or not in turn."""
    part, parts = part_of(name)
    ranks = [rank for rank in RANKS if rank and rank % parts == part]
    slots = [Slot(rank, i % 2 == 0) for i, rank in enumerate(ranks if len(ranks) > 1 else 2 * ranks)]
    return Share([LAYOUTS[part % 2]], slots[:1], slots[1:] + [Slot(0, True)] * (part == 0), slots[:1])


def share_of_costly(name: str) -> Share:
    """Half of a kind's dtypes have one nest as users have it, the others all ranks as calls of one function."""
    part, parts = part_of(name)
    layouts, called = [LAYOUTS[part % 2]], max(parts // 2, 1)
    if part >= called:
        return Share(layouts, [Slot(1 + part, True)], [], [])
    slots = [Slot(rank, rank // called % 2 == 0) for rank in RANKS if rank % called == part]
    return Share(layouts, [], slots, [slot for slot in slots if slot.packed and slot.rank])


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


def calls(group: Group, layout: str, nests: Sequence[Nest], passes: str) -> Iterator[Call]:
    """The group's program of these nests, compiled and called."""

    def operands(nest: Nest, call: int, seed: int) -> list[np.ndarray]:
        rank, kind = nest.slot.rank, nest.kind(call)
        if not nest.joined:
            return [placed(a, kind) for a in group.draw(shape_of(rank, kind), seed)]
        drawn = group.draw(shape_of(rank, "contiguous"), seed)
        return [falling(a, min(i, rank), layout) for i, a in enumerate(drawn)]

    with Program("maps") as program:
        for nest in nests:
            inputs: list[Any] = []
            for a in operands(nest, 0, 0):
                fact = PACKED if nest.slot.packed else any_strides(a.ndim)
                inputs.append(program.input(a, fact, layout, inputs[0] if inputs and not nest.joined else None))
            program.outputs += [apply(op, *inputs, **attrs) for op, attrs in group.members]
    executable = program.compile(Options.of(passes=passes))
    for call in range(CALLS):
        given = [operands(nest, call, 100 * call + nest.slot.rank) for nest in nests]
        got = iter(executable([a for each in given for a in each], (), 1 + call % 2))
        for nest, each in zip(nests, given):
            laid = [in_users_order(a, layout) for a in each]
            results = [in_users_order(next(got), layout) for _ in group.members]
            yield Call(layout, nest.kind(call), nest.slot.rank, laid, results)


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_maps(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Call] = []
    wide, narrow = group.nests
    for layout in group.share.layouts if wide else ():
        made += calls(group, layout, wide, "")
    monkeypatch.setattr(Map, "OUTLINED", CALLED_FROM)
    for layout in group.share.layouts if narrow else ():
        made += calls(group, layout, narrow, NARROW)
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
