"""`examples/wheel`: built, installed beside NumPy alone, and run where there is no txc."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest

from txc.compiler.aot.c_signature import ExportError
from txc.compiler.aot.linker import find_linker
from txc.compiler.codegen.target.llvm_backend import host_target

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
try:
    import txc
except ModuleNotFoundError:
    import numpy, rowwise
    x = numpy.load("x.npy")
    numpy.savez("made.npz", softmax=rowwise.softmax(x, 0.5), centred=rowwise.centred(x.T))
    try:
        rowwise.centred(x[0])
    except ValueError as error:
        print(error)
"""


def require() -> None:
    for name, least in (("pip", 22), ("setuptools", 71)):
        try:
            found = version(name)
        except PackageNotFoundError:
            found = "0"
        if int(found.partition(".")[0]) < least:
            pytest.skip(f"{name} {least} or later is not installed")
    try:
        find_linker(host_target())
    except ExportError as error:
        pytest.skip(str(error))


def run(folder: Path, *arguments: str, environment: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_wheel_with_kernels_runs_without_txc(tmp_path: Path):
    require()
    project = shutil.copytree(ROOT / "examples/wheel", tmp_path / "project")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "tensor-compile"
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m txc.compiler.cli.main "$@"\n'
    )
    command.chmod(0o755)
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    ours = {**plain, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{plain['PATH']}", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    pip = ["-m", "pip", "--no-input", "-q"]
    run(project, *pip, "wheel", "--no-build-isolation", "--no-deps", "--no-index", ".", "-w", "made", environment=ours)
    (wheel,) = (project / "made").iterdir()
    assert wheel.name.startswith("rowwise-1.0-py3-none-") and "any" not in wheel.name
    site = tmp_path / "site"
    run(project, *pip, "install", "--no-deps", "--no-index", "--target", str(site), str(wheel), environment=ours)
    numpy = Path(np.__file__).parent
    for needed in (numpy, numpy.with_name("numpy.libs")):
        if needed.exists():
            (site / needed.name).symlink_to(needed)
    x = np.random.default_rng(3).standard_normal((5, 7), np.float32)
    np.save(tmp_path / "x.npy", x)
    # -S: of what this interpreter has installed, only NumPy can be imported.
    said = run(tmp_path, "-S", "-c", PROGRAM, environment={**plain, "PYTHONPATH": str(site)})
    assert said == "centred takes arrays of two dims, not of 1\n"
    made = np.load(tmp_path / "made.npz")
    e = np.exp(x.astype(np.float64) * 0.5)
    np.testing.assert_allclose(made["softmax"], e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(made["centred"], x.T - x.T.mean(axis=1, keepdims=True), rtol=1e-5, atol=1e-6)
