"""Command lines that nobody should type: each ends in an error of a few lines, and leaves nothing on disk."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from txc.compiler.cli import tx_opt

from .test_cli import compile_

SOURCES = Path(__file__).parent.parent / "src"
NOT_NUMPYS = "holds no array: it is none of NumPy's, or has Python's objects"
PROGRAMS = {
    "ok.tx": "def f(x: f32[n, m], beta: f32) -> f32[n]:\n    return (x * beta).sum([1])\n",
    "whole.tx": "def f(x: f32[n], k: i64) -> f32[n]:\n    return x * k\n",
    "two.tx": "def f(x: f32[n], y: f32[n]) -> (f32[n], f32[n]):\n    return x + y, x - y\n",
    "cube.tx": "def f(x: f32[a, b, c]) -> f32[a, b, c]:\n    return x + 1.0\n",
    "parentheses.tx": f"def f(x: f32[n]):\n    return {'(' * 300}x{')' * 300}\n",
    "signs.tx": f"def f(x: f32[n]):\n    return {'-' * 5000}x\n",
    "sum.tx": f"def f(x: f32[n]):\n    return x{' + x' * 3000}\n",
    "calls.tx": f"def f(x: f32[n]):\n    return {'exp(' * 199}x{')' * 199}\n",
    "itself.tx": "def f(x: f32[n]):\n    return f(x)\n",
    "class.tx": "class A: pass\n",
    "tabs.tx": "def f(x: f32[n]):\n\treturn x\n        return x\n",
    "digits.tx": f"def f(x: f32[n]):\n    return x + 1{'0' * 5000}\n",
    "umlaut.tx": "def f(\u00e4: f32[n]) -> f32[n]:\n    return \u00e4 + 1.0\n",
    "empty.tx": "",
    "null.tx": "def f(x: f32[n]):\n    return x\0\n",
    "a_file": "x",
    "text.npy": "hello",
    "text.npz": "hello",
    "empty.npy": "",
    "ragged.csv": "1,2,3\n4,5\n",
    "words.csv": "a,b\nc,d\n",
    "empty.csv": "",
    "plain.csv.gz": "1,2",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "a_folder.npy").mkdir()
    (folder / "bytes.tx").write_bytes(bytes(range(256)))
    (folder / "utf16.tx").write_bytes(PROGRAMS["ok.tx"].encode("utf-16"))
    (folder / "bytes.csv").write_bytes(b"\xff\xfe1,2")
    x = np.ones((2, 3), np.float32)
    np.save(folder / "x.npy", x)
    np.save(folder / "v.npy", x[0])
    np.save(folder / "cube.npy", x[None])
    np.savez(folder / "two.npz", a=x, b=x)
    np.savez(folder / "objects.npz", a=np.array([None]))
    np.save(folder / "objects.npy", np.array([1, "a", None], object), allow_pickle=True)
    (folder / "pickle.npz").write_bytes(pickle.dumps({"a": 1}))
    (folder / "half.npy").write_bytes((folder / "x.npy").read_bytes()[:-5])
    (folder / "half.npz").write_bytes((folder / "two.npz").read_bytes()[:200])
    head = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 10000000), }"
    (folder / "huge.npy").write_bytes(head.ljust(127) + b"\n")
    return folder


@pytest.fixture
def here(files: Path, monkeypatch: pytest.MonkeyPatch):
    """The folder of hostile files, in which the test works, and which is to be as it was."""
    monkeypatch.chdir(files)
    before = sorted(os.listdir(files))
    yield files
    assert sorted(os.listdir(files)) == before


def _with_x(value: str) -> str:
    return f"run ok.tx --input beta=1 --input x={value}"


RUN = "run ok.tx --input x=@x.npy --input beta=1"
#: Command lines, the end of the error's first line or a part of it, and environment variables.
CASES: list[tuple[str, str, dict[str, str]]] = [
    (line, message, {})
    for line, message in {
        "": "the following arguments are required: FILE.tx",
        ".": "cannot read .: Is a directory",
        "/dev/null": "/dev/null has no function",
        "/dev/zero": "cannot read /dev/zero: it is longer than any program",
        "bytes.tx": "cannot read bytes.tx: it is not text",
        "utf16.tx": "cannot read utf16.tx: it is not text",
        "empty.tx": "empty.tx has no function",
        "null.tx": "syntax error: source code string cannot contain null bytes",
        "x\0.tx": "embedded null byte",
        f"{'a' * 300}.tx": "File name too long",
        "tabs.tx": "syntax error: inconsistent use of tabs and spaces",
        "parentheses.tx": "syntax error: too many nested parentheses",
        "signs.tx": "signs.tx cannot be read: maximum recursion depth exceeded",
        "sum.tx": "sum.tx cannot be read: maximum recursion depth exceeded",
        "calls.tx": "the program has more expressions in each other than the compiler follows",
        "digits.tx": "syntax error: Exceeds the limit",
        "itself.tx": "f calls itself",
        "class.tx": "only functions may stand at the top of a .tx file",
        "ok.tx --function= --emit=loops": "ok.tx has no function ''",
        "ok.tx ok.tx": "unknown option 'ok.tx'",
        "ok.tx --emit": "argument --emit: expected one argument",
        "ok.tx --emit=llvm --dump-ir a_file": "the IR cannot be written into a_file: File exists",
        "ok.tx --emit=llvm --dump-ir a_file/sub": "the IR cannot be written into a_file/sub: Not a directory",
        "ok.tx --emit=so -o .": "cannot write .: it is a folder",
        "ok.tx --emit=obj -o=": "cannot write .: it is a folder",
        "ok.tx --emit=obj -o a_file/x": "cannot write a_file/x.o: Not a directory",
        "ok.tx --emit=obj -o /nowhere/x": "cannot write /nowhere/x.o: No such file or directory",
        "ok.tx --emit=llvm -o /dev/full": "cannot write /dev/full: No space left on device",
        "ok.tx --emit=llvm -o /nowhere/x": "cannot write /nowhere/x: No such file or directory",
        "ok.tx --emit=so -o x --target pdp11": "there is no target 'pdp11'",
        "ok.tx --emit=so -o x --symbol a-b": "'a-b' is no name of a C function",
        "ok.tx --emit=so -o x --threads many": "there are no threads 'many'",
        f"{RUN} -o .": "cannot write .: it is a folder",
        f"{RUN} -o a_folder.npy": "cannot write a_folder.npy: it is a folder",
        f"{RUN} -o y": "cannot write y: its suffix names no format",
        f"{RUN} -o y.npy.gz": "cannot write y.npy.gz: its suffix names no format",
        f"{RUN} -o /dev/full": "cannot write /dev/full: No space left on device",
        f"{RUN} -o /nowhere/y.npy": "cannot write /nowhere/y.npy: No such file or directory",
        f"{RUN} -o a_file/y.npy": "cannot write a_file/y.npy: Not a directory",
        "run two.tx --input x=@v.npy --input y=@v.npy -o y.npy": "there are 2 results, and y.npy holds one array",
        "run two.tx --input x=@v.npy --input y=@v.npy -o y.csv": "there are 2 results, and y.csv holds one array",
        "run cube.tx --input x=@cube.npy -o y.csv": "y.csv is a table of numbers, and the result is float32 of rank 3",
        f"{RUN} --dump-ir a_file": "the IR cannot be written into a_file: File exists",
        f"{RUN} --max-temp-bytes -1": "max_temp_bytes must be a number of bytes, not -1",
        f"{RUN} --passes=,": "',' is no list of passes",
        _with_x("@text.npy"): f"text.npy {NOT_NUMPYS}",
        _with_x("@text.npz:a"): f"text.npz {NOT_NUMPYS}",
        _with_x("@empty.npy"): "empty.npy holds no array: No data left in file",
        _with_x("@objects.npy"): f"objects.npy {NOT_NUMPYS}",
        _with_x("@objects.npz:a"): f"objects.npz {NOT_NUMPYS}",
        _with_x("@pickle.npz:a"): f"pickle.npz {NOT_NUMPYS}",
        _with_x("@half.npy"): "half.npy holds no array: ",
        _with_x("@half.npz:a"): "half.npz holds no array: File is not a zip file",
        _with_x("@two.npz:c"): "two.npz has no array 'c'",
        _with_x("@x.npy:a"): "x.npy is one array, and has no 'a'",
        _with_x("@huge.npy"): "huge.npy does not fit into memory",
        _with_x("@ragged.csv"): "ragged.csv holds no array: the number of columns changed",
        _with_x("@words.csv"): "words.csv holds no array: could not convert string 'a'",
        _with_x("@empty.csv"): "empty.csv holds no array: it is empty",
        _with_x("@bytes.csv"): "bytes.csv holds no array: 'utf-8' codec can't decode",
        _with_x("@plain.csv.gz"): "cannot read plain.csv.gz: Not a gzipped file",
        _with_x("@"): "cannot read : No such file or directory",
        _with_x("@."): "cannot read .: Is a directory",
        _with_x("random:f32[1000000,1000000]"): "an array of shape (1000000, 1000000) does not fit into memory",
        _with_x(f"random:f32[{10**20},3]"): "does not fit into memory",
        _with_x("random:f32[-1,3]"): "'random:f32[-1,3]' is not random:dtype[sizes]",
        "run whole.tx --input x=@v.npy --input k=1.5": "input 'k' is '1.5', which is no int",
        "run ok.tx --input =1": "f has no input ''",
        "run ok.tx --input": "argument --input: expected one argument",
        "cache why": "the following arguments are required: FILE.tx",
        "calibrate x": "unknown option 'x'",
    }.items()
] + [
    ("cache info", "there is no cache: ", {"TXC_CACHE_DIR": "a_file"}),
    (RUN, "the IR cannot be written into a_file/", {"TXC_DUMP_IR": "a_file"}),
    ("ok.tx --emit=so -o x", "TXC_CC='\"': it takes a command", {"TXC_CC": '"'}),
    ("ok.tx --emit=so -o x", "cannot run nothing-here: No such file or directory", {"TXC_CC": "nothing-here"}),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")  # that there is no cache
@pytest.mark.parametrize(("line", "message", "environment"), CASES, ids=[f"{c[0][:60]!r}" for c in CASES])
def test_an_error_of_a_few_lines(here: Path, line: str, message: str, environment: dict[str, str]):
    done = compile_(*line.split(" ") if line else (), **environment)
    assert done.returncode in (1, 2)
    head, *rest = done.stderr.strip().splitlines()
    assert message in done.stderr and len(rest) <= 4
    assert "error: " in head and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nowhere.mlir", "cannot read nowhere.mlir: No such file or directory"),
        (".", "cannot read .: Is a directory"),
        ("ok.tx", "ok.tx: Unrecognized file extension 'tx'"),
        ("-f mlir bytes.tx", "bytes.tx: it is not text"),
        ("-f mlir ok.tx", "Operation def is not registered"),
        ("-p tx-fus /dev/null", "Unrecognized passes: ['tx-fus']; did you mean 'tx-fuse'?"),
        ("-p tx-fuse{ /dev/null", "Error parsing pass pipeline specification"),
        ("-p tx-fuse{nothing=1} /dev/null", 'Provided arguments ["nothing"] not found'),
        ("-f mlir -o /nowhere/x /dev/null", "cannot write /nowhere/x: No such file or directory"),
    ],
)
def test_tx_opt_says_what_is_wrong(here: Path, line: str, message: str):
    with contextlib.redirect_stderr(io.StringIO()) as errors, pytest.raises(SystemExit) as end:
        tx_opt.main(line.split())
    assert end.value.code == 1 and errors.getvalue().startswith("error: ") and message in errors.getvalue()


def test_results_are_written_as_the_suffix_says(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(files)
    for name, separator in (("y.csv", ","), ("y.txt", None)):
        done = compile_("run", "two.tx", *"--input x=@v.npy --input y=@v.npy".split(), "-o", tmp_path / "both.npz")
        assert done.returncode == 0, done.stderr
        done = compile_(*RUN.split(), "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert np.loadtxt(tmp_path / name, delimiter=separator).tolist() == [3, 3]
    linked = tmp_path / "link.npy"
    linked.symlink_to(tmp_path / "target.npy")
    assert compile_(*RUN.split(), "-o", linked).returncode == 0
    assert linked.is_symlink() and np.load(tmp_path / "target.npy").tolist() == [3, 3]
    (tmp_path / "bom.tx").write_bytes(b"\xef\xbb\xbf" + PROGRAMS["ok.tx"].encode())
    assert compile_(tmp_path / "bom.tx", "--emit=llvm").returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["bom.tx", "both.npz", "link.npy", "target.npy", "y.csv", "y.txt"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_behind_the_output_and_a_terminal_of_ascii(files: Path):
    command = [sys.executable, "-m", "txc.compiler.cli.main", "umlaut.tx", "--emit=graph"]
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTHONIOENCODING": "ascii"}
    with open("/dev/full", "wb") as full:
        done = [
            subprocess.run(command, stdout=to, stderr=subprocess.PIPE, cwd=files, env=environment, check=False)
            for to in (full, subprocess.PIPE)
        ]
    assert (done[0].returncode, done[0].stderr) == (1, b"error: standard output: No space left on device\n")
    assert (done[1].returncode, done[1].stderr) == (0, b"") and b"\\xe4" in done[1].stdout
