"""The stages of every example: their text reads back as the same text, and stock mlir-opt takes what is exported."""

import shutil
import subprocess
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math
from xdsl.parser import Parser

from txc.compiler.export_mlir import export
from txc.compiler.frontend.tx_errors import load_text
from txc.compiler.frontend.tx_language import parse
from txc.compiler.pipeline import run_stages
from txc.compiler.universe import UNIVERSE
from txc.compiler.watch import Watch

FILES = sorted((Path(__file__).parent.parent / "examples").glob("*.tx"))
FUNCTIONS = [(file, name) for file in FILES for name in parse(load_text(file), str(file)).functions]
IDS = [f"{file.stem}.{name}" for file, name in FUNCTIONS]
IR_STAGES = ("tensor", "canonical", "layout", "evals", "fused", "buffers", "loops")
MLIR_OPT = next((path for name in ("mlir-opt-19", "mlir-opt") if (path := shutil.which(name))), None)


def context() -> Context:
    made = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, math.Math):
        made.load_dialect(dialect)
    for name, dialect in UNIVERSE.all_dialects.items():
        made.register_dialect(name, dialect)
    return made


@pytest.mark.parametrize(("file", "name"), FUNCTIONS, ids=IDS)
def test_every_stage_reads_back_as_the_same_text(file: Path, name: str):
    graph = parse(load_text(file), str(file)).graph(name)
    stages = run_stages(graph, stop_after="llvm", watch=Watch(keep_text=True))
    for stage in IR_STAGES:
        text = stages.text(stage)
        module = Parser(context(), text).parse_module()
        module.verify()
        assert str(module).strip() == text.strip(), stage
    assert stages.text("graph").startswith(f"graph {name}(")
    assert f"@{name}(" in stages.text("llvm")


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
