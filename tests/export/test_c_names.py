"""Names that are C's: functions, arguments and sizes called so compile in C and C++, and the header explains them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from keyword import iskeyword
from pathlib import Path

import numpy as np
import pytest

import txc
from txc.compiler.aot.c_header import c_header
from txc.compiler.aot.c_names import free_symbol
from txc.compiler.aot.c_signature import CSignature, c_signature, check_symbol
from txc.compiler.cli.main import main

from .harness import FLAGS, Machine, call_from_c, exported, reference, same_bits

KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while _Alignas
    _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local alignas alignof bool
    constexpr false nullptr static_assert thread_local true typeof typeof_unqual _BitInt _Decimal128 _Decimal32
    _Decimal64 asm
    and and_eq bitand bitor catch char8_t char16_t char32_t class compl concept consteval constinit const_cast co_await
    co_return co_yield decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq
    operator or or_eq private protected public reinterpret_cast requires static_cast template this throw try typeid
    typename using virtual wchar_t xor xor_eq
""".split()
LIBRARY = """
    abort abs assert atan2 ceil clock cosf errno exit exp expl fabs floor fmaf free gamma getc index isnan log1p longjmp
    main malloc memcpy memset printf puts qsort rand read round select setjmp signal sin sqrtf stdin stdout strlen
    strtod time toupper write y0 I NULL NAN EOF INT_MAX INT64_MAX SIGINT LC_ALL EDOM M_PI HUGE_VAL complex linux unix
""".split()
OURS = """
    int64_t uint8_t size_t ptrdiff_t txc_threads txc_task txc_f16 txc_c64 TXC_OK TXC_RESTRICT TXC_EXPORT_H workspace
    threads shape out
""".split()
WORDS = [*KEYWORDS, *LIBRARY, *OURS]
HEADERS = "assert complex ctype errno float inttypes limits locale math setjmp signal stdio stdlib string time unistd"


def _named_after_words() -> list[CSignature]:
    """For each word a function, with an argument, that are called so; and a function of sizes that are."""
    graph = txc.compile_source("def f(x: f32[n], s: f32) -> f32[n]:\n    return x * s").f.graph
    functions = []
    for word in WORDS:
        inputs = [replace(graph.inputs[0], name=word), *graph.inputs[1:]]
        functions.append(c_signature(replace(graph, name=word, inputs=inputs), free_symbol(word), [len(inputs)], []))
    sizes = [word for word in WORDS if not iskeyword(word)]
    given = ", ".join(f"a{i}: f32[{word}]" for i, word in enumerate(sizes))
    graph = txc.compile_source(f"def sizes({given}) -> f32[2 * int]:\n    return zeros([2 * int], f32)").sizes.graph
    return [*functions, c_signature(graph, "sizes", [len(sizes)], [])]


