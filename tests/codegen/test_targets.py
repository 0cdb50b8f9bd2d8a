"""Other targets: older x86 levels run here, others are assembled; wrong names and kinds are errors, not crashes."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import func

import txc
from txc.compiler.codegen.emit.module import emit_llvm
from txc.compiler.codegen.emit.text import EmitError
from txc.compiler.codegen.target import llvm_backend
from txc.compiler.codegen.target.llvm_backend import (
    TargetError,
    compile_llvm,
    host_target,
    load_object,
    make_target,
)
from txc.compiler.codegen.target.target import Target
from txc.compiler.config import knobs
from txc.compiler.pipeline import machine_of
from txc.dialects.order import parse_order
from txc.passes.cost.model import Machine

from .harness import function, load, loop, ordered_sum, parallel, parse, reduce, run, same_bits, store

F32 = "f32[n] by [1]"
TABLE = "f32[n, m] by [m, 1]"


def square(kind: str = '"cpu_thread"') -> str:
    body = load("x", 0, F32, "i") + "%y = arith.mulf %x, %x : f32\n" + store("y", 1, F32, "i")
    return function([F32, F32], parallel("i", "0", "n", body).replace('"cpu_thread"', kind))


def row_sums(kind: str, order: str = "tree<64, 16>") -> str:
    row = reduce("r", "k", "m", load("x", 0, TABLE, "i, k"), "%x", "%s = arith.addf %a0, %b0 : f32", "%s",
                 types=["f32"], order=order, identity=["-0.0 : f32"], vector=4)  # fmt: skip
    return function(
        [TABLE, F32], parallel("i", "0", "n", row + store("r", 1, F32, "i")).replace("cpu_thread", kind), "n, m"
    )


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "x86-64-v3"])
@pytest.mark.skipif(not host_target().is_x86, reason="the levels are x86's")
def test_levels_of_x86_give_the_same_bits(cpu: str) -> None:
    target = make_target(cpu=cpu)
    text = row_sums("cpu_thread")
    for m in (0, 5, 16, 70, 200):
        x, out = np.random.default_rng(m).uniform(-1, 1, (3, m)).astype(np.float32), np.zeros(3, np.float32)
        run(text, [x, out], [3, m], target=target)
        assert same_bits(out, np.array([ordered_sum(r, parse_order("tree<64, 16>")) for r in x], np.float32))


@pytest.mark.parametrize("vector", [4, 16])
@pytest.mark.skipif(not host_target().is_x86, reason="the levels are x86's")
def test_lanes_without_masks(vector: int) -> None:
    body = load("x", 0, F32, "i - 2", "i - 2") + "%y = arith.addf %x, %x : f32\n" + store("y", 1, F32, "i")
    text = function([F32, F32], loop("i", "0", "n", body, vector, 2))
    for n in (0, 3, 16, 45):
        x, y = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
        run(text, [x, y], [n], target=make_target(cpu="x86-64"))
        assert same_bits(y, np.pad(2 * x, (2, 0))[:n])


@pytest.mark.skipif(not host_target().is_x86, reason="the levels are x86's")
def test_a_knob_names_a_lower_level_for_this_machines_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TXC_TARGET", "x86-64-v2")
    assert host_target() == llvm_backend.host_with_amx() == make_target(cpu="x86-64-v2") == make_target(cpu="native")
    assert machine_of(host_target()) == Machine.of_cpu(128, 16)
    f = txc.jit(lambda x: np.sqrt(x) + 1)
    x = np.arange(40, dtype=np.float32)
    assert same_bits(f(x), np.sqrt(x) + 1)
    assert '"target-cpu"="x86-64-v2"' in f.lower(x).as_text("llvm")
    assert "xmm" in f.lower(x).as_text("asm") and "ymm" not in f.lower(x).as_text("asm")
    assert "x86-64-v2" in txc.info().target
    monkeypatch.setenv("TXC_TARGET", "native")
    assert host_target() == llvm_backend.native_target()


def test_a_level_that_the_processor_does_not_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    triple = "x86_64-unknown-linux-gnu"
    third = make_target(triple, "x86-64-v3")
    monkeypatch.setattr(llvm_backend, "native_target", lambda: Target(triple, "haswell", third.features))
    monkeypatch.setenv("TXC_TARGET", "x86-64-v4")
    with pytest.raises(TargetError) as raised:
        host_target()
    assert str(raised.value) == (
        "TXC_TARGET=x86-64-v4: this processor has no avx512f, avx512bw, avx512cd, avx512dq, avx512vl; the highest "
        "level that it has is x86-64-v3"
    )
    monkeypatch.setenv("TXC_TARGET", "x86-64-v3")
    assert host_target() == third
    monkeypatch.setattr(llvm_backend, "native_target", lambda: Target("aarch64-unknown-linux-gnu", "generic"))
    with pytest.raises(TargetError, match="TXC_TARGET=x86-64-v3: this processor is of aarch64; it takes native"):
        host_target()
    monkeypatch.setenv("TXC_TARGET", "v3")
    with pytest.raises(knobs.KnobError, match="TXC_TARGET='v3': it takes x86-64, x86-64-v2, x86-64-v3, x86-64-v4 or"):
        host_target()


def test_fma_needs_a_target_that_has_it() -> None:
    text = reduce("r", "k", "n", load("x", 0, F32, "k"), "%x, %x", "%s = arith.addf %a0, %b0 : f32", "%s",
                  types=["f32"], order="chain<16, fma>",
                  identity=["-0.0 : f32"], yield_types=["f32", "f32"])  # fmt: skip
    module = parse(function([F32, "f32[] by []"], text + store("r", 1, "f32[] by []", "")))
    with pytest.raises(EmitError, match="no fused multiply-add"):
        emit_llvm(module, make_target("x86_64-unknown-linux-gnu", "x86-64"))


def test_aarch64_assembles() -> None:
    target = make_target("aarch64-unknown-linux-gnu")
    data = compile_llvm(emit_llvm(parse(row_sums("cpu_thread")), target), target)
    assert data[:4] == b"\x7fELF"


def test_kinds_of_another_device_are_errors() -> None:
    with pytest.raises(EmitError, match="gpu_block is for a GPU"):
        emit_llvm(parse(square('"gpu_block", threads = 64 : i64')), host_target())
    with pytest.raises(EmitError, match="cpu_thread is for a CPU"):
        emit_llvm(parse(square()), make_target("nvptx64-nvidia-cuda", "sm_80"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nonsense-triple",), "no target"),
        (("", "pentium-9000"), "no processor"),
        (("", "x86-64", "+warp"), "no feature 'warp'"),
        (("", "x86-64", "avx"), "a feature is written"),
        (("nvptx64-nvidia-cuda", "gtx"), "no GPU"),
    ],
)
@pytest.mark.skipif(host_target().arch != "x86_64", reason="names of x86")
def test_unknown_targets_are_errors(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(TargetError, match=message):
        make_target(*arguments)


def test_a_function_may_have_any_name() -> None:
    text = square().replace("@f(", '@"<lambda> \\22é"(')
    data = compile_llvm(emit_llvm(parse(text), host_target()), host_target())
    (name,) = [op.sym_name.data for op in parse(text).body.block.ops if isinstance(op, func.FuncOp)]
    assert load_object(data, [name]).addresses[name]
    with pytest.raises(TargetError, match="no function 'g'"):
        load_object(data, ["g"])


def test_rejected_ir_is_an_error() -> None:
    with pytest.raises(TargetError, match="LLVM rejects"):
        compile_llvm("define void @f() { ret i32 0 }", host_target())


def test_ill_formed_ir_is_an_error() -> None:
    """LLVM parses it, but would end the process while it generates code."""
    text = """
    define i32 @f(i1 %c) {
    entry:
      br i1 %c, label %then, label %end
    then:
      %x = add i32 1, 2
      br label %end
    end:
      ret i32 %x
    }
    """
    with pytest.raises(TargetError, match="does not dominate"):
        compile_llvm(text, host_target())
