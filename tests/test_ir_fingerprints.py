"""The texts of all stages keep their letters: digests for targets whose figures are fixed, whatever machine this is.

IR is taken in MLIR's generic form, which says all that there is and does not depend on how ops print themselves.

What calls itself a refactoring changes no digest.  Where a pass is to make other code,
``PYTHONPATH=src python -m tests.test_ir_fingerprints`` records them again, and the commit says why.  They stand by
stage, so the first one to change says whose doing it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.codegen.target.llvm_backend import gpu_target
from txc.compiler.codegen.target.names import named_target
from txc.compiler.codegen.target.target import Target
from txc.compiler.frontend.trace.graph import Graph
from txc.compiler.frontend.tx.errors import load_text
from txc.compiler.frontend.tx.parser import parse
from txc.compiler.instrumentation import InstrumentationOptions
from txc.compiler.pipeline import run_stages
from txc.passes.cost.model import Machine

from .test_result_bits import PROGRAMS, numbers

GOLDEN = Path(__file__).parent / "golden" / "ir_fingerprints.json"
EXAMPLES = Path(__file__).parent.parent / "examples"
STAGES = ("graph", "tensor", "canonical", "layout", "evals", "fused", "buffers", "loops", "llvm", "ptx")


def smoothed(x, n):
    for _ in range(n):
        x[1:-1] = 0.5 * (x[:-2] + x[2:])
    return x


def diffused(x):
    for i in range(x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            error = x[i, j] - np.round(x[i, j])
            x[i, j] = np.round(x[i, j])
            x[i, j + 1] += error * 0.5
            x[i + 1, j] += error * 0.5
    return x


def root(a):
    x, steps = a.sum(), 0
    while abs(x * x - 2) > 1e-9 and steps < 50:
        x = 0.5 * (x + 2 / x)
        steps += 1
    return x, steps


def chosen(x, y):
    if x.sum() > 0:
        z = x * 2
    else:
        z = y - 1
    return np.where(z > 1, z, -z)


def clusters(x, c):
    nearest = ((x[:, None] - c) ** 2).sum(axis=2).argmin(axis=1)
    return np.stack([x[nearest == k].mean(axis=0) for k in range(len(c))])


#: What the programs of `test_result_bits` have not: kernels of other kinds, control flow, sizes that values decide.
OTHERS: dict[str, tuple[tuple[tuple[int, ...], ...], Callable[..., Any]]] = {
    "sort": (((5000,),), lambda x: (np.sort(x), np.argsort(x))),
    "sort of rows": (((33, 70),), lambda x: np.sort(x, axis=1)),
    "partition": (((5000,),), lambda x: np.partition(x, 70)),
    "median": (((33, 70),), lambda x: np.median(x, axis=1)),
    "searchsorted": (((70,), (500,)), lambda x, y: np.searchsorted(np.sort(x), y)),
    "fft": (((33, 64),), lambda x: np.fft.rfft(x)),
    "fft of a prime": (((97,),), lambda x: np.fft.fft(x)),
    "cholesky": (((8, 8),), lambda x: np.linalg.cholesky(x @ x.T + 64 * np.eye(8, dtype=x.dtype))),
    "solve": (((8, 8), (8, 3)), lambda x, y: np.linalg.solve(x + 64 * np.eye(8, dtype=x.dtype), y)),
    "eigenvalues": (((8, 8),), lambda x: np.linalg.eigvalsh(x + x.T)),
    "singular values": (((9, 5),), lambda x: np.linalg.svd(x, compute_uv=False)),
    "running sums": (((33, 70),), lambda x: (np.cumsum(x, axis=1), np.cumsum(x, axis=0))),
    "running largest": (((5000,),), lambda x: np.maximum.accumulate(x)),
    "convolution": (((500,), (9,)), lambda x, y: np.convolve(x, y)),
    "histogram": (((5000,),), lambda x: np.bincount((x * x).astype(int))),
    "gather": (((70, 5), (33,)), lambda x, y: x[(y * y).astype(int)]),
    "scatter": (((70,), (33,)), lambda x, y: np.add.at(x, (y * y).astype(int), y)),
    "windows": (((500,),), lambda x: np.lib.stride_tricks.sliding_window_view(x, 9).mean(axis=1)),
    "padded": (((33, 70),), lambda x: np.pad(x, ((1, 2), (3, 4)), mode="edge")),
    "einsum": (((9, 8, 7), (8, 7)), lambda x, y: np.einsum("ijk,jk->i", x, y)),
    "masked": (((5000,),), lambda x: x[x > 1] * 2),
    "unique": (((500,),), lambda x: np.unique(np.round(x))),
    "clusters": (((70, 3), (4, 3)), clusters),
    "smoothed": (((500,),), lambda x: smoothed(x, 20)),
    "diffused": (((33, 70),), diffused),
    "root": (((4,),), root),
    "chosen": (((500,), (500,)), chosen),
    "gamma": (((33, 70),), lambda x: txc.library.softmax(x * x, 1) + np.hypot(x, 1)),
    "complex": (((33, 70),), lambda x: np.exp(1j * x) * np.abs(x + 2j)),
}  # fmt: skip


def _graphs() -> dict[str, Callable[[], Graph]]:
    """What makes the graph of each program."""
    found: dict[str, Callable[[], Graph]] = {}
    for name, (dtypes, shapes, function) in PROGRAMS.items():
        found[name] = lambda d=dtypes[0], s=shapes[-1], f=function: _staged(f, s, d)
    for name, (shapes, function) in OTHERS.items():
        found[name] = lambda s=shapes, f=function: _staged(f, s, "f8")
    for path in sorted(EXAMPLES.glob("*.tx")):
        for name in parse(load_text(path), path.name).functions:
            found[f"{path.stem}.{name}"] = lambda p=path, n=name: parse(load_text(p), p.name).graph(n)
    return found


def _staged(function: Callable[..., Any], shapes: tuple[tuple[int, ...], ...], dtype: str) -> Graph:
    return txc.jit(function).graph(*(numbers(i + 1, shape, dtype) for i, shape in enumerate(shapes)))


def _targets() -> Iterator[tuple[str, Target, Machine]]:
    """Targets, with what is usual of their kind: what this machine was measured to be is no part of the texts."""
    for name in ("x86-64-v3", "x86-64-v4", "aarch64"):
        (target,) = named_target(name).versions
        yield name, target, Machine.of_cpu(target.vector_bits, target.vector_registers, target.cpu)
    for name in ("sm_80", "sm_90a"):
        target = gpu_target(name)
        yield name, target, Machine.of_gpu(target.capability)


GRAPHS = _graphs()


def digests(name: str) -> dict[str, str]:
    """By target, eight letters of the digest for each stage that the program gets to, or of why it does not."""
    found: dict[str, str] = {}
    graph = GRAPHS[name]()
    for target_name, target, machine in _targets():
        try:
            end = "ptx" if target.is_gpu else "llvm"
            stages = run_stages(
                graph,
                stop_after=end,
                watch=InstrumentationOptions(keep_text=True, generic=True),
                target=target,
                machine=machine,
            )
        except txc.TxcError as error:
            found[target_name] = f"{error.code}"
            continue
        texts = {record.stage: record.text for record in stages.records if record.text is not None}
        parts = (f"{stage}:{_digest(texts[stage])}" for stage in STAGES if stage in texts)
        found[target_name] = " ".join(parts)
    return found


def _digest(text: str) -> str:
    """Without the places in files that comments name."""
    return hashlib.sha256(re.sub(r'(loc\(|<|")?[^\s"(]*\.(py|tx):\d+(:\d+)?', "", text).encode()).hexdigest()[:8]


@pytest.mark.parametrize("name", GRAPHS)
def test_texts_are_as_they_were(name: str):
    known = json.loads(GOLDEN.read_text())
    assert digests(name) == known[name]


def test_nothing_else_is_recorded():
    assert json.loads(GOLDEN.read_text()).keys() == GRAPHS.keys()


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: digests(name) for name in GRAPHS}, indent=1) + "\n")