@pytest.mark.parametrize(("compiler", "options"), [("gcc", ["-std=c11", "-xc"]), ("g++", ["-xc++"])])
def test_every_word_of_c_is_a_name(compiler: str, options: list[str], tmp_path: Path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    made = c_header(_named_after_words(), "a test")
    included = "".join(f"#include <{name}.h>\n" for name in HEADERS.split())
    (tmp_path / "words").write_text(included + made)
    command = [compiler, *options, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", str(tmp_path / "words")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_names_in_c():
    assert {w: free_symbol(w) for w in ("exp", "double", "_Bool", "main", "txc_task", "blur", "expm", "E0")} == {
        "exp": "f_exp", "double": "f_double", "_Bool": "f_Bool", "main": "f_main", "txc_task": "f_txc_task",
        "blur": "blur", "expm": "expm", "E0": "f_E0",
    }  # fmt: skip
    for signature in _named_after_words():
        assert check_symbol(signature.symbol) and signature.symbol not in {*KEYWORDS, *LIBRARY}
        assert not {a.name for a in signature.arguments} & {*KEYWORDS, *OURS, "errno", "I", "NAN", "linux"}


PROGRAM = '''
def exp(int: f32[double, entry], v1: f32, sqrt: f32[double], good1: i64) -> f32[double]:
    """With the names of C's, and of values and blocks of the code around it."""
    return int.sum([1]) * v1 + sqrt * good1
'''


def test_what_the_header_says_of_names_and_that_they_work(tmp_path: Path):
    machine = Machine().require()
    function = txc.compile_source(PROGRAM).exp
    made = exported(function)
    comment = " ".join(made.header.split())
    for name in ("f_exp is exp", "p_int is int", "p_double is double"):
        assert f" {name} in the program, a name that C has for something else" in comment
    assert "float v1, const float *TXC_RESTRICT sqrt, int64_t good1," in comment and "int64_t entry," in comment
    arguments = (np.ones((3, 4), np.float32), np.float32(2), np.arange(3, dtype=np.float32), 5)
    (got,) = call_from_c(made, arguments, tmp_path, machine)
    assert same_bits(got, reference(function, arguments)[0])
    assert "rows is exp in the program" in exported(function, symbol="rows").header
    assert "in the program" not in exported(txc.compile_source(PROGRAM.replace("exp", "f")).f).header.partition("p_")[0]


SEVERAL = """
def double(x: f64[n]) -> f64[n]:
    return exp(x) + 1

def mixed(x: f64[n, m], y: f64[m]) -> (f64[n], f64[m - 1]):
    return exp(x).sum([1]), sin(y)[1:]

def unused(x: f64[n]) -> f64[n]:
    return x
"""
MAIN = """
#include "several.h"
#include <math.h>
#include <stdio.h>
int main(void) {
  double x[2][3] = {{1, 2, 3}, {4, 5, 6}}, doubled[6], sums[2], sines[2];
  int64_t shape[1];
  char workspace[1 << 16];
  txc_threads threads;
  f_double_pool(&threads, 2);
  if (f_double_workspace(6, &threads) > sizeof workspace || mixed_workspace(2, 3, NULL) > sizeof workspace) return 1;
  if (f_double(x[0], doubled, 6, workspace, &threads)) return 2;
  if (mixed(x[0], x[1], sums, sines, 2, 3, workspace, &threads)) return 2;
  if (mixed_out1_shape(2, 3, shape) || shape[0] != 2) return 3;
  f_double_pool_stop();
  return fabs(doubled[5] - exp(6) - 1) > 1e-9 || fabs(sums[0] - exp(1) - exp(2) - exp(3)) > 1e-9 ||
         fabs(sines[1] - sin(6)) > 1e-9;
}
"""


def test_several_functions_are_one_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    machine = Machine().require()
    monkeypatch.chdir(tmp_path)
    Path("several.tx").write_text(SEVERAL)
    Path("main.c").write_text(MAIN)
    command = ["several.tx", "--emit=obj", "-o", "several", "--function", "double,mixed", "--threads", "pool"]
    assert main(command) == 0
    assert capsys.readouterr().out == "several.o\nseveral.h\n"
    assert "unused" not in Path("several.h").read_text()
    built = [machine.compiler, *FLAGS, "main.c", "several.o", "-lm", "-o", "main"]
    done = subprocess.run(built, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert subprocess.run(["./main"], check=False).returncode == 0


def test_names_of_several_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "several.tx"
    file.write_text(SEVERAL)
    command = [str(file), "--emit=header", "--function"]
    assert main([*command, "unused,double", "--symbol", "first,second"]) == 0
    made = capsys.readouterr().out
    assert made.index("int first(") < made.index("int second(") and "f_double" not in made
    for given, message in {
        "double,double": "two functions of one library are called f_double",
        "double,twice": f"{file} has no function 'twice'",
        "double,unused --symbol=a": "--symbol has 1 names, and --function 2",
        "double,unused --symbol=a,exp": "'exp' means something else in C, C++, their library or txc's header",
        f"double,unused --dump-ir {tmp_path}": "the IR of one function is dumped, not of 2",
    }.items():
        assert main([*command, *given.split()]) == 1
        said = capsys.readouterr()
        assert said.err.startswith(f"error: {message}") and said.err.count("\n") <= 3 and not said.out
