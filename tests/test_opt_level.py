"""``opt_level=0``: code that is made fast has the bits of fast code, and who asks for it gets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler import pipeline
from txc.compiler.cache.disk_cache import code_key
from txc.compiler.codegen.target.llvm_backend import emit_asm, make_target
from txc.compiler.config import knobs
from txc.compiler.config.options import OptionError, Options

from .test_cli import compile_

RNG = np.random.default_rng(5)
F64 = RNG.standard_normal((70, 333))
F32 = RNG.standard_normal((3000, 40)).astype(np.float32)
Z = RNG.standard_normal((59, 9)) + 1j * RNG.standard_normal((59, 9))


def reductions(x: Any, y: Any) -> Any:
    # 3000 rows of f32 are more than L2 holds in no machine, and more than a block of the order.
    return x.sum(0), x.sum(1), x.sum(), x.var(0), y.sum(0), y.mean(), y.max(1), y.argmin(0), y.T.sum(0), y[::3].sum(1)


def softmax_and_attention(x: Any, q: Any, k: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    scores = q @ k.T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True), (weights / weights.sum(1, keepdims=True)) @ k


def products(a: Any, b: Any, long: Any, i: Any) -> Any:
    return a @ b, b.T @ a.T, a @ b[:, 0], a[0] @ b, long @ long.T, i @ i.T, np.einsum("ij,kj->ik", a, a)


def transforms(z: Any, x: Any) -> Any:
    # 59 is a prime whose transforms along rows and down columns go in ways of their own; so do 333 and 37.
    return np.fft.fft(z, axis=0), np.fft.fft(z.T), np.fft.irfft2(np.fft.rfft2(x)), np.fft.fft(x[:37], axis=0)


def sorted_and_scanned(x: Any, y: Any) -> Any:
    order = np.argsort(x, axis=1, kind="stable")
    return np.sort(x, axis=1), np.sort(y, axis=0), order, np.median(x), np.cumsum(x, axis=1), y.cumsum(0)


def convolved(x: Any, kernel: Any) -> Any:
    return np.convolve(x, kernel), np.correlate(x, kernel), np.where(x > 0, np.sqrt(np.abs(x)), np.sin(x) / (x - 3))


def stored(u: Any, where: Any) -> Any:
    for _ in range(3):
        u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    y = np.zeros_like(u[0])
    for i in range(1, len(y)):
        y[i] = y[i - 1] * 0.5 + u[3, i]
    return u, y, np.bincount(where, weights=u[0], minlength=9), u[u > 1]


def small_matrices(a: Any, b: Any) -> Any:
    symmetric = a @ a.transpose(0, 2, 1) + 9 * np.eye(4)
    return np.linalg.solve(a, b), np.linalg.cholesky(symmetric), np.linalg.det(a), np.linalg.eigh(symmetric[0])[0]


PROGRAMS: tuple[tuple[Any, ...], ...] = (
    (reductions, F64, F32),
    (softmax_and_attention, F64, F32[:90, :8], F32[100:220, :8]),
    (products, F64, F64.T[:, :29].copy(), F32.T[:, :1100], (F64[:9] * 9).astype(np.int64)),
    (transforms, Z, F64),
    (sorted_and_scanned, F64, F32),
    (convolved, F64.ravel()[:2000], F64[1, :9]),
    (stored, F64, RNG.integers(0, 9, 333)),
    (small_matrices, RNG.standard_normal((40, 4, 4)), RNG.standard_normal((40, 4, 2))),
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0].__name__)
def test_bits_are_those_of_the_usual_level(program: tuple[Any, ...]) -> None:
    function, *arguments = program
    usual, plain = ([a.copy() for a in arguments] for _ in range(2))
    want, got = txc.jit(function)(*usual), txc.jit(function, opt_level=0)(*plain)
    for a, b in zip((*want, *usual), (*got, *plain), strict=True):
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        assert np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def test_the_environment_asks_for_it_and_the_program_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[int] = []
    compile_llvm = pipeline.compile_llvm

    def noted(text: str, target: Any, opt_level: int) -> bytes:
        levels.append(opt_level)
        return compile_llvm(text, target, opt_level)

    monkeypatch.setattr(pipeline, "compile_llvm", noted)
    x = np.arange(5.0)
    txc.jit(lambda x: x + 3)(x)
    monkeypatch.setenv("TXC_OPT_LEVEL", "0")
    plain = txc.jit(lambda x: x + 3)
    assert "opt_level 0: plain loops" in plain.explain(x)
    plain(x)
    np.asarray(txc.asarray(x) + 4)
    usual = plain.options(opt_level=2)
    usual(x)  # the code of the first call
    assert "opt_level 0" not in usual.explain(x)
    assert levels == [2, 0, 0, 0, 2]
    monkeypatch.setenv("TXC_OPT_LEVEL", "1")
    with pytest.raises(knobs.KnobError, match="TXC_OPT_LEVEL='1': it takes 0 or 2"):
        txc.jit(lambda x: x)


def test_levels_that_there_are_not_are_errors() -> None:
    for wrong in (1, False, "0", None):
        with pytest.raises(OptionError, match=f"opt_level must be 0 or 2, not {wrong!r}"):
            txc.jit(opt_level=wrong)
    with pytest.raises(OptionError, match="opt_level=0 of 'ptx-sim': it is a level of code for the CPU"):
        txc.jit(opt_level=0, device="ptx-sim")
    with pytest.raises(OptionError, match="autotune=True at opt_level=0: the search is one for the fastest code"):
        txc.jit(opt_level=0, autotune=True)


def test_code_of_the_levels_is_kept_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path / "cache"))
    graph = txc.jit(lambda x: x + 1).graph(np.zeros(3))
    usual, plain = (code_key(graph, [("packed",)], Options.of(opt_level=level)) for level in (2, 0))
    assert usual is not None and plain is not None
    assert usual.name != plain.name


def test_gpus_code_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = txc.jit(lambda x: x * 2 + x.sum(), device="ptx-sim"), np.ones(7, np.float32)
    want = f.lower(x).as_text("ptx")
    monkeypatch.setenv("TXC_OPT_LEVEL", "0")
    assert txc.jit(f, device="ptx-sim").lower(x).as_text("ptx") == want


def test_other_targets_have_it() -> None:
    twice = "  %a = mul i32 %x, %x\n  %b = mul i32 %x, %x\n  %c = add i32 %a, %b\n"
    text, target = f"define i32 @f(i32 %x) {{\n{twice}  ret i32 %c\n}}", make_target("aarch64-unknown-linux-gnu")
    assert [emit_asm(text, target, level).count("\tmul\t") for level in (0, 2)] == [2, 1]
    assert emit_asm(text, target) == emit_asm(text, target, 2)


def test_the_command_line_has_it(tmp_path: Path) -> None:
    program = tmp_path / "program.tx"
    program.write_text("def f(x: f32[n, m], w: f32[m, k]) -> f32[n, k]:\n    return exp(x @ w)\n")
    loops = {level: compile_(program, "--emit=loops", "--target=x86-64-v4", level).stdout for level in ("-O0", "-O2")}
    assert " vector " in loops["-O2"] and "loop.alloc" in loops["-O2"]
    assert "loop.reduce" in loops["-O0"] and " vector " not in loops["-O0"] and "loop.alloc" not in loops["-O0"]
    made = [tmp_path / f"y{level}.npy" for level in (0, 2)]
    for level, output in zip((0, 2), made):
        inputs = "--input", "x=random:f32[9,70]", "--input", "w=random:f32[70,20]"
        assert compile_("run", program, *inputs, f"-O{level}", "-o", output).returncode == 0
    assert made[0].read_bytes() == made[1].read_bytes()
    assert "invalid choice: 1" in compile_(program, "-O1").stderr
    refused = compile_(program, "--emit=ptx", "-O0")
    assert refused.returncode == 1
    assert refused.stderr == "error: -O0 is a level of code for CPUs, not for nvptx64 (sm_90a)\n"
