"""`inside/exp.md`: `exp` followed from Python to machine code, by watching one call compile and run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

from .tree import _says

__all__ = ["PAGE", "page"]

PAGE = "inside/exp.md"
ROOT = Path(__file__).parents[2]
FUNCTION = """\
@txc.jit
def scaled_exp(x, scale):
    return np.exp(x * scale)
"""
PROGRAM = f"""\
import numpy as np
import txc


{FUNCTION}

def call():
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    result = scaled_exp(x, np.float32(2))
    assert np.allclose(result, np.exp(x * np.float32(2)))
"""

HEAD = """\
# Follow `exp` from Python to machine code

Written by `docs/generate.py`, which calls the function below in a fresh process, watches which functions of txc run
(`docs/pages/observed.py`) and keeps the text of every stage; do not edit. A test compares. It is compiled for an x86-64
processor with AVX2 and FMA (`TXC_TARGET=x86-64-v3`), in a process of one thread, the argument being a matrix of f32.

```
{function}```

In the first two calls functions of **{count} files** run; what only runs while modules are imported (registering
operations, say) is not counted, nor is the standard library, xDSL, llvmlite or NumPy. Each stage below says which file
and function made it, shows its text, and lists the files that first ran there. In the third call no function of txc's
Python runs.
"""


@dataclass(frozen=True)
class Step:
    """A stage: `makers` are ``file: function``, which must have run there; `text` says what becomes of `exp`."""

    stage: str
    title: str
    makers: tuple[str, ...]
    text: str


STEPS = (
    Step(
        "graph", "`graph`: from Python to a graph",
        (
            "compiler/driver/jit.py: Jitted.__call__", "compiler/frontend/staging/rewriting/ast_rewrite.py: rewrite",
            "compiler/frontend/tensor/tensor.py: Tensor.__array_ufunc__", "compiler/frontend/tensor/apply.py: apply",
        ),
        """
        No compiled code is known for these arguments, so `Jitted.__call__` asks for some. The function's source is
        rewritten so that branches and loops can be seen (here there are none), and run on *symbolic* tensors: they have
        a dtype and dims, no elements. `np.exp` of such a tensor is NumPy's own function; NumPy finds
        `Tensor.__array_ufunc__`, which looks up the operation that stands for it in the registry, and `apply` adds a
        node to the graph. The sizes are symbols, so the code will serve every size.
        """,
    ),
    Step(
        "tensor", "`tensor`: IR of named operations",
        ("compiler/lowering.py: lower", "passes/tensor/reduction_order.py: ReductionOrderPass.apply"),
        """
        Each node becomes an xDSL operation of the `tx` dialect. Their classes are made from the same declarations
        (`dialects/tx/__init__.py`), so `tx.exp` needed no line of its own. Reductions would get the order in which they
        are summed here; this function has none.
        """,
    ),
    Step(
        "canonical", "`canonical`: simplified", ("passes/tensor/canonicalize.py: CanonicalizePass.apply",),
        "Algebra, constants, common subexpressions. There is nothing to simplify: the text is the same.",
    ),
    Step(
        "layout", "`layout`: in which order results lie", ("passes/tensor/layout_swap.py: LayoutSwapPass.apply",),
        "The argument is row-major, and so is the result: the text is the same.",
    ),
    Step(
        "evals", "`evals`: what is kept in memory", ("passes/tensor/eval_insertion.py: EvalInsertionPass.apply",),
        "Every value has one use, so nothing but the result is kept: the text is the same.",
    ),
    Step(
        "fused", "`fused`: one loop nest",
        ("passes/fusion/fusion.py: FusionPass.apply", "dialects/scalar/builder.py: BodyBuilder.emit"),
        """
        The three operations become the body of one nest over all elements, written for one element. What reads
        where is an index map: the scalar, read at every point, is the map to nothing. `exp` stays one operation,
        `math.exp`.
        """,
    ),
    Step(
        "buffers", "`buffers`: memory", ("passes/memory/bufferize.py: BufferizePass.apply",),
        "Tensors become buffers with strides. The result is the caller's memory, so there is no temporary.",
    ),
    Step(
        "loops", "`loops`: loops, threads, vectors",
        ("passes/schedule/cpu/schedule.py: CpuSchedule._kernel", "passes/schedule/map/schedule.py: map_schedule"),
        """
        Both dims lie one behind the other, so they are one loop, cut into pieces for threads. The cost model says how
        many elements a piece has, that eight lanes make a vector, and how far ahead memory is asked for.
        """,
    ),
    Step(
        "llvm", "`llvm`: what `exp` is",
        (
            "compiler/codegen/emit/module.py: emit_llvm",
            "compiler/codegen/emit/values/scalar.py: ScalarBodies.arithmetic",
            "dialects/ops/transcendental/exponential.py: Exp.scalar",
        ),
        """
        Only here `exp` becomes arithmetic. The emitter meets `math.exp`, asks the registry for its declaration and
        runs its body (`Exp.scalar`) with a builder that writes LLVM IR for vectors. The interpreters run the same body
        with a builder that computes with NumPy, and the simulated GPU runs what the same body became in PTX: one body,
        so the bits agree. Of the text only the block of the vector loop that computes stands here.
        """,
    ),
    Step(
        "asm", "`asm`: machine code", ("compiler/codegen/target/llvm_backend.py: emit_asm",),
        "LLVM optimises the text and selects instructions. Again the vector loop only.",
    ),
    Step(
        "obj", "`obj`: an object file, with an entry for Python",
        ("compiler/codegen/call/python_stub.py: _Entry.__init__", "compiler/codegen/target/llvm_backend.py: _generate"),
        """
        A second function is added to the LLVM IR: it takes Python's arguments, checks that they are what this code was
        compiled for, finds their memory, makes the result and calls the first.
        """,
    ),
    Step(
        "call", "Loading, and the first run",
        ("runtime/loader/loader.py: _link", "compiler/driver/executable.py: Executable.run"),
        """
        txc itself puts the object into memory, links it and calls it. What the call returns is made by Python here,
        from the plan that the entry for Python was written from.
        """,
    ),
    Step(
        "second call", "The second call",
        ("compiler/driver/jit.py: Jitted._install", "runtime/stub/native_call.py: install"),
        """
        A version that is called again gets its entry linked, beside the code that all entries share and the pool of
        threads: a process that calls once is done sooner. In a process of several threads one of them has made that
        code while the first call compiled (`runtime/ahead.py`). From now on a call with such arguments is machine code
        from the interpreter's call on ([The call path](call-path.md)).
        """,
    ),
)  # fmt: skip

LANGUAGES = {"graph": "text", "llvm": "llvm", "asm": "gas"}
#: By what the vector loop's block is found: of these the most, beside prefetches.
VECTORS = {"llvm": "<8 x float>", "asm": "ymm"}


def page() -> str:
    """The text of docs/inside/exp.md."""
    stages, texts = _observed()
    files = list(dict.fromkeys(file for ran in stages.values() for file in ran))
    parts = [HEAD.format(function=FUNCTION, count=len(files))]
    seen: set[str] = set()
    before = ""
    for step in STEPS:
        text = _shown(step.stage, texts[step.stage]) if step.stage in texts else ""
        parts.append(_section(step, stages[step.stage], "" if text == before else text, seen))
        seen |= set(stages[step.stage])
        before = text
    return "".join(parts)


def _observed() -> tuple[dict[str, dict[str, list[str]]], dict[str, str]]:
    """The functions that ran by stage and file, and the text of each stage."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "program.py"
        program.write_text(PROGRAM, encoding="utf-8")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("TXC_")} | {
            "TXC_CACHE_DIR": "0", "TXC_TARGET": "x86-64-v3", "TXC_NUM_THREADS": "1", "TXC_DUMP_IR": str(folder / "ir"),
            "PYTHONPATH": str(ROOT / "src"),
        }  # fmt: skip
        run = [sys.executable, str(Path(__file__).with_name("observed.py")), str(ROOT), str(program)]
        done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
        dumped = {p.name.split("-")[1]: p for p in sorted((folder / "ir").glob("*/*")) if p.suffix != ".o"}
        texts = {stage: p.read_text(encoding="utf-8") for stage, p in dumped.items()}
    stages = json.loads(done.stdout)
    if left := stages.pop("third call"):
        raise ValueError(f"a third call runs {left}")
    return stages, texts


