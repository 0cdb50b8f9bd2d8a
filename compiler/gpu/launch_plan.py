"""A launch plan: what the host does for one call of a function on a GPU, as plain data that a file can hold.

A kernel takes addresses and 64-bit integers; the host never touches elements, except for the flags and integers that
its own control flow reads back.  Dims are texts, as in `call/signature.py`.  Names of values: ``b0``, ``b1``, … are the
buffers of the function, ``t0``, … temporaries in the call's arena, ``v0``, … numbers of the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = [
    "Allocate",
    "Bind",
    "Compute",
    "EncodeTensorMap",
    "For",
    "If",
    "Kernel",
    "Launch",
    "Load",
    "Plan",
    "Step",
    "While",
]


#: Of a multiprocessor: threads, blocks, bytes of block memory, and those of them that each block takes for itself.
_MOST_THREADS, _MOST_BLOCKS, _MOST_SHARED, _RESERVED = 2048, 32, 228 << 10, 1 << 10


class Kernel(NamedTuple):
    """A kernel of the module: threads of a block, bytes of dynamic shared memory; `place` is the user's line."""

    name: str
    threads: int
    shared: str
    place: str

    @property
    def at_once(self) -> int | None:
        """Blocks that a multiprocessor has room for, as far as threads and block memory go; None: known in a call.

        Those of the newest architectures ("Technical Specifications per Compute Capability"); registers may allow
        fewer, which only the driver knows.
        """
        if not self.shared.isdigit():
            return None
        memory = int(self.shared) + _RESERVED
        return min(_MOST_BLOCKS, _MOST_THREADS // (-(-self.threads // 32) * 32), _MOST_SHARED // memory)


class Allocate(NamedTuple):
    """A name for the place `offset` bytes behind the start of the arena."""

    name: str
    offset: str


class EncodeTensorMap(NamedTuple):
    """Names a tensor map (`runtime.gpu_device.TensorMap`) of a buffer's memory from element `first` on.

    Of its elements, `size` bytes each, there are so many along each dim; `steps`, in elements, are those of all dims
    but the last, which is contiguous.
    """

    name: str
    buffer: str
    first: str
    size: int
    extents: tuple[str, ...]
    steps: tuple[str, ...]
    box: tuple[int, ...]


class Launch(NamedTuple):
    """Launches a kernel with so many blocks; where there are none, nothing happens.

    `buffers` are names of tensor maps, of buffers and of temporaries, `integers` dims; in the kernel's order.
    """

    kernel: str
    blocks: str
    buffers: tuple[str, ...]
    integers: tuple[str, ...]


class Load(NamedTuple):
    """Reads an element of a buffer back to the host: `at` counts elements, `dtype` is NumPy's name."""

    name: str
    buffer: str
    dtype: str
    at: str


class Compute(NamedTuple):
    """A number of the host: `operation` of earlier ones, or of a dim (``index``) or a literal (``constant``).

    Numbers are 64-bit and signed, and programs are such that none of them overflows; ``divide`` rounds towards zero.
    """

    name: str
    operation: str
    operands: tuple[str, ...]


class Bind(NamedTuple):
    """Makes a number of the host a symbol that dims mention."""

    symbol: str
    value: str


class For(NamedTuple):
    """Runs `body` with the symbol at lower, lower + step, …; ends after an iteration that makes `until` true."""

    symbol: str
    lower: str
    upper: str
    step: str
    body: tuple[Step, ...]
    until: str


class While(NamedTuple):
    """Runs `condition`; while `value` is true after that, runs `body` and starts again."""

    condition: tuple[Step, ...]
    value: str
    body: tuple[Step, ...]


class If(NamedTuple):
    """Runs one of two lists of steps."""

    value: str
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]


Step = Allocate | EncodeTensorMap | Launch | Load | Compute | Bind | For | While | If

_KINDS: dict[str, type[Any]] = {
    kind.__name__.lower(): kind for kind in (Allocate, EncodeTensorMap, Launch, Load, Compute, Bind, For, While, If)
}
#: The fields that are lists of steps.
_NESTED = ("body", "condition", "then", "otherwise")


