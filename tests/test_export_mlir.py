"""Exported programs are accepted by a stock `mlir-opt`, and compute the right thing when upstream compiles them."""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable

import llvmlite.binding as llvm
import numpy as np
import pytest

from txc.compiler.export_mlir import ExportError, export
from txc.compiler.frontend.trace.trace import Trace
from txc.compiler.pipeline import run_stages

MLIR_OPT = next((path for name in ("mlir-opt-19", "mlir-opt") if (path := shutil.which(name))), None)
TRANSLATE = next((path for name in ("mlir-translate-19", "mlir-translate") if (path := shutil.which(name))), None)
needs_opt = pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt is not installed (Debian: mlir-19-tools)")
needs_translate = pytest.mark.skipif(
    MLIR_OPT is None or TRANSLATE is None,
    reason="mlir-opt and mlir-translate are not installed (Debian: mlir-19-tools)",
)

#: Bufferisation and linalg passes do nothing on the stage loops.
TO_LLVM = """-llvm-request-c-wrappers -one-shot-bufferize=bufferize-function-boundaries -convert-linalg-to-loops
  -convert-scf-to-cf -convert-vector-to-llvm -expand-strided-metadata -lower-affine
  -convert-math-to-llvm -convert-math-to-libm -arith-expand
  -convert-arith-to-llvm -finalize-memref-to-llvm -convert-func-to-llvm -convert-cf-to-llvm
  -reconcile-unrealized-casts""".split()


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def affine(x, y):
    return x * 2 + y


def perceptron(x, y):
    return np.maximum(x @ y + 1, 0)


def views(x):
    return x[::-1, 1:].T.reshape(-1) + 1


def slices(x):
    return x[1:, ::2] * 3


def sums(x):
    return x.sum(axis=0), x.mean(), x.argmax(axis=1)


def masked(x):
    return np.where(x > 0, x, -x), x > 1


