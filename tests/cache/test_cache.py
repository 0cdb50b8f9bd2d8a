"""The persistent cache: what is a hit, what is not, and why; a hit imports no compiler."""

import json
import types
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import txc
from txc.compiler.cache.source_key import NotHashable, digest_function
from txc.compiler.call.signature import (
    ChainedOutput,
    InputSpec,
    ListOutput,
    Literal,
    NotSerializable,
    NumbersOutput,
    Signature,
    plain_structure,
    structure_of_plain,
)
from txc.compiler.codegen.target.llvm_backend import host_target
from txc.compiler.driver.executable import BufferSpec, CodeSpec

from .conftest import python

X = np.arange(12, dtype=np.float32).reshape(3, 4)

SECOND = """
import sys
import numpy as np
of_numpy = set(sys.modules)
import txc

@txc.jit
def softmax(x, beta):
    e = np.exp((x - x.max(axis=1, keepdims=True)) * beta)
    return e / e.sum(axis=1, keepdims=True)

x = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 1000
print(softmax(x, 1.0).tobytes().hex())
print(softmax.explain_cache())
print(*[m for m in sys.modules if m.split(".")[0] in ("txc", "xdsl", "llvmlite", "ml_dtypes")])
print(*{"threading", "dataclasses", "inspect", "array", "logging"} & sys.modules.keys() - of_numpy)
"""


def test_a_second_process_neither_stages_nor_compiles(tmp_path, folder):
    (tmp_path / "program.py").write_text(SECOND)
    first, second = (python(tmp_path / "program.py", folder).stdout.splitlines() for _ in range(2))
    assert first[0] == second[0]
    assert first[1] == "f32 array of rank 2, row-major; float: miss: nothing was stored under this key; kept now"
    assert second[1] == "f32 array of rank 2, row-major; float: hit, neither staged nor compiled"
    assert {"xdsl", "llvmlite", "txc.compiler.pipeline"} <= set(first[2].split())
    assert second[3] == ""  # each would cost the start of a process a millisecond or more
    loaded = second[2].split()
    heavy = ("xdsl", "llvmlite", "ml_dtypes", "txc.dialects", "txc.passes", "txc.compiler.frontend")
    unused = ("txc.runtime.pool.pool", "txc.runtime.stub.code", "txc.compiler.call.parameters")
    assert [m for m in loaded if m.startswith((*heavy, *unused))] == []
    assert {"txc.runtime.loader.loader", "txc.compiler.cache.disk_cache"} <= set(loaded)


def test_a_hit_gives_the_same_result_and_compiles_nothing(processes):
    def f(x, n):
        return x * n, [x.sum(axis=0), {"mean": x.mean()}], 7

    first = processes.fresh(f)(X, 3)
    again = processes.fresh(f)
    second = again(X, 3)
    assert processes.compiled == 1
    assert again.explain_cache() == "f32 array of rank 2, row-major; int: hit, neither staged nor compiled"
    assert second[2] == 7 and type(second[1][1]["mean"]) is np.float32
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1][0], second[1][0])


@pytest.mark.skipif(not host_target().is_x86, reason="the levels are x86's")
def test_the_level_that_is_compiled_for_is_part_of_the_key(processes, monkeypatch):
    def f(x):
        return np.sqrt(x) + x.sum()

    for level, compiled in [("x86-64-v2", 1), ("x86-64", 2), ("x86-64-v2", 2)]:
        monkeypatch.setenv("TXC_TARGET", level)
        np.testing.assert_allclose(processes.fresh(f)(X), f(X), rtol=1e-6)
        assert processes.compiled == compiled


def test_sizes_are_not_part_of_the_key_and_guards_are_checked(processes):
    def f(x, y):
        return x + y

    processes.fresh(f)(X, X)
    processes.fresh(f)(X, X[:1])  # a size of 1 broadcasts: another version
    assert processes.compiled == 2
    for y in (X, X[:1]):
        for x in (X, np.concatenate([X, X])):
            if len(y) == 1 or len(x) == len(y):
                np.testing.assert_array_equal(processes.fresh(f)(x, y), x + y)
    assert processes.compiled == 2
    third = processes.fresh(f)
    np.testing.assert_array_equal(third(X[:1], X), X[:1] + X)
    assert processes.compiled == 3
    assert "the versions that are kept have guards which these arguments do not meet" in third.explain_cache()


