"""The pool of threads inside an object: it starts threads, gives the same bits, and ends."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from txc.compiler.aot.c_signature import ExportError
from txc.compiler.aot.export import Exported, export_graph
from txc.compiler.codegen.call.c_pool import POOL_SYMBOLS
from txc.compiler.codegen.target.llvm_backend import TargetError, libcalls
from txc.compiler.codegen.target.names import named_target

from .examples import case
from .harness import FLAGS, Machine

PROGRAM = r"""
#include "softmax.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 3000, M = 200, CALLS = 200 };
static float x[N][M], alone[N][M], together[N][M];

static int threads_of_this_process(void) {
  int count = -2;
  DIR *tasks = opendir("/proc/self/task");
  while (readdir(tasks)) count++;
  closedir(tasks);
  return count;
}

int main(void) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < M; j++) x[i][j] = (float)((i * 7 + j * 3) % 19);
  txc_threads pool, all;
  softmax_pool(&pool, 3);
  softmax_pool(&all, 0);
  if (pool.threads != 3 || all.threads < 1 || all.threads > sysconf(_SC_NPROCESSORS_CONF)) return 2;
  if (threads_of_this_process() != 1) return 3;
  void *workspace = malloc(softmax_workspace(N, M, &pool));
  if (softmax(x[0], 1, alone[0], N, M, workspace, NULL)) return 4;
  for (int call = 0; call < CALLS; call++) {
    memset(together, 0, sizeof together);
    if (softmax(x[0], 1, together[0], N, M, workspace, &pool)) return 5;
    if (memcmp(alone, together, sizeof alone)) return 6;
  }
  if (threads_of_this_process() != EXPECTED) return 7;
  softmax_pool_stop();
  /* A thread that was joined leaves the list a moment later. */
  while (threads_of_this_process() != 1) usleep(1000);
  softmax_pool(&pool, 3);
  memset(together, 0, sizeof together);
  if (softmax(x[0], 1, together[0], N, M, workspace, &pool) || memcmp(alone, together, sizeof alone)) return 8;
  if (threads_of_this_process() != 1) return 9;
  puts("right");
  return 0;
}
"""


def with_pool(target: str) -> Exported:
    function, _ = case("softmax.softmax")
    return export_graph(function.graph, named_target(target), threads="pool")


@pytest.mark.parametrize(
    ("target", "machine"),
    [
        ("native", Machine()),
        ("aarch64", Machine("aarch64-linux-gnu-gcc", ("qemu-aarch64",), ("-static",))),
        ("riscv64", Machine("riscv64-linux-gnu-gcc", ("qemu-riscv64",), ("-static",))),
    ],
    ids=lambda p: p if isinstance(p, str) else "",
)
def test_threads_start_work_and_end(target: str, machine: Machine, tmp_path: Path):
    machine.require()
    made = with_pool(target)
    assert libcalls(made.object) == POOL_SYMBOLS
    (tmp_path / "softmax.o").write_bytes(made.object)
    (tmp_path / "softmax.h").write_text(made.header)
    # An emulator has threads of its own.
    (tmp_path / "main.c").write_text(PROGRAM if not machine.runner else emulated(PROGRAM))
    command = [machine.compiler, *FLAGS, "-D_GNU_SOURCE", "-DEXPECTED=3", *machine.flags]
    files = [str(tmp_path / name) for name in ("main.c", "softmax.o")]
    built = subprocess.run(
        [*command, *files, "-o", str(tmp_path / "main")], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run(
        [*machine.runner, str(tmp_path / "main")], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stdout) == (0, "right\n")


def emulated(program: str) -> str:
    """The program with fewer calls, which counts threads from what an emulator starts with."""
    program = program.replace("CALLS = 200", "CALLS = 3").replace(
        "int count = -2;", "static int first; int count = -2;"
    )
    return program.replace("  return count;", "  if (!first) first = count;\n  return count - first + 1;")


def test_two_objects_have_a_pool_each(tmp_path: Path):
    machine = Machine().require()
    function, _ = case("softmax.softmax")
    for name in ("first", "second"):
        made = export_graph(function.graph, named_target(), symbol=name, threads="pool")
        (tmp_path / f"{name}.o").write_bytes(made.object)
        (tmp_path / f"{name}.h").write_text(made.header)
    (tmp_path / "main.c").write_text(
        '#include "first.h"\n#include "second.h"\nint main(void) {\n  txc_threads a, b;\n  first_pool(&a, 2);\n'
        "  second_pool(&b, 2);\n  return a.pool == b.pool;\n}\n"
    )
    files = [str(tmp_path / name) for name in ("main.c", "first.o", "second.o")]
    subprocess.run([machine.compiler, *FLAGS, *files, "-o", str(tmp_path / "main")], check=True)
    assert subprocess.run([str(tmp_path / "main")], check=False).returncode == 0


def test_where_there_is_no_pool():
    with pytest.raises(
        TargetError, match="the pool of threads is for Linux on x86_64, aarch64, riscv64, not for wasm32"
    ):
        with_pool("wasm32")
    function, _ = case("softmax.softmax")
    with pytest.raises(ExportError, match="there are no threads 'openmp'"):
        export_graph(function.graph, named_target(), threads="openmp")
