"""Machine code of function pointers: the function as C exports it, and around it the one of the type that C calls."""

from __future__ import annotations

from dataclasses import replace

from ...dialects.dims.dims import size_name
from ..codegen.call.c_callback import Callback, allocates, emit_callback
from ..codegen.call.c_stub import Version, emit_entry
from ..codegen.target.llvm_backend import generate_here
from ..codegen.target.names import named_target
from ..config.options import Options
from ..frontend.trace.graph import Graph
from .c_signature import Condition, CSignature, ExportError
from .c_type import POINTER, Bound, CFunctionType
from .compiled_entry import Entry, compiled_entry

__all__ = ["compile_c_function"]


def compile_c_function(graph: Graph, name: str, kind: CFunctionType, bound: Bound, options: Options) -> bytes:
    """An object with the function `name` and `POINTER`, of that type.

    ExportError for what C cannot call, and for a graph that may fail and whose type cannot say so.
    """
    signature, versions, texts = compiled_entry(Entry(replace(graph, raises=False), name), named_target(), options)
    sizes = tuple(bound.sizes[size_name(s.symbol)] for s in signature.sizes)
    returns = bound.result is None and graph.results > 0
    callback = Callback(
        f"{name}{POINTER}", kind, bound.arguments, sizes, bound.spread, bound.result, returns, bool(graph.checks)
    )
    _refuse_what_fails(kind, signature, versions, callback)
    texts = [emit_callback(signature, versions, callback), emit_entry(signature, versions), *texts]
    inside = (name, *(v.function for v in versions))
    return generate_here("obj", texts, [callback.symbol], versions[0].target, options.opt_level, inside)


def _refuse_what_fails(kind: CFunctionType, signature: CSignature, versions: list[Version], c: Callback) -> None:
    """ExportError for a function that may fail and whose type cannot say so."""
    if kind.result is not None and (kind.result.is_float or not c.returns):
        return
    why = (
        "what it checks while it runs may fail" if c.checked
        else "a length may not be what it needs" if c.unsure(signature) or not all(map(_is_size, signature.conditions))
        else "memory for its temporaries may be refused" if allocates(versions) else ""
    )  # fmt: skip
    if why:
        raise ExportError(
            f"{why}, and only a float (by NaN) or a status says so",
            "let it return f64, or i32 with the result at an address: i32(…, f64*)",
        )


def _is_size(condition: Condition) -> bool:
    """Whether it says that a length is not negative, which none is."""
    return condition.relation == "<=" and condition.lhs.const == 0 and condition.rhs.symbol is not None
