"""``max_temp_bytes``: the temporaries of a call, and the error where it needs more of them than it may.

Compiled code knows how much memory it needs, as dims; which values that is for is asked only for the error, of the
compilation's stage `loops`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...dialects.dims.dims import Dim, Sym, dim
from ..diagnostics import Loc, TxcError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Operation

    from .executable import CodeSpec, Prepared

__all__ = ["check_temporaries"]


def check_temporaries(
    name: str, code: CodeSpec, prepared: Prepared, most: int | None, loops: Callable[[], ModuleOp | None]
) -> None:
    """TxcError, with the largest temporary, its line and bytes, where a prepared call needs more than `most` bytes.

    Counted is what the call needs on one thread; on more, each has its own row buffers.  `loops` compiles the function
    as far as that stage.
    """
    needed = prepared.arena + prepared.thread_arena
    if most is None or needed <= most:
        return
    sizes = {Sym(symbol): value for symbol, value in zip(code.symbols, prepared.symbols)}
    module = loops()
    assert module is not None, "the stage loops is one of IR"
    largest, what, loc = _largest(module, sizes)
    place = None
    if loc:
        filename, line, column = loc.rsplit(":", 2)
        place = Loc(filename, int(line), int(column))
    raise TxcError(
        f"{name} needs {needed} bytes of temporaries, and max_temp_bytes is {most}: "
        f"the largest is {what}, {largest} bytes",
        place,
        f"call it on parts of the arrays, or allow max_temp_bytes={needed}",
        "TX0402",
    )


def _largest(module: ModuleOp, sizes: dict[Sym, int]) -> tuple[int, str, str]:
    """The bytes of the largest temporary, its dtype and dims, and its line."""
    from ...dialects.attributes import BufferType
    from ...dialects.loop import AllocOp

    found = []
    for op in module.walk():
        if isinstance(op, AllocOp) and isinstance(op.result.type, BufferType):
            info = op.result.type.data
            shape = [_value(d, sizes) for d in info.dims]
            number = 1
            for n in shape:
                # A size that follows an iterator is not known from outside: it counts as one.
                number *= n if isinstance(n, int) else 1
            around: Operation | None = op
            while around is not None and "loc" not in around.attributes:
                around = around.parent_op()  # the line of what is around it, where it has none
            loc = around.attributes["loc"] if around is not None else None
            text = f"{info.dtype.name}[{', '.join(map(str, shape))}]"
            found.append((number * info.dtype.bytes, text, getattr(loc, "data", "")))
    return max(found, key=lambda f: f[0])


def _value(d: Dim, sizes: dict[Sym, int]) -> int | Dim:
    return dim(d).evaluate(sizes) if d.symbols() <= sizes.keys() else d
