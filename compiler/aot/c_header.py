"""The C header of an exported function: declarations for C11 and C++17, with what a caller must know as comments."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from .c_names import is_taken
from .c_signature import C_TYPES, STATUS, CArray, CScalar, CSignature, CSize, condition_text, dim_text

__all__ = ["c_header"]

_COMMON = """#ifndef TXC_EXPORT_H
#define TXC_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <complex>
#endif

#ifdef __cplusplus
#define TXC_RESTRICT __restrict
#else
#define TXC_RESTRICT restrict
#endif

/* The bits of a half-width float: IEEE binary16, and the upper half of a binary32. */
typedef uint16_t txc_f16;
typedef uint16_t txc_bf16;

/* Complex numbers: the real part, then the imaginary part. */
#ifdef __cplusplus
typedef std::complex<float> txc_c64;
typedef std::complex<double> txc_c128;
#else
typedef float _Complex txc_c64;
typedef double _Complex txc_c128;
#endif

/* What an exported function returns. */
enum {
@STATUS@
};

/* A part of a parallel loop; parts are independent and may run at the same time. */
typedef void txc_task(void *context, int64_t part, int64_t worker);

/* Threads of the program that calls: `parallel` runs task(context, part, worker) once for each part from 0 to
   parts - 1, in any order, and returns when all have run.  `worker` is from 0 to threads - 1, and no two parts that
   run at the same time have the same.  `pool` is handed through.  Where NULL is passed for a txc_threads, the function
   runs on the calling thread alone.  Results are the same bits for any number of threads. */
typedef struct txc_threads {
  void (*parallel)(void *pool, txc_task *task, void *context, int64_t parts, int64_t threads);
  void *pool;
  int64_t threads;
} txc_threads;

#endif
"""


def c_header(functions: Sequence[CSignature], target: str) -> str:
    """The header of functions that were compiled for `target`; any number of such headers can be included together."""
    guard = "_".join(["TXC", *(f.symbol.upper() for f in functions), "H"])
    status = "\n".join(f"  {name} = {value}, /* {text} */" for name, (value, text) in STATUS.items())
    parts = [
        f"/* Made by txc for {target}; do not edit. */\n#ifndef {guard}\n#define {guard}\n",
        _COMMON.replace("@STATUS@", status),
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        *(_function(f) for f in functions),
        "#ifdef __cplusplus\n}\n#endif\n\n#endif\n",
    ]
    return "\n".join(parts)


def _function(signature: CSignature) -> str:
    parts = [_comment(_about(signature)), _prototype("int", signature.symbol, call_parameters(signature))]
    parts.append(
        _comment(["Bytes that the workspace must have, at any address; 0 where a condition on sizes does not hold."])
    )
    sizes = [_size(s) for s in signature.shape_sizes]
    parts.append(
        _prototype("size_t", f"{signature.symbol}_workspace", [*sizes, "const txc_threads *threads"]),
    )
    for result in signature.results:
        if result.has_shape:
            parts.append(_comment([f"The sizes of {result.name}; returns what {signature.symbol} would for these."]))
            shape = f"int64_t shape[{len(result.dims)}]"
            parts.append(_prototype("int", f"{signature.symbol}_{result.name}_shape", [*sizes, shape]))
    if signature.pool:
        fill, stop = signature.pool_symbols
        parts.append(
            _comment(
                [
                    "A pool of threads: fills in `threads` for as many as `count` says, or, where it is 0, one for "
                    "each processor that this process may use. It is for every function of this header. The threads "
                    "start when a loop first needs them. A call that "
                    "finds the pool at work for another runs on its own thread."
                ]
            )
        )
        parts.append(_prototype("void", fill, ["txc_threads *threads", "int64_t count"]))
        parts.append(_comment(["Ends the threads, while no call uses them; later calls run on the calling thread."]))
        parts.append(_prototype("void", stop, ["void"]))
    return "\n".join(parts)


def call_parameters(signature: CSignature) -> list[str]:
    """The parameters of the exported function, as C declares them."""
    given: list[str] = []
    for a in (*signature.arguments, *signature.results):
        if isinstance(a, CArray):
            const = "" if a.written else "const "
            given.append(f"{const}{C_TYPES[a.dtype.name]} *TXC_RESTRICT {a.name}")
        elif isinstance(a, CScalar):
            kind = C_TYPES[a.dtype.name]
            given.append(f"const {kind} *{a.name}" if a.by_address else f"{kind} {a.name}")
        else:
            given.append(_size(a))
    given += [_size(s) for s in signature.sizes]
    return [*given, "void *workspace", "const txc_threads *threads"]


def _size(size: CSize) -> str:
    return f"int64_t {size.name}"


def _prototype(result: str, name: str, parameters: Iterable[str]) -> str:
    # A parameter stays on one line: its blanks take no part in the wrapping.
    text = f"{result} {name}({', '.join(p.replace(' ', '~') for p in parameters)});"
    filled = textwrap.fill(text, 110, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return filled.replace("~", " ") + "\n"


def _about(signature: CSignature) -> list[str]:
    """What the comment of the function says, a paragraph an item."""
    names = signature.names()
    lines = [_ascii(line) for line in signature.doc.strip().split("\n\n") if line]
    lines += [f"  {c} is {_ascii(name)} in the program{_why(name)}" for c, name in signature.renamed.items()]
    for a in signature.arguments:
        if isinstance(a, CArray):
            how = ", written in place" if a.written else ""
            lines.append(f"  {a.name}: {_array(a, names)}{how}")
    for r in signature.results:
        lines.append(f"  {r.name}: {_array(r, names)}, a result")
    lines.append("  workspace: memory for temporaries, of the size that the next function gives; may be NULL for 0")
    lines.append("  threads: NULL, or the threads to use")
    if any(name not in {r.name for r in signature.results} for name in signature.returned):
        lines.append(f"Returns, in this order: {', '.join(signature.returned)}.")
    lines.append("Arrays are packed and must not overlap one another. Returns TXC_OK, or an error without writing:")
    lines += [f"  {c.status} unless {condition_text(c, names)}" for c in signature.conditions]
    if not signature.conditions:
        lines.append("  none on sizes")
    return lines


def _why(name: str) -> str:
    return ", a name that C has for something else" if is_taken(name, symbol=True) else ""


def _array(array: CArray, names: dict[str, str]) -> str:
    dims = "".join(f"[{dim_text(d, names)}]" for d in array.dims) or "[1]"
    order = ", the first dim fastest (column-major)" if array.layout == "col" and len(array.dims) > 1 else ""
    return f"{C_TYPES[array.dtype.name]}{dims}{order}"


def _ascii(text: str) -> str:
    """Words of the user's that cannot end the comment, nor be read differently by compilers."""
    plain = " ".join(text.split()).encode("ascii", "backslashreplace").decode()
    return re.sub(r"\*/|/\*|\?\?", lambda m: " ".join(m[0]), plain).rstrip("\\")


def _comment(paragraphs: Sequence[str]) -> str:
    lines: list[str] = []
    for p in paragraphs:
        indent = "   " + " " * (len(p) - len(p.lstrip()))
        lines += textwrap.wrap(p.strip(), 110, initial_indent=indent, subsequent_indent=indent + "  ")
    return "/* " + "\n".join(lines).lstrip() + " */"
