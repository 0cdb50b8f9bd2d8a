"""Debug information: it says which of the user's lines code is of; gdb stops there, in C's process and in Python's."""

import gc
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import txc
from txc.compiler.cli.main import main
from txc.compiler.config.options import OptionError
from txc.compiler.instrumentation import InstrumentationOptions
from txc.compiler.pipeline import run_stages
from txc.runtime.loader import gdb
from txc.runtime.loader.loader import can_load

SOFTMAX = Path(__file__).parent.parent / "examples" / "softmax.tx"
loads_elf = pytest.mark.skipif(not can_load(b"\x7fELF"), reason="the loader is for ELF on processors it knows")


def require(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def root(v):
    return np.sqrt(v) + 2  # here


@txc.jit
def scaled(x, y):
    a = x * y
    b = root(np.exp(a))
    s = b.sum(axis=1)
    return b / s[:, None]


LINES = {k: scaled.__wrapped__.__code__.co_firstlineno + k for k in range(2, 6)}
ROOT = root.__code__.co_firstlineno + 1
#: What some scalar ops are of.
BODY = {"arith.mulf": {LINES[2]}, "math.exp": {LINES[3]}, "math.sqrt": {ROOT}, "arith.divf": {LINES[5]}}
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def places(text: str) -> set[int]:
    """The lines that the instructions of an LLVM module have."""
    lines = dict(re.findall(r"^(!\d+) = !DILocation\(line: (\d+)", text, re.MULTILINE))
    return {int(lines[n]) for n in re.findall(r"^  .*, !dbg (!\d+)$", text, re.MULTILINE)}


def test_every_instruction_has_a_line_and_every_line_with_arithmetic_some():
    text = scaled.options(debug=True).lower(X, X).as_text("llvm")
    assert places(text) == {*LINES.values(), ROOT}
    bodies = re.findall(r"^define[^\n]* !dbg !\d+ \{\nentry:\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    assert bodies and len(bodies) == text.count("define ")
    instructions = [line for body in bodies for line in body.splitlines() if line.startswith("  ")]
    assert instructions and all(re.search(r", !dbg !\d+$", line) for line in instructions)


def test_scalars_of_a_fused_body_keep_their_own_line():
    text = scaled.options(debug=True).lower(X, X).as_text("fused")
    found = {op: {int(n) for n in re.findall(rf'{op} .* loc\("[^"]*:(\d+):\d+"\)', text)} for op in BODY}
    assert found == BODY


def test_without_debug_nothing_is_said():
    stages = scaled.lower(X, X)
    assert not re.search(r"!dbg|!DI|llvm\.module\.flags", stages.as_text("llvm"))
    watch = InstrumentationOptions(keep_text=True, locations=True)
    loops = run_stages(scaled.graph(X, X), stop_after="loops", watch=watch).text("loops")
    assert " loc(" in loops and not re.search(r"(arith|math)\..*loc\(", loops)


def test_a_while_an_if_and_a_store_have_their_lines():
    def collatz(n, steps):
        while n > 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps[...] = steps + 1
        return steps

    first = collatz.__code__.co_firstlineno
    text = txc.jit(collatz, debug=True).lower(np.array(27), np.array(0)).as_text("llvm")
    assert {first + k for k in (1, 2, 3, 5, 6)} <= places(text)


def test_results_have_the_same_bits():
    assert scaled.options(debug=True)(X, X).tobytes() == scaled(X, X).tobytes()


def test_what_debug_takes():
    with pytest.raises(OptionError, match="debug must be True or False, not 2"):
        txc.jit(lambda x: x, debug=2)


def test_equal_functions_on_other_lines_share_no_code_with_debug_information():
    def first(x):
        return x * 3 + 1

    def other(x):
        return x * 3 + 1

    other.__name__ = "first"

    def native(f):
        f(X)
        return f._made()[0].executable.native

    assert native(txc.jit(first)) is native(txc.jit(other))
    assert native(txc.jit(first, debug=True)) is not native(txc.jit(other, debug=True))


def test_the_cache_says_why_it_keeps_no_debug_information(tmp_path, monkeypatch):
    monkeypatch.setenv("TXC_CACHE_DIR", str(tmp_path / "cache"))
    f = scaled.options(debug=True)
    f(X + 1, X)
    assert "debug information names lines, which the keys of the cache do not hold" in f.explain_cache()
    assert not list((tmp_path / "cache").glob("code-*"))


@loads_elf
def test_gdb_sees_an_object_as_long_as_it_lives():
    from txc.compiler.codegen.target.llvm_backend import load_object
    from txc.compiler.pipeline import run_stages

    before = gdb.registered()
    objects = [
        run_stages(scaled.graph(X, X), scaled.options(debug=d).compile_options).object or b"" for d in (False, True)
    ]
    loaded = [load_object(data, ["scaled"]) for data in objects]
    assert gdb.registered() == before + 1
    more = load_object(objects[1], ["scaled"])
    assert gdb.registered() == before + 2
    del loaded
    gc.collect()
    assert gdb.registered() == before + 1
    del more
    gc.collect()
    assert gdb.registered() == before


def run_gdb(program: list[str], *commands: str, **environment: str) -> str:
    """What gdb says to the commands; it knows no file of the user's, and asks nothing."""
    given = [
        part for c in ("set breakpoint pending on", "set debuginfod enabled off", *commands) for part in ("-ex", c)
    ]
    done = subprocess.run(
        ["gdb", "-nx", "-batch", *given, "--args", *program],
        capture_output=True, text=True, timeout=120, env={**os.environ, **environment},
    )  # fmt: skip
    if "ptrace" in done.stderr:
        pytest.skip(f"gdb may not trace here: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


PROGRAM = r"""
#include "softmax.h"
#include <stdlib.h>
int main(void) {
  float x[8 * 16], out[8 * 16];
  for (int i = 0; i < 8 * 16; i++) x[i] = (float)(i % 7);
  return softmax(x, 1.0f, out, 8, 16, malloc(softmax_workspace(8, 16, NULL)), NULL);
}
"""


@pytest.mark.parametrize("emit", ["so", "obj"])
def test_gdb_stops_at_a_line_of_tx_code_called_from_c(tmp_path, emit):
    require("gdb", "gcc")
    assert main([str(SOFTMAX), "-g", f"--emit={emit}", "-o", str(tmp_path / "softmax")]) == 0
    (tmp_path / "main.c").write_text(PROGRAM)
    library = "softmax.so" if emit == "so" else "softmax.o"
    command = ["gcc", "-g", "main.c", library, "-o", "main", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = run_gdb([str(tmp_path / "main")], "break softmax.tx:6", "run", "backtrace", "info line")
    assert f"{SOFTMAX}:6\n6\t    e = exp((x - x.maximum" in said  # where it stopped, and the line itself
    assert re.search(rf"^#0 .* at {SOFTMAX}:6$", said, re.MULTILINE)
    assert re.search(r"^#\d+ .* in softmax \(\)", said, re.MULTILINE)
    assert re.search(r"^#\d+ .* in main \(\) at main.c:7$", said, re.MULTILINE)
    assert f'Line 6 of "{SOFTMAX}" starts at address' in said


@loads_elf
def test_gdb_stops_at_a_line_of_a_jitted_function(tmp_path):
    require("gdb")
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import numpy as np
        import txc

        def root(v):
            return np.sqrt(v) + 2

        @txc.jit
        def f(x, y):
            a = x * y
            return root(np.exp(a))

        x = np.ones((8, 16), np.float32)
        f(x, x)
        f(x, x)
        print("done")
        """)
    )
    commands = ["break program.py:10", "run", "backtrace 2", "info line", "delete", "break program.py:6", "continue"]
    said = run_gdb([sys.executable, str(program)], *commands, "backtrace 1", "delete", "continue", TXC_GDB="1")
    assert re.search(rf"^#0 .* at {program}:10$", said, re.MULTILINE)
    assert f'Line 10 of "{program}" starts at address' in said
    assert re.search(rf"^#0 .* at {program}:6$", said, re.MULTILINE)
    assert "6\t    return np.sqrt(v) + 2" in said
    assert said.rstrip().endswith("exited normally]") and "done\n" in said