def heat(x):
    x = x + 0
    x[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return x


def joined(x):
    return np.concatenate([x, x * 2], axis=1)


def integers(x):
    return (x // 3) % 5 + x.astype(np.int64)


def divisors(x):
    return np.gcd(x, 12)


def single(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


BYTES = np.random.default_rng(0).integers(0, 255, size=(5, 6)).astype(np.uint8)
PROGRAMS = [
    (softmax, [single(5, 70)]),
    (affine, [single(4, 6), single(4, 6)]),
    (affine, [single(3, 3).astype(np.float16), single(3, 3).astype(np.float16)]),
    (perceptron, [single(9, 70), single(70, 11)]),
    (views, [single(6, 7)]),
    (slices, [single(6, 7)]),
    (sums, [single(8, 1500)]),
    (masked, [single(7, 3)]),
    (heat, [single(8, 9)]),
    (joined, [single(3, 4)]),
    (integers, [BYTES.view(np.int8).astype(np.int32)]),
    (integers, [BYTES]),
    (divisors, [BYTES.view(np.int8).astype(np.int32)]),
]
EVERY = pytest.mark.parametrize(("program", "arrays"), PROGRAMS, ids=lambda p: p.__name__ if callable(p) else "")


def exported(program: Callable, arrays: list[np.ndarray], stage: str) -> str:
    with Trace("f") as trace:
        inputs = [trace.array_input(f"x{i}", a) for i, a in enumerate(arrays)]
        graph = trace.finish(program(*inputs))
    module = run_stages(graph, stop_after=stage).module
    assert module is not None
    return export(module)


def mlir_opt(text: str, *flags: str) -> str:
    assert MLIR_OPT is not None
    done = subprocess.run([MLIR_OPT, *flags], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    return done.stdout


@needs_opt
@pytest.mark.parametrize("stage", ["fused", "loops"])
@EVERY
def test_mlir_opt_accepts_every_program(program, arrays, stage: str) -> None:
    text = exported(program, arrays, stage)
    upstream = mlir_opt(text)
    assert ("linalg.generic" if stage == "fused" else "memref.load") in upstream
    assert not re.search(r"kernel\.|loop\.|#tx", text)


@needs_opt
def test_merges_of_runs_become_loops_over_elements() -> None:
    text = mlir_opt(exported(lambda x: np.sort(x), [single(6, 70)], "loops"))
    assert "arith.cmpi slt" in text and "loop." not in text


SHUFFLE = """
func.func @f(%x: {info}, %y: {info}) {{
  "loop.for"() ({{
    %a = loop.load %x[{at}]
    %b = loop.load %x[i + 4]
    %c = arith.cmpi slt, %a, %b : i32
    %d = arith.select %c, %b, %a : i32
    %e = loop.shuffle %a, %d over i lanes [3, 6, 1, 4]
    loop.store {stored}, %y[i]
    loop.yield
  }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n - 4">, step = #tx.dim<"1">, vector = 4 : i64,
       unroll = 1 : i64}} : () -> ()
  func.return
}}
"""
I32 = '!loop.buffer<"i32[n] by [1]">'


@needs_translate
def test_lanes_that_change_places_become_vectors(parse) -> None:
    text = export(parse(SHUFFLE.format(info=I32, at="i", stored="%e")))
    assert "vector.shuffle" in text
    x, y = np.array([5, 1, 7, 3, 2, 9, 8, 0, 4, 6, 1, 1], np.int32), np.zeros(12, np.int32)
    called(text, [Memref.of(x), Memref.of(y)])
    assert y.tolist() == [3, 8, 1, 5, 0, 8, 9, 4, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("at", "stored", "error"),
    [
        ("2*i", "%e", "loop.load beside loop.shuffle has no exported form where lanes are no neighbours"),
        ("i", "%k", "loop.store of what all lanes share has no exported form beside loop.shuffle"),
    ],
)
def test_what_has_no_form_beside_a_shuffle_is_named(parse, at: str, stored: str, error: str) -> None:
    text = SHUFFLE.format(info=I32, at=at, stored=stored).replace(") {\n", ") {\n  %k = arith.constant 1 : i32\n", 1)
    with pytest.raises(ExportError, match=re.escape(error)):
        export(parse(text))


@needs_opt
def test_slices_become_extract_slice() -> None:
    text = mlir_opt(exported(slices, [single(6, 7)], "fused"))
    assert "tensor.extract_slice" in text and "tensor.extract " not in text


class Memref(ctypes.Structure):
    """The descriptor of a rank-2 memref; results of other ranks are read through the same fields."""

    _fields_ = [
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
        ("sizes_and_strides", ctypes.c_int64 * 4),
    ]

    @staticmethod
    def of(array: np.ndarray) -> "Memref":
        numbers = [*array.shape, *(s // array.itemsize for s in array.strides)]
        return Memref(array.ctypes.data, array.ctypes.data, 0, (ctypes.c_int64 * 4)(*numbers))


def called(text: str, memrefs: list[Memref]) -> None:
    """Compile a program through upstream's LLVM dialect and call it; a result comes before the arguments."""
    lowered = mlir_opt(text, *TO_LLVM)
    assert TRANSLATE is not None
    done = subprocess.run([TRANSLATE, "--mlir-to-llvmir"], input=lowered, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(done.stdout), machine)
    engine.finalize_object()
    found = re.search(r"define void @_mlir_ciface_f\((.*?)\)", done.stdout)
    assert found is not None and len(found[1].split(",")) == len(memrefs), "an argument more would be read from nowhere"
    address = engine.get_function_address("_mlir_ciface_f")
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(memrefs))(address)(*map(ctypes.addressof, memrefs))


@needs_translate
@pytest.mark.parametrize(
    ("program", "arrays"), [(softmax, [single(5, 70)]), (perceptron, [single(9, 70), single(70, 11)]),
                            (heat, [single(8, 9)]), (slices, [single(6, 7)])]
)  # fmt: skip
def test_upstream_computes_the_same(program, arrays) -> None:
    expected = program(*[a.astype(np.float64) for a in arrays])
    result = Memref()
    called(exported(program, arrays, "fused"), [result, *map(Memref.of, arrays)])
    assert tuple(result.sizes_and_strides[:2]) == expected.shape
    data = (ctypes.c_float * expected.size).from_address(result.aligned + 4 * result.offset)  # type: ignore[operator]
    np.testing.assert_allclose(np.array(data).reshape(expected.shape), expected, rtol=1e-4, atol=1e-4)

    out = np.full(expected.shape, np.nan, np.float32)
    called(exported(program, arrays, "loops"), [*map(Memref.of, arrays), Memref.of(out)])
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@needs_translate
def test_upstream_sorts_the_same() -> None:
    x = np.random.default_rng(0).standard_normal((2, 700)).astype(np.float32)
    out = np.full(x.shape, np.nan, np.float32)
    called(exported(lambda x: np.sort(x), [x], "loops"), [Memref.of(x), Memref.of(out)])
    np.testing.assert_array_equal(out, np.sort(x))


def test_what_has_no_upstream_form_is_named() -> None:
    with Trace("f") as trace:
        graph = trace.finish(affine(trace.array_input("x", single(2, 2)), trace.array_input("y", single(2, 2))))
    module = run_stages(graph, stop_after="buffers").module
    assert module is not None
    with pytest.raises(ExportError, match=r"kernel.generic has no upstream form here"):
        export(module)


T = 'tensor<?x?xf32, #tx.dims<"n, m">>'
IDENTITY = '#tx.map<"(d0: n, d1: m) -> (d0, d1)">'
CONTROL = f"""
func.func @f(%c: tensor<i1>, %x: {T}, %k: tensor<?xi64, #tx.dims<"k">>) -> ({T}, {T}, {T}) {{
  %a = "kernel.for"(%x) ({{
  ^bb0(%v: {T}):
    %w = "kernel.generic"(%v, %v) ({{
    ^bb0(%e: f32):
      %i = loop.index (i // 3 + max(i, $s) % 7)
      loop.bind %i as ..t0
      %r = kernel.read %k[..t0] where (k - 1 - ..t0 >= 0)
      %s = arith.sitofp %r : i64 to f32
      %g = "kernel.call"(%s) {{fn = "sigmoid"}} : (f32) -> f32
      %t = arith.addf %g, %e : f32
      kernel.yield %t : f32
    }}, {{}}, {{}}) {{extents = #tx.dims<"n, m">, parallel = 2 : i64, epilogue_inputs = 0 : i64,
        in_maps = [#tx.map<"(d0: n, d1: m) -> (n - 1 - d0, d1) where (d1 - 1)">],
        out_maps = [#tx.map<"(d0: n, d1: m) -> (d0, d1) where (d0 - 1)">],
        operandSegmentSizes = array<i32: 1, 1>}} : ({T}, {T}) -> {T}
    kernel.yield %w : {T}
  }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"2">}} : ({T}) -> {T}
  %b = "kernel.while"(%x) ({{
  ^bb0(%v: {T}):
    kernel.yield %c : tensor<i1>
  }}, {{
  ^bb0(%v: {T}):
    kernel.yield %v : {T}
  }}) : ({T}) -> {T}
  %d = "kernel.if"(%c) ({{
    kernel.yield %a : {T}
  }}, {{
    kernel.yield %b : {T}
  }}) : (tensor<i1>) -> {T}
  func.return %a, %b, %d : {T}, {T}, {T}
}}
"""

X = '!loop.buffer<"f32[n, m] by [$s, 1]">'
ROW = '!loop.buffer<"bool[m] by [1]">'
LOOPS = f"""
func.func @f(%x: {X}) attributes {{tx.arena = #tx.dim<"4*m + 64">, tx.thread_arena = #tx.dim<"m + 64">}} {{
  %t = loop.alloc f32[m] by [1] in arena at 64
  %p = loop.alloc {ROW} in thread at 0
  "loop.parallel"() ({{
    "loop.for"() ({{
      %a = loop.load %x[i, j] where (j - 1 >= 0)
      %z = arith.constant 0x7F800000 : f32
      %q = arith.cmpf olt, %a, %z : f32
      loop.store %q, %p[j] where (m - 2 - j >= 0)
      %r = loop.load %p[j]
      "loop.if"(%r) ({{
        loop.store %a, %t[j]
        loop.yield
      }}, {{
        loop.yield
      }}) : (i1) -> ()
      loop.yield
    }}) {{iv = "j", lower = #tx.dim<"0">, upper = #tx.dim<"m">, step = #tx.dim<"1">, vector = 8 : i64,
         unroll = 2 : i64}} : () -> ()
    "loop.while"() ({{
      %l = loop.load %p[0]
      loop.yield %l : i1
    }}, {{
      %f = arith.constant false
      loop.store %f, %p[0]
      loop.yield
    }}) : () -> ()
    loop.barrier
    loop.yield
  }}) {{iv = "i", lower = #tx.dim<"0">, upper = #tx.dim<"n">, step = #tx.dim<"1">, kind = "cpu_thread",
       grain = #tx.dim<"16">}} : () -> ()
  func.return
}}
"""


@needs_opt
@pytest.mark.parametrize(("text", "argument"), [(CONTROL, "$s"), (LOOPS, "$s")])
def test_control_flow_and_symbols_of_no_shape(parse, text: str, argument: str) -> None:
    exported_text = export(parse(text))
    assert f"// index arguments: {argument}" in exported_text
    assert "scf.while" in mlir_opt(exported_text)
