"""Exported functions called from C programs that gcc builds, here or for an emulator: what goes in and comes out."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from txc.compiler.aot.c_signature import C_TYPES, CArray, CScalar, CSignature
from txc.compiler.aot.export import Exported, export_graph
from txc.compiler.codegen.target.names import named_target
from txc.dialects.dims.dims import Dim

__all__ = ["Machine", "call_from_c", "exported", "reference", "same_bits", "sizes_of"]

FLAGS = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]

#: The threads of a C program: a real pool of `threads`, each with its own number, that runs parts in no set order.
POOL = r"""
#include <pthread.h>
#include <stdatomic.h>
typedef struct { txc_task *task; void *context; int64_t parts; atomic_llong next; atomic_llong worker; } job;
static int used_threads = 0;
static void *work(void *given) {
  job *j = given;
  int64_t worker = atomic_fetch_add(&j->worker, 1);
  for (;;) {
    int64_t part = j->parts - 1 - atomic_fetch_add(&j->next, 1);
    if (part < 0) return NULL;
    j->task(j->context, part, worker);
  }
}
static void parallel(void *pool, txc_task *task, void *context, int64_t parts, int64_t threads) {
  pthread_t ids[16];
  job j = {.task = task, .context = context, .parts = parts};
  if (pool != &used_threads || threads > 16) abort();
  used_threads = 1;
  for (int64_t i = 0; i < threads; i++) if (pthread_create(&ids[i], NULL, work, &j)) abort();
  for (int64_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
}
"""

FILES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *read_file(const char *folder, const char *name, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "rb");
  void *data = malloc(size + 1);
  if (!f || !data || fread(data, 1, size, f) != size) { fprintf(stderr, "cannot read %s\n", path); exit(9); }
  fclose(f);
  return data;
}
static void write_file(const char *folder, const char *name, const void *data, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, size, f) != size) { fprintf(stderr, "cannot write %s\n", path); exit(9); }
  fclose(f);
}
"""


@dataclass(frozen=True)
class Machine:
    """How C programs are built and run: the compiler, the command before the program, more flags of the compiler."""

    compiler: str = "gcc"
    runner: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def require(self) -> Machine:
        """This machine, or a skip that names what is missing."""
        for tool in (self.compiler, *self.runner[:1]):
            if shutil.which(tool) is None:
                pytest.skip(f"{tool} is not installed")
        return self


def exported(function: Any, target: str = "native", symbol: str = "") -> Exported:
    """A function of a `.tx` module, for C."""
    layouts = tuple(function.function.output_layouts(function.graph))
    return export_graph(
        function.graph, named_target(target), symbol=symbol, layouts=layouts, doc=function.__doc__ or ""
    )


def sizes_of(signature: CSignature, arguments: Sequence[Any]) -> dict[Any, int]:
    """The value of each symbol, from arguments in the order of the parameters."""
    env: dict[Any, int] = {}
    for a, value in zip(signature.arguments, arguments, strict=True):
        if isinstance(a, CArray):
            env.update({d.symbol: n for d, n in zip(a.dims, value.shape, strict=True) if d.symbol is not None})
        elif not isinstance(a, CScalar):
            env[a.symbol] = int(value)
    return env


def reference(function: Any, arguments: Sequence[Any]) -> list[np.ndarray]:
    """What the JIT makes: the results, then the arguments, which the function may have written."""
    given = [np.array(a, order="K") if isinstance(a, np.ndarray) else a for a in arguments]
    made = function(*given)
    return [np.asarray(m) for m in (made if isinstance(made, tuple) else (made,))]


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bits, all NaNs counting as one."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "c":
        a, b = (np.ascontiguousarray(x).reshape(-1).view(f"f{x.itemsize // 2}") for x in (a, b))
    same = np.ascontiguousarray(a).view(f"u{a.itemsize}") == np.ascontiguousarray(b).view(f"u{a.itemsize}")
    if a.dtype.kind in "fV" or a.dtype.name == "bfloat16":
        same |= np.isnan(a.astype(np.float64)) & np.isnan(b.astype(np.float64))
    return bool(same.all())


def _count(dims: Sequence[Dim], env: Mapping[Any, int]) -> tuple[int, ...]:
    return tuple(int(d.evaluate(env)) for d in dims)


def c_program(signature: CSignature, header: str, arguments: Sequence[Any], env: Mapping[Any, int]) -> str:
    """``main`` that reads the arrays of a folder, calls the function serially and on 3 threads, and writes results."""
    lines: list[str] = []
    names: list[str] = []
    checks: list[tuple[str, str, str]] = []
    given: list[Any] = [*arguments, *[None] * len(signature.results)]
    for a, value in zip((*signature.arguments, *signature.results), given):
        names.append(f"&{a.name}" if isinstance(a, CScalar) and a.by_address else a.name)
        if isinstance(a, CArray):
            kind, count = C_TYPES[a.dtype.name], int(np.prod(_count(a.dims, env)))
            size = f"{count} * sizeof({kind})"
            if a.result:
                lines += [f"{kind} *{a.name} = malloc({size} + 1); memset({a.name}, 0xAB, {size} + 1);"]
                again = f"memset({a.name}, 0xCD, {size});"
            else:
                lines += [f'{kind} *{a.name} = read_file(folder, "{a.name}", {size});']
                again = f'memcpy({a.name}, read_file(folder, "{a.name}", {size}), {size});' if a.written else ""
            if a.written:
                checks.append((a.name, size, again))
        elif isinstance(a, CScalar):
            lines += [f'{C_TYPES[a.dtype.name]} {a.name}; memcpy(&{a.name}, read_file(folder, "{a.name}", sizeof {a.name}), sizeof {a.name});']  # fmt: skip  # noqa: E501
        else:
            lines.append(f"int64_t {a.name} = INT64_C({int(value)});")
    lines += [f"int64_t {s.name} = INT64_C({env[s.symbol]});" for s in signature.sizes]
    names += [s.name for s in signature.sizes]
    shape = ", ".join(s.name for s in signature.shape_sizes)
    lines.append("txc_threads three = {parallel, &used_threads, 3};")
    for r in signature.results:
        if r.has_shape:
            dims = _count(r.dims, env)
            lines.append(f"int64_t {r.name}_dims[{len(dims)}];")
            lines.append(f"if ({signature.symbol}_{r.name}_shape({shape}, {r.name}_dims)) return 4;")
            lines += [f"if ({r.name}_dims[{i}] != {d}) return 5;" for i, d in enumerate(dims)]
    lines += [
        f"size_t alone = {signature.symbol}_workspace({shape}{', ' if shape else ''}NULL);",
        f"size_t together = {signature.symbol}_workspace({shape}{', ' if shape else ''}&three);",
        "char *memory = malloc(together + 2); if (together < alone) return 6;",
        "memory[alone] = 77;",
        f"int status = {signature.symbol}({', '.join([*names, 'alone ? memory : NULL', 'NULL'])});",
        "if (status) return 100 + status;",
        "if (memory[alone] != 77) return 7;",
    ]
    lines += [f'write_file(folder, "{n}.alone", {n}, {size});' for n, size, _ in checks]
    lines += [again for *_, again in checks]
    lines += [
        "memory[together + 1] = 78;",
        f"status = {signature.symbol}({', '.join([*names, 'memory + 1', '&three'])});",
        "if (status) return 100 + status;",
        "if (memory[together + 1] != 78) return 8;",
    ]
    lines += [f'write_file(folder, "{n}.together", {n}, {size});' for n, size, _ in checks]
    body = "\n  ".join(lines)
    return f'{header}{FILES}{POOL}\nint main(int argc, char **argv) {{\n  const char *folder = argv[argc - 1];\n  {body}\n  printf("%d", used_threads);\n  return 0;\n}}\n'  # noqa: E501


def call_from_c(
    made: Exported,
    arguments: Sequence[Any],
    folder: Path,
    machine: Machine,
    *,
    library: Path | None = None,
    threaded: bool = False,
) -> list[np.ndarray]:
    """Build a C program around the object (or the library), run it, and give what the function returned.

    It is called serially and on 3 threads, and both must give the same bits.  `threaded`: threads must have been used.
    """
    s = made.signature
    env = sizes_of(s, arguments)
    for a, value in zip(s.arguments, arguments):
        if isinstance(a, (CArray, CScalar)):
            array = np.asarray(value, a.dtype.numpy)
            (folder / a.name).write_bytes(array.tobytes("F" if isinstance(a, CArray) and a.layout == "col" else "C"))
    (folder / "code.o").write_bytes(made.object)
    (folder / "main.c").write_text(c_program(s, made.header, arguments, env))
    program = folder / "main"
    linked = [str(folder / "code.o")] if library is None else [str(library), f"-Wl,-rpath,{library.parent}"]
    command = [machine.compiler, *FLAGS, *machine.flags, str(folder / "main.c"), *linked, "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([*machine.runner, str(program), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{s.symbol} ended with {done.returncode}: {done.stderr}"
    assert not threaded or done.stdout == "1", "no loop ran on threads"
    results = []
    for name in s.returned:
        array = next(a for a in s.arrays if a.name == name)
        alone, together = ((folder / f"{name}.{how}").read_bytes() for how in ("alone", "together"))
        assert alone == together, f"{name} differs on 3 threads"
        shape = _count(array.dims, env)
        order = "F" if array.layout == "col" else "C"
        results.append(np.frombuffer(alone, array.dtype.numpy).reshape(shape, order=order))
    return results
