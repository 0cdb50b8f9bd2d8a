"""What importing txc brings in, and what the folders may import of each other."""

import ast
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: Only compiling needs these.
HEAVY = ("xdsl", "llvmlite", "txc.passes", "txc.compiler.lowering", "txc.compiler.codegen", "txc.compiler.pipeline")


def _loaded(program: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a program (a file: staging reads its source)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(textwrap.dedent(program) + "\nimport sys\nprint(*sys.modules)\n", encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def _heavy(modules: set[str]) -> list[str]:
    return sorted(m for m in modules if any(m == h or m.startswith(h + ".") for h in HEAVY))


IMPORT = "import txc"
REGISTRY = """
    import txc.dialects.ops
    from txc.dialects.registry import find_op
    assert find_op("exp").family == "map"
"""
STAGED = """
    import numpy as np, txc
    @txc.jit
    def f(x, n):
        for i in range(n):
            if x.sum() > 0:
                x = np.exp(x) - x.max(axis=1, keepdims=True)
        return x
    assert len(f.graph(np.ones((3, 4)), 5).outputs) == 1
"""
LAZY = """
    import numpy as np, txc
    y = (txc.asarray(np.ones((3, 4))) + 1).sum(axis=0)
    assert y.shape == (4,)
"""
TX = """
    import txc
    module = txc.compile_source("def f(x: f32[n, m]) -> f32[n]:\\n    return x.max(axis=1)")
    assert module.f.graph.name == "f"
"""


@pytest.mark.parametrize(
    "program", [IMPORT, REGISTRY, STAGED, LAZY, TX], ids=["import", "registry", "jit", "lazy", "tx"]
)
def test_nothing_of_the_compiler_is_loaded_before_it_compiles(program):
    assert _heavy(_loaded(program)) == []


def test_the_check_sees_what_compiling_loads():
    loaded = _loaded(STAGED + "    f(np.ones((3, 4)), 5)")
    assert {"xdsl", "llvmlite", "txc.passes", "txc.compiler.lowering"} <= set(_heavy(loaded))
    assert not {"dask", "xarray", "txc.compiler.chunks"} & loaded  # which calls with arrays of theirs load


def test_importing_txc_imports_nothing_else_of_it():
    assert [m for m in _loaded(IMPORT) if m.startswith("txc.") or m == "numpy"] == []


def test_the_front_end_loads_no_library_before_it_is_needed():
    """Each of these takes longer to import than most of txc's modules together."""
    late = {"hashlib", "ml_dtypes", "concurrent.futures", "logging", "fractions", "decimal", "difflib", "pathlib"}
    assert not late & (_loaded("import txc; txc.jit; txc.Tensor") - _loaded("import numpy"))


def test_bfloat16_is_known_before_and_after_its_library_is_loaded():
    program = """
        import sys
        from txc.dialects.types import DTYPES, dtype
        assert dtype("bfloat16") is dtype("bf16") is DTYPES["bf16"] and "ml_dtypes" not in sys.modules
        import ml_dtypes, numpy as np
        assert dtype(ml_dtypes.bfloat16) is dtype(np.dtype("bfloat16")) is DTYPES["bf16"]
        assert DTYPES["bf16"].numpy == np.dtype(ml_dtypes.bfloat16)
    """
    assert "ml_dtypes" in _loaded(program)


def test_functions_that_are_ops_need_no_family_of_numpys():
    """Staging calls of ufuncs imports none of the modules that say what NumPy's other functions mean."""
    families = {m for m in _loaded(STAGED) if m.startswith("txc.compiler.frontend.numpy.functions.")}
    assert not {m.rpartition(".")[2] for m in families} & {"all", "factorizations", "sets", "moments"}


def test_scipy_and_ml_libraries_are_not_loaded():
    heavy = {"scipy", "torch", "jax", "rich", "pycuda"}
    assert not heavy & _loaded(IMPORT)


def _imports(path: Path) -> list[str]:
    """Absolute names of the modules that a file of the package imports, wherever in the file."""
    package = ["txc", *path.relative_to(ROOT).parent.parts]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            found += [name, *(f"{name}.{a.name}" for a in node.names)]
    return found


#: Which folders may not import which, in functions or for annotations either: `runtime` stands alone, `dialects` knows
#: nothing of what is done with it, passes nothing of the compiler, and a back end nothing of passes or front ends.
FORBIDDEN = {
    "runtime": ("txc.compiler", "txc.dialects", "txc.passes", "xdsl"),
    "dialects": ("txc.compiler", "txc.passes", "txc.runtime", "llvmlite"),
    "dialects/ops": ("xdsl", "txc.compiler"),
    "passes": ("llvmlite", "txc.runtime", "txc.compiler"),
    "compiler/codegen": (
        "txc.passes",
        "txc.compiler.frontend",
        "txc.compiler.driver",
        "txc.compiler.pipeline",
        "txc.compiler.lowering",
        "txc.compiler.cli",
        "txc.compiler.tools",
        "txc.compiler.cache",
        "txc.compiler.interpret",
    ),
    "compiler/frontend": (
        "xdsl",
        "llvmlite",
        "txc.passes",
        "txc.compiler.codegen",
        "txc.compiler.pipeline",
        "txc.compiler.lowering",
        "txc.compiler.cli",
        "txc.compiler.tools",
        "txc.compiler.aot",
        "txc.compiler.gpu",
    ),
    "compiler/chunks": ("xdsl", "llvmlite", "txc.passes", "txc.compiler.codegen", "txc.compiler.cli"),
}


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_folders_import_only_downwards(folder):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in _imports(path)
        if any(name == f or name.startswith(f + ".") for f in FORBIDDEN[folder])
    ]
    assert wrong == []


def _module(path: Path) -> str:
    name = ".".join(["txc", *path.relative_to(ROOT).with_suffix("").parts])
    return name.removesuffix(".__init__")


def _needed(path: Path) -> set[str]:
    """What a file imports when it runs, at its top or inside functions; not for annotations alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    package = ["txc", *path.relative_to(ROOT).parent.parts]
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            found |= {name, *(f"{name}.{a.name}" for a in node.names)}
    return found


def _circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that need each other, in order; empty where none do."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph[name]):
            found = walk(other, [*path, name])
            if found:
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := walk(name, []))), [])


PRODUCT = ("compiler", "dialects", "passes", "runtime")


def _graph(*folders: str) -> dict[str, set[str]]:
    files = {_module(path): path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))}
    # A package whose modules are asked for is there already.
    return {
        name: {m for m in _needed(path) if m in files and m != name and not name.startswith(m + ".")}
        for name, path in files.items()
    }


def test_there_is_no_circle_of_imports() -> None:
    """In the whole product, deferred imports included: they load late what few programs need, and hide nothing."""
    graph = _graph(*PRODUCT)
    assert len(graph) > 600
    assert _circle(graph) == []


def test_a_circle_of_imports_would_be_seen():
    assert _circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


#: The files that import modules of txc in functions, all for start-up: `import txc`, the first call and a call whose
#: code is kept load what they need and no more.
DEFERRED = {
    "compiler/aot/c_function.py",
    "compiler/cache/disk_cache.py",
    "compiler/call/facts.py",
    "compiler/chunks/block_order.py",
    "compiler/cli/export.py",
    "compiler/cli/main.py",
    "compiler/codegen/emit/module.py",
    "compiler/codegen/target/llvm_backend.py",
    "compiler/config/devices.py",
    "compiler/config/user_schedule.py",
    "compiler/driver/compile_cache.py",
    "compiler/driver/executable.py",
    "compiler/driver/temp_limit.py",
    "compiler/frontend/methods_table.py",
    "compiler/instrumentation.py",
    "compiler/on_demand.py",
    "compiler/pipeline.py",
    "passes/schedule/cpu/schedule.py",
    "passes/schedule/gpu/schedule.py",
    "runtime/ahead.py",
    "runtime/gpu/device_array.py",
    "runtime/loader/code_cache.py",
    "runtime/loader/loader.py",
    "runtime/native_function.py",
    "runtime/stub/native_call.py",
}


def _imports_in_functions(tree: ast.Module) -> bool:
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return any(isinstance(n, ast.ImportFrom) and n.level for f in functions for n in ast.walk(f))


def test_few_files_import_in_functions() -> None:
    paths = [path for folder in PRODUCT for path in sorted((ROOT / folder).rglob("*.py"))]
    found = {str(p.relative_to(ROOT)) for p in paths if _imports_in_functions(ast.parse(p.read_text("utf-8")))}
    assert found == DEFERRED


def _depths(trees: list[ast.Module]) -> dict[str, int]:
    """How deep the classes of some modules are, by name: one more than the deepest of theirs that they inherit from."""
    bases = {
        node.name: [b.id for b in node.bases if isinstance(b, ast.Name)]
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }

    def depth(name: str) -> int:
        return 1 + max((depth(b) for b in bases[name] if b in bases), default=0)

    return {name: depth(name) for name in bases}


def _stubs(tree: ast.Module) -> list[int]:
    """The lines that raise NotImplementedError."""
    return [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "NotImplementedError"]


def test_emitters_are_composed_of_parts():
    """No class of the back ends is deeper than two, and none leaves a method to those that inherit from it."""
    trees = {p: ast.parse(p.read_text(encoding="utf-8")) for p in sorted((ROOT / "compiler/codegen").rglob("*.py"))}
    depths = _depths(list(trees.values()))
    assert {"FunctionEmitter", "CpuFunction", "GpuKernel"} <= depths.keys()
    assert {name: depth for name, depth in depths.items() if depth > 2} == {}
    assert {str(path): _stubs(tree) for path, tree in trees.items() if _stubs(tree)} == {}


def test_a_tower_of_classes_would_be_seen():
    tree = ast.parse("class A:\n    def f(self): raise NotImplementedError\nclass B(A): pass\nclass C(B): pass")
    assert _depths([tree]) == {"A": 1, "B": 2, "C": 3}
    assert _stubs(tree) == [2]


def test_the_runtime_stands_alone_when_it_runs():
    # `import txc` itself is the front door and imports the front end: give the runtime an empty parent instead.
    loaded = _loaded("""
        import sys, types, importlib.util
        found = importlib.util.find_spec("txc")
        package = types.ModuleType("txc")
        package.__path__ = list(found.submodule_search_locations)
        sys.modules["txc"] = package
        import txc.runtime.native_function, txc.runtime.pool.pool
    """)
    assert "txc.runtime.native_function" in loaded
    assert [m for m in loaded if m.startswith(("txc.compiler", "txc.dialects", "txc.passes", "xdsl"))] == []


@pytest.mark.parametrize("folder", ["compiler", "dialects", "passes", "runtime"])
def test_top_level_folders_are_not_packages_of_their_own(folder):
    done = subprocess.run(
        [sys.executable, "-c", f"import {folder}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert f"ImportError: import this package as txc.{folder}, not as {folder}" in done.stderr