def test_stores_into_arguments_and_strided_arguments_work_from_the_cache(processes):
    def f(x, y):
        x[1:] += y[:-1]

    for _ in range(2):
        x, y = X.copy(), np.asfortranarray(X)
        processes.fresh(f)(x, y)
        expected = X.copy()
        expected[1:] += y[:-1]
        np.testing.assert_array_equal(x, expected)
    assert processes.compiled == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(x):\n    return x + 1", "def f(x):\n    return x + 2"),
        ("A = 1.5\ndef f(x):\n    return x * A", "A = 2.5\ndef f(x):\n    return x * A"),
        ("A = 1\ndef f(x):\n    return x * A", "A = 1.0\ndef f(x):\n    return x * A"),
        ("def g(x): return x + 1\ndef f(x):\n    return g(x)", "def g(x): return x - 1\ndef f(x):\n    return g(x)"),
        ("def g(x, a=1): return x + a\ndef f(x):\n    return g(x)",
         "def g(x, a=2): return x + a\ndef f(x):\n    return g(x)"),
        ("def make(a):\n    def f(x):\n        return x * a\n    return f\nf = make(2)",
         "def make(a):\n    def f(x):\n        return x * a\n    return f\nf = make(3)"),
        ("from numpy import add as op\ndef f(x):\n    return op(x, x)",
         "from numpy import multiply as op\ndef f(x):\n    return op(x, x)"),
        ("W = np.ones(4)\ndef f(x):\n    return x + W", "W = np.ones(4, np.float32)\ndef f(x):\n    return x + W"),
        ("L = [{'a': 2}]\ndef f(x):\n    return x * L[0]['a']", "L = [{'a': 3}]\ndef f(x):\n    return x * L[0]['a']"),
        ("T = (1, (2, 'add'))\ndef f(x):\n    return x + T[0]", "T = (3, (2, 'add'))\ndef f(x):\n    return x + T[0]"),
    ],
    ids=["code", "global", "type", "callee", "default", "closure", "import", "dtype", "list", "tuple"],
)  # fmt: skip
def test_what_the_function_refers_to_is_part_of_the_key(processes, define, before, after):
    for source in (before, after):
        f = define(source)["f"]
        expected = f(X)
        outcomes = []
        for _ in range(2):
            jitted = processes.fresh(f)
            result = jitted(X)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)
            outcomes.append(jitted.explain_cache().split(": ")[1])
        assert outcomes == ["miss", "hit, neither staged nor compiled"]


def test_a_user_module_counts_by_what_is_used_of_it(processes, define):
    for value in (2.0, 3.0):
        module = types.ModuleType("settings")
        module.__dict__.update(define("def g(x): return x * 10", "settings"), scale=value, unused=object())
        f = define("def f(x):\n    return m.g(x) * m.scale", m=module)["f"]
        outcomes = []
        for _ in range(2):
            jitted = processes.fresh(f)
            np.testing.assert_array_equal(jitted(X), f(X))
            outcomes.append(jitted.explain_cache().split(": ")[1])
        assert outcomes == ["miss", "hit, neither staged nor compiled"]


def test_captured_arrays_are_read_at_each_call(processes, define):
    source = "W = np.full(4, 2.0, np.float32)\ndef f(x):\n    return x * W"
    processes.fresh(define(source)["f"])(X)
    namespace = define(source.replace("2.0", "5.0"))
    f = processes.fresh(namespace["f"])
    np.testing.assert_array_equal(f(X), X * 5)
    assert processes.compiled == 1 and "hit" in f.explain_cache()
    namespace["W"][:] = 7
    np.testing.assert_array_equal(f(X), X * 7)
    namespace["W"] = np.full(4, 8, np.float32)
    np.testing.assert_array_equal(f(X), X * 8)


