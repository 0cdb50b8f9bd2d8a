"""``python -m benchmarks.gpu`` on the simulator: results are compared, peers take part or say why not."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import gpu  # noqa: E402
from benchmarks.gpu_peers import PEERS, Peer, available  # noqa: E402

BY_NAME = {family.name: family for family in gpu.FAMILIES}


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("add", "softmax", "matmul-bf16")
    arguments = [a for name in chosen for a in ("--family", name)]
    assert gpu.main(["--device", "ptx-sim", *arguments, "--json", str(tmp_path / "figures.json")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "ptx-sim: runs PTX in NumPy, slowly, and checks it" and printed[1].endswith("not measured")
    assert [line.split()[0] for line in printed[-3:]] == list(chosen) and "bf16" in printed[-1]
    assert [line.split(":")[0] for line in printed[2:5]] == [
        "a call of one kernel", "a kernel of a graph", "a kernel of as many launches",
    ]  # fmt: skip
    report = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    rows = report["rows"]
    assert all(seconds > 0 for seconds in report["launches"].values()) and len(report["launches"]) == 3
    assert [(row["name"], row["problem"], [*row["seconds"]]) for row in rows] == [(c, "", ["txc"]) for c in chosen]


def test_peers_take_turns_and_shares_are_of_the_faster_one() -> None:
    def refuses(program: Any) -> Any:
        raise ValueError("no such program")

    numpy = Peer(np.copy, np.asarray, lambda program: program, lambda: None)
    peers = {"torch": numpy, "jax": Peer(np.copy, np.asarray, refuses, lambda: None)}
    row = gpu.measure(BY_NAME["attention"], "ptx-sim", peers, None, seed=1)
    assert [*row.seconds] == ["txc", "torch"] and row.share == row.seconds["torch"] / row.seconds["txc"]
    assert gpu.measure(BY_NAME["add"], "ptx-sim", {}, 1e9, seed=1).share is not None


def test_a_wrong_result_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    off = Peer(np.copy, lambda result: result + 1, lambda program: program, lambda: None)
    row = gpu.measure(BY_NAME["add"], "ptx-sim", {"cupy": off}, None, seed=1)
    assert row.problem == "" and "cupy" not in row.seconds
    assert "add: cupy does not take part: WRONG: off by" in capsys.readouterr().err


def test_what_is_not_here() -> None:
    found, missing = available(list(PEERS))
    assert set(found) | set(missing) == set(PEERS) and all(missing.values())
    with pytest.raises(SystemExit, match="measures the CPU; name a GPU here"):
        gpu.main(["--device", "cpu"])
    with pytest.raises(SystemExit, match="there is no device 'cuda:99' here: "):
        gpu.main(["--device", "cuda:99"])


def test_narrow_products_are_those_of_matrix_units() -> None:
    for name, used in (("matmul-f16", True), ("matmul-bf16", True), ("matmul-f32", False)):
        family = BY_NAME[name]
        x = np.ones((32, 32), np.float16 if used else np.float32)
        ptx = gpu.txc.jit(family.program, device="ptx-sim", **family.options).lower(x, x).as_text("ptx")
        assert ("mma.sync" in ptx or "wgmma" in ptx) == used
