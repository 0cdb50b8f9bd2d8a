"""Hand-written IR text and its parser; no test but those of the cache sees what other processes kept."""

import os

# Before NumPy is imported: its BLAS starts a thread for each processor, which spins when there is nothing to do, and
# that is nearly half the time of an import.  Processors have other tests to run.  Subprocesses inherit it.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import gc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdsl.context import Context
from xdsl.dialects import arith, builtin, complex, func, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.parser import Parser

from txc.dialects import ops as _registered  # noqa: F401  (bodies call ops by name)
from txc.dialects.attributes import DimAttr, DimsAttr, DTypeAttr, MapAttr, OrderAttr
from txc.dialects.kernel import KERNEL
from txc.dialects.loop import LOOP

from .codegen.ptxas import ptxas
from .fast import FAST
from .quick_code import choose_code

HERE = Path(__file__).parent

# No test is timed: a machine may be slow, or busy.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# Here, before any test module is imported, so that subprocesses inherit it too.
os.environ["TXC_CACHE_DIR"] = "0"

# Compiling leaves cyclic garbage by the thousand, which is looked for when a file of tests is over.
gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session")
def parse() -> Callable[[str], ModuleOp]:
    """``parse(text)``: a verified module."""
    context = Context()
    attributes = Dialect("tx", [], [DimAttr, DimsAttr, DTypeAttr, MapAttr, OrderAttr])
    for dialect in (builtin.Builtin, func.Func, arith.Arith, complex.Complex, math.Math, KERNEL, LOOP, attributes):
        context.load_dialect(dialect)

    def parse(text: str) -> ModuleOp:
        module = Parser(context, text).parse_module()
        module.verify()
        return module

    return parse


@pytest.fixture(autouse=True)
def code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that is made fast, where a test is not about machine code."""
    choose_code(request.path.relative_to(HERE), request, monkeypatch)


def pytest_report_header() -> str:
    """Whether PTX is assembled as well as simulated."""
    found = ptxas()
    return f"PTX is assembled by {found}" if found else "PTX is simulated only: no ptxas found"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """For the fast tests alone, files without any are not even read."""
    if config.option.markexpr != "fast" or not collection_path.name.startswith("test_"):
        return None
    return True if _name(collection_path) not in FAST else None


def _name(path: Path) -> str:
    """A file as `FAST` has it."""
    return path.relative_to(HERE).as_posix()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests for a real GPU run where they are asked for: ``pytest -m gpu``; those of `fast.py` are marked."""
    _mark_fast(config, items)
    if "gpu" in config.option.markexpr:
        return
    left_out = [item for item in items if item.get_closest_marker("gpu") is not None]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.get_closest_marker("gpu") is None]


def _mark_fast(config: pytest.Config, items: list[pytest.Item]) -> None:
    unknown = {(file, test) for file, tests in FAST.items() for test in tests or ("",)}
    for item in items:
        file = _name(item.path)
        chosen = FAST.get(file)
        if chosen is None or item.get_closest_marker("gpu") is not None:
            continue
        names = {item.name, item.name.partition("[")[0]} & set(chosen) if chosen else {""}
        if names:
            item.add_marker("fast")
            unknown -= {(file, name) for name in names}
    whole = [config.invocation_params.dir / given for given in config.args] == [HERE]
    if config.option.markexpr == "fast" and whole and unknown:
        raise pytest.UsageError(f"tests/fast.py names what there is not: {sorted(unknown)}")


def pytest_collection_finish() -> None:
    """Garbage collections, for which many tests ask, leave alone the half million objects that are the tests."""
    gc.collect()
    gc.freeze()


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Nor do they look again at what tests of other files left: at the end of the suite that took ten seconds each."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say why there is no GPU to test with."""
    if item.get_closest_marker("gpu") is not None:
        from txc.runtime.gpu.cuda import find_devices

        found, reason = find_devices()
        if not found:
            pytest.skip(reason)
