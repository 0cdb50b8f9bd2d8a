"""The stages of every example: their text reads back as the same text, and stock mlir-opt takes what is exported."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, complex, func, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from txc.compiler.cli.universe import UNIVERSE
from txc.compiler.codegen.target.llvm_backend import gpu_target
from txc.compiler.codegen.target.names import named_target
from txc.compiler.export_mlir import export
from txc.compiler.frontend.tx.errors import load_text
from txc.compiler.frontend.tx.parser import parse
from txc.compiler.instrumentation import InstrumentationOptions
from txc.compiler.pipeline import run_stages
from txc.dialects.ir_text import ModulePrinter, ir_text, read_module
from txc.passes.cost.model import Machine

from .test_ir_fingerprints import GOLDEN, GRAPHS

FILES = sorted((Path(__file__).parent.parent / "examples").glob("*.tx"))
FUNCTIONS = [(file, name) for file in FILES for name in parse(load_text(file), str(file)).functions]
IDS = [f"{file.stem}.{name}" for file, name in FUNCTIONS]
IR_STAGES = ("tensor", "canonical", "layout", "evals", "fused", "buffers", "loops")
MLIR_OPT = next((path for name in ("mlir-opt-19", "mlir-opt") if (path := shutil.which(name))), None)


def context() -> Context:
    made = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, complex.Complex, math.Math):
        made.load_dialect(dialect)
    for name, dialect in UNIVERSE.all_dialects.items():
        made.register_dialect(name, dialect)
    return made


#: Letters of a line, at most: where nothing breaks it, as within a name, it may be longer than it should be.
LONGEST = 140


#: Programs and the targets that they have code for, by the digests of their stages.
COMPILED = [
    (name, "native" if target == "x86-64-v3" else target)
    for name, digests in json.loads(GOLDEN.read_text()).items()
    for target in ("x86-64-v3", "sm_90a")
    if "loops:" in digests[target]
]


@pytest.fixture(scope="module")
def known() -> set[str]:
    """Texts that were read already: many a pass changes nothing, and targets have much in common."""
    return set()


@pytest.fixture(scope="module")
def kinds() -> set[tuple[str, frozenset[str]]]:
    """Ops with the names of their attributes that were read in every form."""
    return set()


def modules(name: str, target: str) -> Iterator[tuple[str, ModuleOp]]:
    """A program at each stage of IR, one after the other: a stage changes the module of the one before it."""
    if target == "native":
        made, machine = named_target(target).versions[0], None
    else:
        made = gpu_target(target)
        machine = Machine.of_gpu(made.capability)
    program, start = GRAPHS[name](), "graph"
    for stage in IR_STAGES:
        program = run_stages(program, start=start, stop_after=stage, target=made, machine=machine).module
        assert program is not None
        yield stage, program
        start = stage


def without_machine(text: str) -> str:
    """What the functions of a module say, which is all but what their module says of the machine."""
    return " ".join(re.sub(r"^builtin\.module attributes \{.*?\}\} \{|\}$", "", text, flags=re.DOTALL).split())


@pytest.mark.parametrize(("name", "target"), COMPILED)
def test_every_stage_reads_back_as_the_same_text(
    name: str, target: str, known: set[str], kinds: set[tuple[str, frozenset[str]]]
) -> None:
    """What is printed, places included, is read as the same module, and as one that prints itself the same way.

    Texts in which an op is of a new kind are read in the other forms too.
    """
    for stage, made in modules(name, target):
        text, located = ir_text(made), ir_text(made, locations=True)
        if (said := without_machine(located)) in known:
            continue
        known.add(said)
        assert max(map(len, text.splitlines())) <= LONGEST, stage
        assert ir_text(made, unbroken=True).split() == text.split(), f"{stage}: lines are broken at spaces"
        again = read_module(context(), located)
        again.verify()
        assert again.is_structurally_equivalent(made), stage
        assert ir_text(again) == text, stage
        found = {(op.name, frozenset(op.attributes)) for op in made.walk()}
        if not found <= kinds:
            kinds |= found
            whole = ir_text(made, generic=True)
            generic = read_module(context(), whole)
            assert ir_text(generic) == text and generic.is_structurally_equivalent(made), stage
            assert ir_text(read_module(context(), text)) == text, stage


def test_other_stages_have_texts_too() -> None:
    stages = run_stages(GRAPHS["softmax.softmax"](), stop_after="llvm", watch=InstrumentationOptions(keep_text=True))
    assert stages.text("graph").startswith("graph softmax(")
    assert "@softmax(" in stages.text("llvm")


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt is not installed (Debian: mlir-19-tools)")
@pytest.mark.parametrize("stage", ["fused", "loops"])
@pytest.mark.parametrize(("file", "name"), FUNCTIONS, ids=IDS)
def test_stock_mlir_opt_takes_the_export(file: Path, name: str, stage: str):
    graph = parse(load_text(file), str(file)).graph(name)
    module = run_stages(graph, stop_after=stage).module
    assert MLIR_OPT is not None and module is not None
    text = export(module)
    assert ("linalg.generic" if stage == "fused" else "memref") in text
    done = subprocess.run([MLIR_OPT], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]


#: Transposed products, whose LLVM IR has many symbols, and rows.
PROGRAM = '''
import hashlib
from txc.compiler.frontend.tx.parser import parse
from txc.compiler.pipeline import run_stages
from txc.compiler.stages import IR_STAGES
from txc.compiler.instrumentation import InstrumentationOptions
parsed = parse("""
def turned(a: f32[m, k], b: f32[n, m]) -> f32[k, n]:
    return a.T @ b.T + 1


def softmax(x: f32[n, m]) -> f32[n, m]:
    e = exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
""", "f.tx")
for name in parsed.functions:
    stages = run_stages(parsed.graph(name), stop_after="llvm", watch=InstrumentationOptions(keep_text=True))
    for stage in (*IR_STAGES, "llvm"):
        print(name, stage, hashlib.sha256(str(stages.text(stage)).encode()).hexdigest())
'''


def test_texts_are_the_same_in_each_process():
    """Whatever order the hashes of strings, which differ between processes, give to sets."""
    texts = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join(sys.path)},
        ).stdout
        for seed in (1, 2)
    }  # fmt: skip
    assert len(texts) == 1 and len(texts.pop().splitlines()) > 10


def test_strings_are_written_as_xdsl_does() -> None:
    for given in (bytes(range(256)), b"", 'a "name" \\ é\n'.encode()):
        ours, theirs = StringIO(), StringIO()
        ModulePrinter(stream=ours).print_bytes_literal(given)
        Printer(stream=theirs).print_bytes_literal(given)
        assert ours.getvalue() == theirs.getvalue()