def test_a_global_that_changes_after_a_hit_is_noticed(processes, define):
    source = "A = 2.0\ndef f(x):\n    return x * A"
    processes.fresh(define(source)["f"])(X)
    namespace = define(source)
    f = processes.fresh(namespace["f"])
    np.testing.assert_array_equal(f(X), X * 2)
    assert processes.compiled == 1
    namespace["A"] = 4.0
    np.testing.assert_array_equal(f(X), X * 4)


def test_a_list_that_changes_after_a_hit_is_noticed(processes, define):
    source = "L = [2.0]\ndef f(x):\n    return x * L[0]"
    processes.fresh(define(source)["f"])(X)
    namespace = define(source)
    f = processes.fresh(namespace["f"])
    np.testing.assert_array_equal(f(X), X * 2)
    assert processes.compiled == 1
    namespace["L"][0] = 4.0
    np.testing.assert_array_equal(f(X), X * 4)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("L = [np.ones(4)]\ndef f(x):\n    return x * L[0]", "'L' is a list, which cannot be judged by its content"),
        ("class C:\n    a = 2\nc = C()\ndef f(x):\n    return x * c.a", "'c' is a C, which cannot be judged"),
        ("def f(x):\n    return x * len(np.geterr())", "'np' has 'geterr', whose result does not follow"),
        ("def f(x):\n    return x * len(np.random.__name__)", "'np' has 'random', whose result does not follow"),
        ("from numpy.random import rand\ndef f(x):\n    return x if rand else -x", "'rand' is a "),
        ("import os\ndef f(x):\n    return x * os.getpid()", "os.getpid is a builtin_function_or_method"),
        ("def f(x):\n    import math\n    return x * math.pi", "f imports a module or sets a global"),
        ("def f(x):\n    return x * getattr(np, 'pi')", "the function may call 'getattr'"),
        ("f = eval('lambda x: x + 1')", "<lambda> is traced as it is, not staged"),
        ("def g(x): return x\ng.a = 2\ndef f(x):\n    return g(x) * g.a", "'g' is a function with attributes"),
        ("def f(x):\n    return x + np.asarray([1, 2, 3, 4], np.float32)", "captured0 is an array that is made while"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_staged_in_every_process(processes, define, source, reason):
    f = define(source)["f"]
    processes.fresh(f)(X)
    jitted = processes.fresh(f)
    jitted(X)
    said = jitted.explain_cache()
    assert "miss: it is staged in every process: " in said and reason in said


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(x): return np.random.rand()", "'np' has 'random', whose result does not follow from the program"),
        ("import numpy.random as r\ndef f(x): return r.rand()", "'r' has 'random', whose result"),
        ("from numpy.random import rand\ndef f(x): return rand()", "'rand' is a method"),
        ("from numpy import load as g\ndef f(x): return g('w.npy')", "'g' is a function, which cannot be judged"),
        ("def f(x): return open('w')", "the function may call 'open'"),
        (
            "def f(x):\n    def g(): return f.__globals__\n    return g()",
            "the function may use '__globals__', which reaches",
        ),
    ],
)
def test_what_does_not_follow_from_the_program_has_no_digest(define, source, reason):
    with pytest.raises(NotHashable, match=reason):
        digest_function(define(source)["f"])


def test_a_function_whose_file_changed_is_not_kept_by_source(processes, define):
    f = define("def f(x):\n    return x + 1")["f"]
    path = Path(f.__code__.co_filename)
    path.write_text(path.read_text().replace("+ 1", "+ 2"))
    jitted = processes.fresh(f)
    jitted(X)
    assert "the source of f is not what it was compiled from" in jitted.explain_cache()


def test_graphs_are_found_where_sources_are_not(processes, define):
    source = "class C:\n    a = 2\nc = C()\ndef f(x):\n    return x * c.a"
    for _ in range(2):
        np.testing.assert_array_equal(processes.fresh(define(source)["f"])(X), X * 2)
    assert processes.compiled == 1
    np.testing.assert_array_equal(processes.fresh(define(source.replace("2", "3"))["f"])(X), X * 3)
    assert processes.compiled == 2


