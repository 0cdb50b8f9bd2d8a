"""`tensor-compile` as a user meets it: texts and exit statuses.

Most commands are calls of its function, with text for its streams; one of each kind is a process of its own.
"""

import contextlib
import io
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest

import txc
from txc.compiler.cli import main as cli
from txc.compiler.cli import tx_opt

PROGRAM = '''
def rows(x: f32[n, m]) -> f32[n]:
    """The sum of each row."""
    return x.sum([1])


def softmax(x: f32[n, m], beta: f32) -> f32[n, m]:
    e = exp((x - x.maximum([1]).reshape([n, 1]).broadcast([1, m])) * beta)
    return e / e.sum([1]).reshape([n, 1]).broadcast([1, m])
'''

STAGES = ("graph", "tensor", "canonical", "layout", "evals", "fused", "buffers", "loops", "llvm", "asm", "obj")


class Done(NamedTuple):
    """What is left of a command that has ended."""

    returncode: int
    stdout: str
    stderr: str


def compile_(*arguments: object, **environment: str) -> Done:
    """Run the command in this process; no input may ever raise an exception."""
    with (
        mock.patch.dict(os.environ, environment),
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as errors,
    ):
        try:
            status = cli.main([str(a) for a in arguments])
        except SystemExit as end:
            assert isinstance(end.code, int)
            status = end.code
    return Done(status, out.getvalue(), errors.getvalue())


