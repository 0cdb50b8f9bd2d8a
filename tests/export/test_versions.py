"""Objects with code for several x86-64 levels: which one runs on which processor, as an emulator shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from txc.compiler.codegen.target.llvm_backend import host_target, libcalls

from .examples import case
from .harness import Machine, call_from_c, exported, reference, same_bits

#: A contraction: its bits tell a version with FMA from one without.
NAME = "mlp.layer"
PROCESSORS = {"core2duo": "x86-64", "Nehalem": "x86-64-v2", "Haswell": "x86-64-v3"}

pytestmark = pytest.mark.skipif(not host_target().is_x86, reason="the levels are x86-64's")


def emulated(processor: str) -> Machine:
    return Machine(runner=("qemu-x86_64", "-cpu", processor), flags=("-static",)).require()


@pytest.mark.parametrize("processor", PROCESSORS)
def test_the_best_version_that_runs_is_taken(processor: str, tmp_path: Path):
    function, arguments = case(NAME)
    made = exported(function, "x86-64+v2+v3+v4")
    assert libcalls(made.object) == set()
    (got,) = call_from_c(made, arguments, tmp_path, emulated(processor))
    (alone,) = call_from_c(exported(function, PROCESSORS[processor]), arguments, tmp_path, emulated(processor))
    assert same_bits(got, alone)
    with_fma = call_from_c(exported(function, "x86-64-v3"), arguments, tmp_path, emulated("Haswell"))
    assert same_bits(got, with_fma[0]) == (processor == "Haswell")


def test_here(tmp_path: Path):
    function, arguments = case(NAME)
    (got,) = call_from_c(exported(function, "x86-64+v2+v3+v4"), arguments, tmp_path, Machine().require())
    assert same_bits(got, reference(function, arguments)[0])


def test_c_looks_at_no_checks_of_indices(monkeypatch: pytest.MonkeyPatch):
    function, _ = case(NAME)
    made = exported(function, "x86-64-v3")
    monkeypatch.setenv("TXC_CHECK_BOUNDS", "1")
    assert exported(function, "x86-64-v3").object == made.object


def test_a_processor_that_no_version_is_for(tmp_path: Path):
    function, arguments = case(NAME)
    with pytest.raises(AssertionError, match="layer ended with 103"):
        call_from_c(exported(function, "x86-64-v2+v3"), arguments, tmp_path, emulated("core2duo"))