class Plan(NamedTuple):
    """The kernels of a function, and the steps of a call."""

    kernels: tuple[Kernel, ...]
    steps: tuple[Step, ...]

    @property
    def one_by_one(self) -> str:
        """Why its launches cannot be recorded as one graph; empty where they can."""
        read = next((step for step in _walk(self.steps) if isinstance(step, Load)), None)
        if read is not None:
            return f"what is launched depends on {read.buffer}[{read.at}], which the host reads"
        launches = [step for step in _walk(self.steps) if isinstance(step, Launch | For)]
        return "there is one launch" if len(launches) == 1 and isinstance(launches[0], Launch) else ""

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"kernels": [list(k) for k in self.kernels], "steps": _plain(self.steps)}

    @staticmethod
    def of_plain(plain: Mapping[str, Any]) -> Plan:
        """Read back what `plain` made."""
        return Plan(tuple(Kernel(*k) for k in plain["kernels"]), _steps(plain["steps"]))

    def __str__(self) -> str:
        """The plan as text, a step a line."""
        kernels = []
        for k in self.kernels:
            place = f"  ({k.place})" if k.place else ""
            room = "" if k.at_once is None else f", {k.at_once} at once on a multiprocessor"
            sizes = f"{k.threads} threads a block, {k.shared} bytes of shared memory{room}"
            kernels.append(f"kernel {k.name}: {sizes}{place}")
        why = self.one_by_one
        how = f"launched one by one: {why}" if why else "launched as one graph from the second such call on"
        return "\n".join([*kernels, *_lines(self.steps, ""), how])


def _walk(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        yield step
        for field in _NESTED:
            yield from _walk(getattr(step, field, ()))


def _plain(steps: Sequence[Step]) -> list[Any]:
    return [
        [
            type(step).__name__.lower(),
            *(_plain(v) if k in _NESTED else list(v) if isinstance(v, tuple) else v for k, v in step._asdict().items()),
        ]
        for step in steps
    ]


def _steps(plain: Sequence[Any]) -> tuple[Step, ...]:
    found = []
    for name, *values in plain:
        kind = _KINDS[name]
        given = zip(kind._fields, values, strict=True)
        found.append(kind(*(_steps(v) if k in _NESTED else tuple(v) if isinstance(v, list) else v for k, v in given)))
    return tuple(found)


def _lines(steps: Sequence[Step], indent: str) -> list[str]:
    found: list[str] = []
    for step in steps:
        match step:
            case Allocate(name, offset):
                found.append(f"{indent}{name} = arena + {offset}")
            case EncodeTensorMap(name, buffer, first, size, extents, steps_, box):
                sizes, by = ", ".join(extents), ", ".join((*steps_, "1"))
                what = f"[{sizes}] elements of {size} bytes by [{by}] from {buffer}[{first}] on, in boxes of {[*box]}"
                found.append(f"{indent}{name} = tensor map of {what}")
            case Launch(kernel, blocks, buffers, integers):
                found.append(f"{indent}launch {kernel} with {blocks} blocks ({', '.join((*buffers, *integers))})")
            case Load(name, buffer, dtype, at):
                found.append(f"{indent}{name} = read {dtype} {buffer}[{at}]")
            case Compute(name, operation, operands):
                found.append(f"{indent}{name} = {operation} {', '.join(operands)}")
            case Bind(symbol, value):
                found.append(f"{indent}{symbol} = {value}")
            case For(symbol, lower, upper, by, body, until):
                found.append(f"{indent}for {symbol} from {lower} below {upper} by {by}:")
                found += _lines(body, indent + "  ")
                found += [f"{indent}  stop if {until}"] if until else []
            case While(condition, value, body):
                found += [f"{indent}while:", *_lines(condition, indent + "  "), f"{indent}  is {value}; then:"]
                found += _lines(body, indent + "  ")
            case If(value, then, otherwise):
                found += [f"{indent}if {value}:", *_lines(then, indent + "  ")]
                found += [f"{indent}else:", *_lines(otherwise, indent + "  ")] if otherwise else []
    return found