def compile_apart(*arguments: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the command in a process of its own; no input may ever give a traceback."""
    command = [sys.executable, "-m", "txc.compiler.cli.main", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "softmax.tx"
    path.write_text(PROGRAM)
    return path


def test_summary_lists_functions_with_their_types(program: Path):
    done = compile_apart(program, COLUMNS="160")
    assert done.returncode == 0, done.stderr
    assert "2 functions, no errors" in done.stdout
    assert "x: f32[n, m], beta: f32" in done.stdout
    assert "rows" in done.stdout


@pytest.mark.parametrize(
    ("stage", "part"),
    [
        ("graph", "graph rows("), ("tensor", "tx.sum"), ("canonical", "tx.sum"), ("layout", "tx.sum"),
        ("evals", "tx.sum"), ("fused", "kernel.generic"), ("buffers", "buffer f32["), ("loops", "loop.reduce"),
        ("llvm", "define i32 @rows"), ("asm", "rows:"),
    ],
)  # fmt: skip
def test_emit_prints_the_stage(program: Path, stage: str, part: str):
    done = compile_(program, "--function", "rows", f"--emit={stage}")
    assert done.returncode == 0, done.stderr
    assert part in done.stdout


def test_emit_obj_is_an_object_file(program: Path):
    command = [sys.executable, "-m", "txc.compiler.cli.main", str(program), "--emit=obj"]
    done = subprocess.run(command, capture_output=True, timeout=120)
    assert done.returncode == 0
    assert len(done.stdout) > 500


def test_run_writes_what_numpy_computes(program: Path, tmp_path: Path):
    x = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "y.npy"
    done = compile_apart("run", program, "--input", f"x=@{tmp_path / 'x.npy'}", "--input", "beta=0.5", "-o", out)
    assert done.returncode == 0, done.stderr
    assert "softmax: float32 of shape (5, 7)" in done.stdout
    e = np.exp((x - x.max(1, keepdims=True)) * np.float32(0.5))
    np.testing.assert_allclose(np.load(out), e / e.sum(1, keepdims=True), rtol=1e-6)


def test_random_inputs_and_threads_give_the_same_result(program: Path, tmp_path: Path):
    for threads in (1, 3):
        out = tmp_path / f"y{threads}.npy"
        done = compile_(
            "run", program, "--function", "rows", "--input", "x=random:f32[300,129]", "--device", f"cpu:{threads}",
            "-o", out,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "y1.npy").tobytes() == np.load(tmp_path / "y3.npy").tobytes()
    assert np.load(tmp_path / "y1.npy").std() > 1


def test_dump_ir_numbers_every_stage(program: Path, tmp_path: Path):
    done = compile_("run", program, "--function", "rows", "--input", "x=random:f32[4,5]", "--dump-ir", tmp_path / "ir")
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "ir") in done.stdout
    found = sorted(p.name for p in (tmp_path / "ir").iterdir())
    assert [name[:2] for name in found] == [f"{i:02}" for i in range(len(found))]
    assert list(dict.fromkeys(name.split("-")[1] for name in found)) == list(STAGES)
    fused = [name[3:] for name in found if "-fused-" in name]
    for name, expected in zip(
        fused, ("topological-order", "fuse", "fuse-siblings", "select-mma", "fuse-rows"), strict=True
    ):
        assert name.startswith(f"fused-tx-{expected}")


def test_print_after_change_says_what_is_unchanged(program: Path):
    done = compile_apart(program, "--function", "rows", "--print-ir-after-change", "--stop-after=fused")
    assert done.returncode == 0, done.stderr
    assert "(unchanged)" in done.stderr
    assert "kernel.generic" in done.stderr
    assert "buffer f32[" not in done.stderr
    everything = compile_(program, "--function", "rows", "--print-ir-after-all", "--stop-after=fused")
    assert everything.stderr.count("tx.sum") > done.stderr.count("tx.sum")


def test_time_passes_prints_a_table(program: Path):
    done = compile_(program, "--function", "rows", "--time-passes")
    assert "tx-fuse" in done.stderr and "total" in done.stderr


def test_pass_options_reach_the_pass(program: Path):
    grouped = compile_(program, "--emit=fused")
    apart = compile_(program, "--emit=fused", "--passes", "tx-fuse-rows{enabled=false}")
    assert "kernel.row_group" in grouped.stdout
    assert apart.returncode == 0, apart.stderr
    assert "kernel.row_group" not in apart.stdout


def test_a_pass_is_printed_and_stopped_after(program: Path):
    """Inside a stage, too: nests are there before they are put together in rows."""
    fused, siblings = (compile_(program, f"--emit={name}").stdout for name in ("tx-fuse-rows", "tx-fuse-siblings"))
    assert fused == compile_(program, "--emit=fused").stdout
    assert "kernel.row_group" in fused and "kernel.generic" in siblings and "kernel.row_group" not in siblings
    printed = compile_(program, "--stop-after=tx-topological-order", "--print-ir-after-all").stderr
    assert "fused: tx-topological-order" in printed and "tx-fuse" not in printed


def test_an_option_of_an_earlier_version_is_said_to_be_one(program: Path):
    with pytest.warns(FutureWarning, match=r"tx-fuse\{rows=…\} is a name of an earlier version; write tx-fuse-rows\{"):
        done = compile_(program, "--emit=fused", "--passes", "tx-fuse{rows=false}")
    assert done.returncode == 0 and "kernel.row_group" not in done.stdout


def test_bisect_finds_no_culprit_in_a_right_compiler(program: Path):
    done = compile_("run", program, "--input", "x=random:f32[6,9]", "--input", "beta=1.0", "--bisect")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "loops" in done.stdout


def test_knobs_are_listed():
    done = compile_("knobs", COLUMNS="80", TXC_GDB="1")
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80
    named = ("NUM_THREADS", "DUMP_IR", "VERIFY", "PASSES", "PERF_MAP", "GDB = 1", "CHECK_BOUNDS", "TARGET")
    for name in (f"TXC_{n}" for n in named):
        assert name in done.stdout
    wrong = compile_("knobs", TXC_VERIFY="maybe")
    assert wrong.returncode == 1 and "TXC_VERIFY='maybe': it takes 0, 1, false or true" in wrong.stderr
    assert "TXC_VERIFY = 'maybe', which it does not take\n" in wrong.stdout and "TXC_PASSES\n" in wrong.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.tx"], "cannot read nowhere.tx: No such file or directory"),
        (["{program}", "--function", "softmx"], "did you mean 'softmax'?"),
        (["{program}", "--emit=fusd"], "there is no stage 'fusd'; did you mean 'fused'?"),
        (["{program}", "--emit=llvm", "--stop-after=fused"], "--emit=llvm comes after --stop-after=fused"),
        (["{program}", "--device", "tpu"], "there is no device 'tpu'"),
        (["{program}", "--device", "cpu:0"], "there is no device 'cpu:0'"),
        (["{program}", "--emit=fused", "--passes", "tx-fus"], "there is no pass 'tx-fus'; did you mean 'tx-fuse'?"),
        (["{program}", "--emit=fused", "--passes", "tx-fuse{row=true}"], "tx-fuse has no option 'row'; it has maps"),
        (["{program}", "--emit=fused", "--passes", "tx-fuse{"], "is no list of passes"),
        (["{program}", "--passes", "tx-fuse-rows{contractions=no}"], "tx-fuse-rows has a value that it does not take"),
        (["{program}", "--emit=tx-fuse-rws"], "there is no stage 'tx-fuse-rws'; did you mean 'tx-fuse-rows'?"),
        (["{program}", "--emit=tx-fuse-rows", "--stop-after=tx-fuse"], "comes after --stop-after=tx-fuse"),
        (["run", "{program}", "--input", "beta=1.0"], "missing input 'x' of softmax"),
        (["run", "{program}", "--input", "bta=1.0"], "did you mean 'beta'?"),
        (["run", "{program}", "--input", "x"], "--input 'x' has no '='"),
        (["run", "{program}", "--input", "beta=1", "--input", "beta=2"], "input 'beta' is given twice"),
        (["run", "{program}", "--input", "beta=one", "--input", "x=random:f32[2,2]"], "'one', which is no float"),
        (["run", "{program}", "--input", "beta=1", "--input", "x=@none.npy"], "cannot read none.npy"),
        (["run", "{program}", "--input", "beta=1", "--input", "x=@{program}"], "holds no array"),
        (["run", "{program}", "--input", "beta=1", "--input", "x=random:f99[2]"], "is not random:dtype[sizes]"),
        (["run", "{program}", "--input", "beta=1", "--input", "x=random:f64[2,2]"], "elements of type float64"),
        (["run", "{program}", "--input", "beta=1", "--input", "x=random:f32[2]"], "has rank 2"),
    ],
)  # fmt: skip
def test_wrong_input_is_explained(program: Path, arguments: list[str], message: str):
    done = compile_(*(a.format(program=program) if "{program}" in a else a for a in arguments))
    assert done.returncode == 1, done.stdout
    assert message in done.stderr


def test_unknown_option_names_the_nearest(program: Path):
    done = compile_apart(program, "--emitt=fused")
    assert done.returncode == 2
    assert "unknown option '--emitt=fused'; did you mean --emit?" in done.stderr


def test_the_nearest_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for word, command in (("rnu", "run"), ("knob", "knobs"), ("cahce", "cache"), ("calibrat", "calibrate")):
        done = compile_(word, "softmax.tx")
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: there is no command '{word}'; did you mean '{command}'?\n")
    (tmp_path / "knob").write_text(PROGRAM)
    assert compile_("knob", "--emit=graph").returncode == 0


def test_versions(capsys: pytest.CaptureFixture[str]):
    for arguments in (("--version",), ("run", "--version")):
        assert compile_(*arguments) == Done(0, f"tensor-compile {txc.__version__}\n", "")
    with pytest.raises(SystemExit) as end:
        tx_opt.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"tx-opt {txc.__version__} (xDSL {version('xdsl')})\n"


def test_a_knob_with_a_wrong_value_is_named(program: Path):
    done = compile_(program, TXC_VERIFY="maybe")
    assert done.returncode == 1
    assert "TXC_VERIFY='maybe': it takes 0, 1, false or true" in done.stderr


def test_a_program_that_is_wrong_shows_its_line(tmp_path: Path):
    path = tmp_path / "wrong.tx"
    path.write_text("def f(x: f32[n]) -> f32[n]:\n    return expp(x)\n")
    done = compile_apart(path)
    assert done.returncode == 1
    assert "wrong.tx:2" in done.stderr
    assert "return expp(x)" in done.stderr
    assert "^" in done.stderr


def test_an_error_of_the_run_has_its_line(tmp_path: Path):
    path = tmp_path / "outside.tx"
    path.write_text("def f(x: f32[n], k: i64[m]) -> f32[m]:\n    y = x + 1.0\n    return y[k]\n")
    np.save(tmp_path / "k.npy", np.array([1, 2]))
    done = compile_("run", path, "--input", "x=random:f32[2]", "--input", f"k=@{tmp_path / 'k.npy'}")
    assert done.returncode == 1
    assert f"f: index 2 is out of bounds for a dim of size 2 ({path}:3)" in done.stderr


def test_a_file_that_is_no_text(tmp_path: Path):
    path = tmp_path / "binary.tx"
    path.write_bytes(b"\xff\xfe\x00\x01")
    done = compile_(path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")


def test_cache_says_what_is_kept_and_why_a_function_is_not(program: Path, tmp_path: Path):
    folder = {"TXC_CACHE_DIR": str(tmp_path / "cache")}
    assert (
        "rows: miss: nothing is kept for a function of this name" in compile_("cache", "why", program, **folder).stdout
    )
    inputs = ("--input", "x=random:f32[3,5]", "--input", "beta=1.0")
    assert compile_apart("run", program, *inputs, **folder).returncode == 0
    why = compile_("cache", "why", program, **folder).stdout.splitlines()
    assert why == ["rows: miss: nothing is kept for a function of this name", "softmax: hit"]
    other = compile_("cache", "why", program, "--passes", "tx-fuse-rows{enabled=false}", **folder).stdout
    assert "softmax: miss: it is kept with another options" in other
    info = compile_("cache", "info", **folder).stdout
    assert f"folder   {folder['TXC_CACHE_DIR']}" in info and "entries  1, " in info and "1 graphs" in info
    assert compile_("cache", "clear", **folder).stdout == f"removed 1 entry of {folder['TXC_CACHE_DIR']}\n"
    assert "entries  0, " in compile_("cache", "info", **folder).stdout


@pytest.mark.parametrize(
    ("arguments", "environment", "message"),
    [
        (("cache",), {}, "error: the following arguments are required: info|clear|why"),
        (("cache", "burn"), {}, "error: argument info|clear|why: invalid choice: 'burn'"),
        (
            ("cache", "info"),
            {"TXC_CACHE_DIR": "0"},
            "error: there is no cache: the cache is switched off (TXC_CACHE_DIR)",
        ),
        (("cache", "info"), {"TXC_CACHE_SIZE_MB": "0"}, "error: TXC_CACHE_SIZE_MB='0': it takes a positive integer"),
    ],
)
def test_cache_errors(arguments: tuple[str, ...], environment: dict[str, str], message: str):
    done = compile_(*arguments, **environment)
    assert done.returncode != 0 and message in done.stderr


#: What a shell asks, as it takes the line apart, and what is offered.
COMPLETED = {
    "tensor-compile ru": ["run", "rules.tx"],
    "tensor-compile r": ["run", "rules.tx"],
    "tensor-compile --em": ["--emit"],
    "tensor-compile f.tx --emit = ": [*STAGES, "ptx", "so", "header"],
    "tensor-compile f.tx --emit = lo": ["loops"],
    "tensor-compile f.tx --emit lo": ["loops"],
    "tensor-compile f.tx --target x86-64-v": ["x86-64-v2", "x86-64-v3", "x86-64-v4"],
    "tensor-compile run f.tx --bi": ["--bisect"],
    "tensor-compile f.tx --bi": [],
    "tensor-compile cache c": ["clear"],
    "tensor-compile completion ": ["bash", "zsh"],
    "tensor-compile run f": [],
}


def test_a_shell_completes(tmp_path: Path):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    (tmp_path / "rules.tx").write_text(PROGRAM)
    (tmp_path / "rules.txt").write_text("")
    script = compile_("completion", "bash").stdout
    for line in COMPLETED:
        words = line.split() + [""] * line.endswith(" ")
        asked = " ".join(f"'{word}'" for word in words)
        script += f"COMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}; _tensor_compile; echo ${{COMPREPLY[@]}}\n"
    done = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == ""
    found = dict(zip(COMPLETED, (text.split() for text in done.stdout.split("\n")), strict=False))
    assert {line: sorted(words) for line, words in found.items()} == {k: sorted(v) for k, v in COMPLETED.items()}
    assert compile_("completion", "zsh").stdout.startswith("autoload -U +X compinit bashcompinit")
    wrong = compile_("completion", "fish")
    assert wrong.returncode == 2 and "invalid choice: 'fish'" in wrong.stderr