def test_methods_lazy_tensors_and_tx_functions_find_their_graphs(processes):
    class C:
        def __init__(self):
            self.a = 3

        def f(self, x):
            return x * self.a

    def lazy():
        return np.asarray(txc.asarray(X) * 2 - 1)

    text = "def f(x: f32[n, m]) -> f32[n]:\n    return x.sum([1])"
    for _ in range(2):
        np.testing.assert_array_equal(processes.fresh(C.f)(C(), X), X * 3)
        np.testing.assert_array_equal(lazy(), X * 2 - 1)
        processes.fresh(C.f)
        np.testing.assert_array_equal(txc.compile_source(text).f(X), X.sum(axis=1))
    assert processes.compiled == 3


def test_options_are_part_of_the_key_but_threads_are_not(processes):
    def f(x):
        return x + 1

    processes.fresh(f)(X)
    processes.fresh(f, threads=1)(X)
    assert processes.compiled == 1
    processes.fresh(f, passes="tx-fuse-rows{enabled=false}")(X)
    assert processes.compiled == 2


def test_the_nearest_entry_says_what_differs(processes, define, store, monkeypatch):
    processes.fresh(define("def f(x):\n    return x + 1")["f"])(X)
    monkeypatch.setattr(type(store), "publish", lambda *_: False)
    for source, options, changed in [
        ("def f(x):\n    return x + 2", {}, "code"),
        ("def f(x):\n    return x + 1", {"passes": "tx-fuse-rows{enabled=false}"}, "options"),
        ("def f(y):\n    return y + 1", {"passes": "tx-fuse-rows{enabled=false}"}, "code, options"),
    ]:
        f = processes.fresh(define(source)["f"], **options)
        f(X)
        why = f"miss: nothing was stored under this key (it is kept with another {changed})"
        assert f.explain_cache() == f"f32 array of rank 2, row-major: {why}"


def test_a_compilation_that_is_watched_is_done(processes, monkeypatch, tmp_path):
    def f(x):
        return x + 1

    processes.fresh(f)(X)
    monkeypatch.setenv("TXC_DUMP_IR", str(tmp_path / "ir"))
    watched = processes.fresh(f)
    watched(X)
    assert processes.compiled == 2 and list((tmp_path / "ir").iterdir())
    assert watched.explain_cache().endswith("miss: TXC_DUMP_IR wants to see a compilation")


def test_the_cache_can_be_switched_off(processes, monkeypatch, folder):
    monkeypatch.setenv("TXC_CACHE_DIR", "0")

    def f(x):
        return x + 1

    processes.fresh(f)(X)
    again = processes.fresh(f)
    again(X)
    assert processes.compiled == 2 and not folder.exists()
    assert again.explain_cache().endswith("miss: the cache is switched off (TXC_CACHE_DIR)")


def test_a_bad_size_is_an_error(processes, monkeypatch):
    monkeypatch.setenv("TXC_CACHE_SIZE_MB", "much")
    with pytest.raises(ValueError, match="TXC_CACHE_SIZE_MB must be a positive integer, not 'much'"):
        processes.fresh(lambda x: x + 1)(X)


# Plain data


@pytest.mark.parametrize(
    "structure",
    [
        0, None, Literal(True), Literal(1), Literal("a"), Literal(float("inf")), (0, [1, {"k": 2, 3: Literal(None)}]),
        [], ChainedOutput([[Literal(1)], NumbersOutput(2), ListOutput(3)]),
    ],
)  # fmt: skip
def test_structures_are_read_back_exactly(structure):
    plain = json.loads(json.dumps(plain_structure(structure)))
    found = structure_of_plain(plain)
    assert found == structure and repr(found) == repr(structure)


def test_named_tuples_are_read_back_by_where_their_class_is(monkeypatch):
    structure = InputSpec(*[0, Literal("a"), (2, [1]), None, Literal(False), {"k": 3}])
    plain = json.loads(json.dumps(plain_structure(structure)))
    found = structure_of_plain(plain)
    assert found == structure and type(found) is InputSpec
    monkeypatch.delattr("txc.compiler.call.signature.InputSpec")
    with pytest.raises(
        NotSerializable, match=r"the class txc.compiler.call.signature.InputSpec of a result is not there"
    ):
        structure_of_plain(plain)
    with pytest.raises(NotSerializable, match="a result of type InputSpec is not kept"):
        plain_structure(structure)


