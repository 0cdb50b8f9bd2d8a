"""``txc.export`` and ``tensor-compile --emit=obj|so|header``: files, names, and every error by its text."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import txc
from txc.compiler.aot.c_signature import ExportError
from txc.compiler.aot.export import export_graph
from txc.compiler.cli.main import main
from txc.compiler.codegen.emit.text import EmitError
from txc.compiler.codegen.target.llvm_backend import load_object
from txc.compiler.codegen.target.names import named_target
from txc.compiler.frontend.staging.annotations import declared_graph

from .examples import EXAMPLES
from .harness import Machine, call_from_c, same_bits

SOFTMAX = EXAMPLES / "softmax.tx"
SCALE = np.float32(3)
TABLE = np.arange(4, dtype=np.float32)
WEIGHTS = np.asfortranarray(np.random.default_rng(8).standard_normal((3, 4)).astype(np.float32))


@txc.jit
def normalised(x, beta, axis=1):
    """Rows that sum to `beta`."""
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return SCALE * beta * e / e.sum(axis=axis, keepdims=True)


@txc.jit
def looked_up(x):
    return (x + TABLE) @ WEIGHTS.T


@txc.jit
def noted(x):
    TABLE[0] = x[0]
    return x


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-m", "txc.compiler.cli.main", *map(str, arguments)]
    done = subprocess.run(given, capture_output=True, text=True, timeout=120, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_a_jitted_function_for_declared_types(tmp_path: Path):
    machine = Machine().require()
    graph = declared_graph(normalised.__wrapped__, "x: f32[n, m], beta: f32")
    made = export_graph(graph, named_target(), doc="")
    x = np.random.default_rng(0).standard_normal((5, 9)).astype(np.float32)
    (got,) = call_from_c(made, (x, np.float32(2)), tmp_path, machine)
    assert same_bits(got, normalised(x, np.float32(2)))


def test_captured_arrays_are_in_the_object(tmp_path: Path):
    machine = Machine().require()
    made = export_graph(declared_graph(looked_up.__wrapped__, "x: f32[n, m]"), named_target())
    assert "x: float[n][4]" in made.header and "int64_t m" not in made.header
    x = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    (got,) = call_from_c(made, (x,), tmp_path, machine)
    assert same_bits(got, looked_up(x))


def test_export_writes_an_object_and_its_header(tmp_path: Path):
    written = txc.export(normalised, tmp_path / "n", "x: f32[n, m], beta: f32", emit="obj", symbol="rows")
    assert written == [tmp_path / "n.o", tmp_path / "n.h"]
    assert "Rows that sum to `beta`." in written[1].read_text() and "int rows(const float" in written[1].read_text()
    assert txc.export(txc.load(SOFTMAX).softmax, tmp_path / "s.h", emit="header") == [tmp_path / "s.h"]
    assert not (tmp_path / "s.o").exists()


@pytest.mark.parametrize(
    ("function", "signature", "options", "text"),
    [
        (normalised, None, {}, "normalised has no types: an exported function serves one signature"),
        (normalised, "x: f32[n, m]", {}, "the signature says nothing of 'beta'"),
        (normalised, "x: f32[n, m], beta: f32, gamma: f32", {}, "normalised has no parameter 'gamma'"),
        (normalised, "x f32", {}, "'x f32' is no signature"),
        (normalised, "x: f32[n, m], beta: f33", {}, "there is no element type 'f33'"),
        (noted, "x: f32[n]", {}, "the function writes captured0, an array of the surrounding program"),
        (looked_up, "x: f32[n, 5]", {}, "sizes 5 and 4 are not equal"),
        (np.exp, None, {}, "a ufunc cannot be exported"),
        (normalised, "x: f32[n, m], beta: f32", {"emit": "dll"}, "there is no form 'dll' to export"),
        (normalised, "x: f32[n, m], beta: f32", {"target": "sparc"}, "there is no target 'sparc'"),
        (normalised, "x: f32[n, m], beta: f32", {"symbol": "for"}, "'for' means something else in C"),
    ],
)
def test_wrong_exports_are_explained(function, signature, options, text, tmp_path: Path):
    with pytest.raises(ValueError) as caught:
        txc.export(function, tmp_path / "x", signature, **{"emit": "obj", **options})
    assert text in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_raises_as_data_decides_is_not_exported(tmp_path: Path):
    @txc.jit
    def root(x):
        assert x[0] > 0
        x[0] = np.sqrt(x[0])
        return x[0]

    with pytest.raises(ExportError, match="root raises errors, as its data decide, and code that C calls raises none"):
        txc.export(root, tmp_path / "x", "x: f64[n]")


def test_an_int_beyond_64_bits_is_a_condition_that_fails():
    """The condition is asked of the int, not of what 64 bits make of it."""

    def scaled(x, k, j):
        return x * (k * k - 3 * j)

    made = export_graph(declared_graph(scaled, "x: f64[n], k: i64, j: i64"), named_target())
    loaded = load_object(made.object, ["scaled"])
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    kinds = [pointer, number, number, pointer, number, pointer, pointer]
    called = ctypes.CFUNCTYPE(ctypes.c_int, *kinds)(loaded.addresses["scaled"])
    x, out = np.ones(1), np.zeros(1)
    for k, j in [(3, 1), (3037000499, 0), (3037000500, 0), (2**32, 0), (-(2**63), 0), (0, 2**61), (0, -(2**62))]:
        exact = k * k - 3 * j
        fits = -(2**63) <= exact < 2**63
        status = called(x.ctypes.data, k, j, out.ctypes.data, 1, None, None)
        assert (status == 0) is fits
        assert not fits or out[0] == float(exact)


def test_types_of_a_tx_function_are_its_own(tmp_path: Path):
    with pytest.raises(ExportError, match=r"softmax has its types from its \.tx file"):
        txc.export(txc.load(SOFTMAX).softmax, tmp_path / "x", "x: f32[n, m]")


def test_the_command_writes_what_c_needs(tmp_path: Path):
    done = command(SOFTMAX, "--emit=obj", "-o", tmp_path / "softmax", "--symbol", "rows")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(tmp_path / "softmax.o"), str(tmp_path / "softmax.h")]
    assert b"rows_workspace\0" in (tmp_path / "softmax.o").read_bytes()
    header = command(SOFTMAX, "--emit=header", "--symbol", "rows").stdout
    assert header == (tmp_path / "softmax.h").read_text()
    assert command(SOFTMAX, "--emit=loops", "-o", tmp_path / "loops.mlir").returncode == 0
    assert "loop.parallel" in (tmp_path / "loops.mlir").read_text()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--emit=so"], "--emit=so writes a file, and a header beside it"),
        (["--emit=obj", "--stop-after=fused"], "--emit=obj comes after --stop-after=fused"),
        (["--emit=loops", "--symbol=f"], "--symbol is for what C calls"),
        (["--target=aarch64"], "--target says how to emit, and there is no --emit"),
        (["-o", "x"], "--output says how to emit, and there is no --emit"),
        (["--emit=heder"], "there is no stage 'heder'; did you mean 'header'?"),
        (["--emit=obj", "--target=wasm"], "there is no target 'wasm'; did you mean wasm32?"),
        (["--emit=obj", "--target=x86-64-v3", "--cpu=zen"], "--cpu is not for x86-64-v3, which names its processors"),
        (["--emit=obj", "--target=x86-64-v3+v2"], "levels are written once each, the lowest first"),
        (["--emit=obj", "--target=x86-64-v2+avx"], "'x86-64-avx' is no x86-64 level"),
        (["--emit=llvm", "--target=x86-64-v2+v3"], "--emit=llvm shows code for one target"),
        (["--emit=obj", "--symbol=9"], "'9' is no name of a C function"),
        (["--emit=obj", "-o", "/nowhere/x"], "cannot write /nowhere/x.o: No such file or directory"),
        (["--emit=loops", "-o", "/nowhere/x"], "cannot write /nowhere/x: No such file or directory"),
        (["--emit=ptx", "--target=aarch64"], "--emit=ptx is for the target nvptx64, not aarch64"),
        (["--emit=obj", "--target=nvptx64"], "C calls no code of nvptx64 (sm_90a)"),
        (["--emit=so", "--target=wasm32", "-o", "x"], "wasm32 has no shared libraries"),
        (["--emit=asm", "--target=aarch64", "--cpu=m0"], "LLVM does not know a part of aarch64-unknown-linux-gnu (m0)"),
        (["--emit=asm", "--target=aarch64", "--cpu=a,b"], "a processor of aarch64 is named by letters and digits"),
        (["--emit=asm", "--target=nvptx64", "--cpu=m0"], "no GPU 'm0'"),
    ],
)
def test_wrong_options_are_explained(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]):
    assert main([str(SOFTMAX), *arguments]) == 1
    assert text in capsys.readouterr().err


def test_a_function_that_becomes_no_ptx(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def refuse(module: object) -> None:
        raise EmitError("loop.load outside of a kernel: the host touches no elements")

    monkeypatch.setattr("txc.compiler.gpu.outline.outline", refuse)
    assert main([str(SOFTMAX), "--emit=ptx"]) == 1
    said = capsys.readouterr().err
    assert "no PTX of softmax: loop.load outside of a kernel" in said
    assert "docs/reference/operations.md says which" in said


def test_ptx_of_loops_has_the_plan_that_launches_its_kernels(capsys: pytest.CaptureFixture[str]):
    assert main([str(SOFTMAX), "--emit=ptx"]) == 0
    text = capsys.readouterr().out
    kernel = re.search(r"\.visible \.entry (softmax_k\d+)\(", text)
    assert kernel is not None and f"launch {kernel[1]} with" in text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--emit=ptx"], ".target sm_90a"),
        (["--emit=ptx", "--cpu=sm_80"], ".target sm_80"),
        (["--emit=asm", "--target=riscv64"], "fadd.s"),
        (["--emit=asm", "--target=aarch64", "--cpu=neoverse-n1"], "fadd\ts"),
        (["--emit=asm", "--target=wasm32"], "f32.add"),
        (["--emit=asm", "--target=x86-64-v2"], "addss"),
        (["--emit=asm", "--target=x86-64-v3"], "vaddss"),
        (["--emit=llvm", "--target=riscv64"], 'target triple = "riscv64-unknown-linux-gnu"'),
    ],
)
def test_assembly_for_a_target(arguments: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "f.tx").write_text("def f(x: f32) -> f32:\n    return x + 1\n")
    assert main([str(tmp_path / "f.tx"), *arguments]) == 0
    assert text in capsys.readouterr().out


@pytest.mark.parametrize("target", ["native", "aarch64"])
def test_ziglang_links_where_there_is_no_c_compiler(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("ziglang")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    library, _ = txc.export(txc.load(SOFTMAX).softmax, tmp_path / "s", target=target)
    assert {"softmax", "softmax_workspace"} <= _exported_names(library)


def _exported_names(library: Path) -> set[str]:
    """Names in the tables of strings of a shared library."""
    return {word.decode(errors="replace") for word in library.read_bytes().split(b"\0")}


def test_a_linker_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TXC_CC", "false")
    with pytest.raises(ExportError, match=r"false could not link x\.so"):
        txc.export(txc.load(SOFTMAX).softmax, tmp_path / "x")
    monkeypatch.setenv("TXC_CC", "no-such-compiler")
    with pytest.raises(ExportError, match="cannot run no-such-compiler"):
        txc.export(txc.load(SOFTMAX).softmax, tmp_path / "x")
    monkeypatch.delenv("TXC_CC")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ExportError, match="nothing here links a shared library for"):
        txc.export(txc.load(SOFTMAX).softmax, tmp_path / "x")
