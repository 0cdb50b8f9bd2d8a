"""What an import pulls in: the compiler's heavy parts only where something is compiled."""

import subprocess
import sys

HEAVY = ("xdsl", "llvmlite", "txc.compiler.pipeline", "txc.compiler.lowering", "txc.passes", "txc.compiler.codegen")


def modules_after(statements: str) -> set[str]:
    code = f"{statements}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_tracing_and_the_registry_are_light():
    tracing = """
import numpy as np, txc
from txc.dialects.registry import OPS
assert "exp" in OPS
f = txc.jit(lambda x: np.exp(x).sum())
assert len(list(f.graph(np.ones(3)).walk())) == 2
txc.compile_source("def f(x: f32[n]) -> f32[n]: return x + x").f.graph
"""
    loaded = modules_after(tracing)
    assert "txc.compiler.frontend.staging" in loaded
    assert [m for m in HEAVY if m in loaded] == []


def test_a_call_loads_them():
    loaded = modules_after("import numpy as np, txc\nassert txc.jit(lambda x: x + x)(np.ones(3)).sum() == 6")
    assert [m for m in HEAVY if m not in loaded] == []


def test_the_runtime_imports_nothing_of_the_compiler():
    code = "import txc.runtime.call, txc.runtime.pool"
    # `import txc` itself is the front door and imports the front end: give the runtime an empty parent instead.
    parent = (
        "import sys, types, pathlib, importlib.util\n"
        "found = importlib.util.find_spec('txc')\n"
        "package = types.ModuleType('txc')\n"
        "package.__path__ = list(found.submodule_search_locations)\n"
        "sys.modules['txc'] = package\n"
    )
    loaded = modules_after(parent + code)
    assert "txc.runtime.call" in loaded
    assert [m for m in loaded if m.startswith(("txc.compiler", "txc.dialects", "txc.passes", "xdsl"))] == []