def _section(step: Step, ran: dict[str, list[str]], text: str, seen: set[str]) -> str:
    for maker in step.makers:
        file, _, function = maker.partition(": ")
        if function not in ran.get(file, ()):
            raise ValueError(f"{maker} did not run at stage {step.stage}: {ran.get(file)}")
    made = "\n".join(f"* `{m.partition(': ')[2]}` in `{m.partition(': ')[0]}`" for m in step.makers)
    words = textwrap.fill(" ".join(step.text.split()), 118, break_on_hyphens=False)
    parts = [f"\n## {step.title}\n\n{words}\n\nMade by\n\n{made}\n"]
    if text:
        parts.append(f"\n```{LANGUAGES.get(step.stage, 'mlir')}\n{text}\n```\n")
    new = sorted(file for file in ran if file not in seen)
    if new:
        rows = "".join(f"| `{file}` | {_says(ROOT / file)} |\n" for file in new)
        title = f"{len(new)} file{'s' * (len(new) > 1)} first run here"
        parts.append(f"\n<details><summary>{title}</summary>\n\n| file | |\n|---|---|\n{rows}\n</details>\n")
    else:
        parts.append("\nNo file is first run here.\n")
    return "".join(parts)


def _shown(stage: str, text: str) -> str:
    if stage in VECTORS:
        blocks = re.split(r"^(?=[\w.]+:$)", text, flags=re.MULTILINE)
        return max(blocks, key=lambda block: ("prefetch" in block, block.count(VECTORS[stage]))).rstrip()
    return text.rstrip()