def test_a_result_that_json_does_not_hold_is_not_kept():
    with pytest.raises(NotSerializable, match=r"the value \(1, 2j\) in the result, of type tuple"):
        plain_structure(Literal((1, 2j)))


def test_signatures_and_code_are_read_back_exactly():
    inputs = (InputSpec("x", "tensor", ("x.0", "2*n + 1")), InputSpec("n", "int", symbol="$n"),
              InputSpec("captured0", "tensor", ("4",), hidden=True, source=X))  # fmt: skip
    signature = Signature("f", inputs, (("m", "n*2"),), (("n", "<", "m", "slicing"),), (0, None))
    plain = json.loads(json.dumps(signature.plain()))
    assert Signature.of_plain(plain, {"captured0": X}) == signature
    elements = (np.float32, ml_dtypes.bfloat16, np.bool_)
    buffers = tuple(BufferSpec(np.dtype(e), ("n", "m"), ("m", "1")) for e in elements)
    code = CodeSpec("f", ("n", "$s"), buffers, (1, 2), (0,), "4*n", "0")
    assert CodeSpec.of_plain(json.loads(json.dumps(code.plain()))) == code


def test_an_error_has_the_line_that_the_function_has_now(tmp_path, folder):
    program = """
import traceback
import numpy as np
import txc
{lines}
def part(x, k):
    return x[k]

@txc.jit
def f(x, t, k):
    1.0 / t
    return part(x, k)

for t in (0.0, 1.0):
    try:
        f(np.ones(3), t, np.int64(5))
    except (IndexError, ZeroDivisionError) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        print(last.lineno, last.line, last.name)
print(f.explain_cache())
"""
    path = tmp_path / "program.py"
    for lines, what in (("", "miss"), ("", "hit"), ("\n# another\n\n", "hit")):
        text = program.format(lines=lines)
        path.write_text(text)
        found = python(path, folder).stdout.splitlines()
        at = text.splitlines().index
        assert found[0] == f"{at('    1.0 / t') + 1} 1.0 / t f"
        assert found[1] == f"{at('    return x[k]') + 1} return x[k] part"
        assert f": {what}" in found[2]


POINTER = """
import sys
import numpy as np
import txc

SCALE = np.array([float(sys.argv[1])])

@txc.jit
def damped(x, rate):
    return np.exp(-rate * x) * SCALE[0]

print(damped.ctypes(1.0, 2.0))
print(damped.c_function("f64(i32, f64*)").ctypes(2, (damped.ctypes.restype * 2)(1.0, 2.0)))
print(*[m for m in sys.modules if m.split(".")[0] in ("xdsl", "llvmlite")])
"""


def test_function_pointers_are_kept(tmp_path, folder, store):
    program = tmp_path / "pointer.py"
    program.write_text(POINTER)
    first, second, other = (python(program, folder, scale).stdout.splitlines() for scale in ("1", "1", "3"))
    assert first[0] == first[1] == second[0] == second[1] and float(first[0]) == np.exp(-2.0)
    assert float(other[0]) == float(other[1]) == np.exp(-2.0) * 3.0  # the array is in the code
    assert first[2] and other[2] and second[2] == ""
    kept = [e.name for e in store.entries() if e.name.startswith("pointer-")]
    assert len(kept) == 4


def test_a_damaged_function_pointer_is_compiled_again(folder, store):
    def tripled(x):
        return x * 3

    assert txc.jit(tripled).ctypes(2.0) == 6.0
    (entry,) = [e for e in store.entries() if e.name.startswith("pointer-")]
    (file,) = folder.rglob(entry.name + "*")
    content = bytearray(file.read_bytes())
    content[-1] ^= 255
    file.write_bytes(content)
    assert txc.jit(tripled).ctypes(2.0) == 6.0
    assert file.read_bytes() != content
