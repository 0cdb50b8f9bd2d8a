"""Exported functions for WebAssembly, linked by LLVM's linker and called from node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from txc.compiler.aot.c_signature import CArray, CScalar
from txc.compiler.aot.export import Exported

from .harness import sizes_of

__all__ = ["call_from_node"]

LINKERS = ("wasm-ld", "wasm-ld-19", "wasm-ld-18")

DRIVER = r"""
const fs = require("fs");
const [folder] = process.argv.slice(2);
const job = JSON.parse(fs.readFileSync(`${folder}/job.json`));
const { instance } = { instance: new WebAssembly.Instance(
  new WebAssembly.Module(fs.readFileSync(`${folder}/code.wasm`)), {}) };
const { memory, __heap_base } = instance.exports;
let top = __heap_base.value;
function reserve(size) {
  const at = (top + 15) & ~15;
  top = at + size;
  const missing = top - memory.buffer.byteLength;
  if (missing > 0) memory.grow(Math.ceil(missing / 65536));
  return at;
}
const places = {};
const given = job.arguments.map((a) => {
  if (a.integer !== undefined) return BigInt(a.integer);
  if (a.number !== undefined) return a.number === null ? NaN : a.number;
  const at = (places[a.name] = reserve(a.bytes));
  if (a.file) new Uint8Array(memory.buffer).set(fs.readFileSync(`${folder}/${a.name}`), at);
  return at;
});
const size = instance.exports[job.symbol + "_workspace"](...job.sizes.map(BigInt), 0);
const status = instance.exports[job.symbol](...given, size ? reserve(size) : 0, 0);
if (status) throw new Error(`status ${status}`);
for (const a of job.arguments)
  if (a.written)
    fs.writeFileSync(`${folder}/${a.name}.out`, new Uint8Array(memory.buffer, places[a.name], a.bytes));
"""


def call_from_node(made: Exported, arguments: Sequence[Any], folder: Path) -> list[np.ndarray]:
    """Link and instantiate the object, call it, and give what the function returned; a skip where a tool is missing."""
    linker = next((name for name in LINKERS if shutil.which(name)), None)
    if linker is None or shutil.which("node") is None:
        pytest.skip(f"{'node' if linker else 'wasm-ld'} is not installed")
    s = made.signature
    env = sizes_of(s, arguments)
    job: list[dict[str, Any]] = []
    given: list[Any] = [*arguments, *[None] * len(s.results)]
    for a, value in zip((*s.arguments, *s.results), given):
        if isinstance(a, CArray):
            count = int(np.prod([int(d.evaluate(env)) for d in a.dims]))
            job.append({"name": a.name, "bytes": count * a.dtype.bytes, "file": not a.result, "written": a.written})
            if not a.result:
                order = "F" if a.layout == "col" else "C"
                (folder / a.name).write_bytes(np.asarray(value, a.dtype.numpy).tobytes(order))
        elif isinstance(a, CScalar):
            job.append(_number(np.asarray(value, a.dtype.numpy)))
        else:
            job.append({"integer": str(int(value))})
    job += [{"integer": str(env[size.symbol])} for size in s.sizes]
    sizes = [str(env[size.symbol]) for size in s.shape_sizes]
    (folder / "job.json").write_text(json.dumps({"symbol": s.symbol, "arguments": job, "sizes": sizes}))
    (folder / "code.o").write_bytes(made.object)
    (folder / "driver.js").write_text(DRIVER)
    shown = [f"--export={name}" for name in (*s.symbols, "__heap_base")]
    command = [linker, "--no-entry", "-z", "stack-size=1048576", *shown, str(folder / "code.o")]
    built = subprocess.run([*command, "-o", str(folder / "code.wasm")], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run(["node", str(folder / "driver.js"), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = []
    for name in s.returned:
        array = next(a for a in s.arrays if a.name == name)
        shape = tuple(int(d.evaluate(env)) for d in array.dims)
        data = (folder / f"{name}.out").read_bytes()
        results.append(
            np.frombuffer(data, array.dtype.numpy).reshape(shape, order="F" if array.layout == "col" else "C")
        )
    return results


def _number(value: np.ndarray) -> dict[str, Any]:
    """A number by value, as JavaScript passes it: 64-bit integers are BigInts, half-width floats their bits."""
    if value.dtype.itemsize == 2 and value.dtype.kind in "fV":
        value = value.view(np.uint16)
    if value.dtype.kind in "iu" and value.dtype.itemsize == 8:
        return {"integer": str(int(value))}
    return {"number": value.item()}
