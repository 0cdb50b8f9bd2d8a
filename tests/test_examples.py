"""Every example, in `.tx` and Python: machine code and the graph interpreter against NumPy in f64."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import txc
from txc.compiler.interpret.bisect import bisect
from txc.compiler.interpret.graph import run_graph
from txc.compiler.stages import IR_STAGES

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
RNG = np.random.default_rng(17)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def positive(n: int) -> np.ndarray:
    return RNG.uniform(50, 150, n)


def table() -> np.ndarray:
    return np.loadtxt(EXAMPLES / "data/digits.csv.gz", delimiter=",", dtype=np.float32)


def weights() -> list[np.ndarray]:
    with np.load(EXAMPLES / "data/mlp_digits.npz") as file:
        return [file[name] for name in ("w1", "b1", "w2", "b2")]


#: Arguments of each example; where its Python form is not in the module of its name; what it may be off, in eps.
ARGUMENTS: dict[str, Any] = {
    "softmax": lambda: (normal(7, 13), 1.5),
    "eigen_eval": lambda: (normal(5, 9),),
    "layer_norm": lambda: (normal(6, 33), normal(33), normal(33), 1e-5),
    "gelu": lambda: (normal(4, 19),),
    "black_scholes": lambda: (positive(21), positive(21), positive(21) / 100, 0.02, 0.3),
    "pairwise_distance": lambda: (normal(5, 8), normal(9, 8)),
    "heat": lambda: (positive(30).reshape(5, 6), 0.2, 7),
    "mlp": lambda: (normal(3, 64), *weights()),
    "gaussian_blur": lambda: (normal(12, 17), np.full(5, 0.2, np.float32)),
    "digits_classifier": lambda: (table(),),
    "k_means": lambda: (normal(3, 60).astype(np.float64), normal(3, 4).astype(np.float64), 3),
    "mlp_digits": lambda: (table(), *weights()),
}
MODULES = {"mlp_digits": "mlp"}
TOLERANCE = 64


def python(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    if name in ("gelu", "black_scholes"):
        pytest.importorskip("scipy", reason="NumPy has no erf: the Python form takes SciPy's")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return importlib.import_module(MODULES.get(name, name))


def same(got: Any, expected: Any) -> None:
    """Integers equal; floats within `TOLERANCE` units of their precision, relative to the largest value."""
    if isinstance(expected, tuple):
        assert len(got) == len(expected)
        for g, e in zip(got, expected):
            same(g, e)
        return
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(got, expected)
        return
    np.testing.assert_allclose(got, expected, rtol=0, atol=TOLERANCE * np.finfo(got.dtype).eps * abs(expected).max())


def exact(value: Any) -> Any:
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def test_every_example_is_tested():
    assert {p.stem for p in EXAMPLES.glob("*.tx")} == set(ARGUMENTS)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_example(name: str, monkeypatch: pytest.MonkeyPatch):
    module = python(name, monkeypatch)
    jitted = getattr(module, name)
    arguments = ARGUMENTS[name]()
    reference = vars(module)[name].__wrapped__
    for inner in ("mlp",) if name == "mlp_digits" else ():
        monkeypatch.setattr(module, inner, getattr(module, inner).__wrapped__)
    expected = reference(*map(exact, arguments))
    monkeypatch.undo()
    function = txc.load(EXAMPLES / f"{name}.tx").function(name)
    same(function(*arguments), expected)
    graph = function.graph
    interpreted = run_graph(graph, {i.name: a for i, a in zip(graph.inputs, arguments, strict=True)})
    same(tuple(interpreted) if isinstance(expected, tuple) else interpreted[0], expected)
    same(jitted(*arguments), expected)


def arguments_for_interpreters(name: str) -> tuple[Any, ...]:
    """The classifier with few digits to classify: the interpreters take their time."""
    return (table()[:1204],) if name == "digits_classifier" else ARGUMENTS[name]()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_stage_of_an_example_agrees(name: str) -> None:
    """From `fused` down bit for bit, on any number of threads and with any vector width."""
    function, arguments = txc.load(EXAMPLES / f"{name}.tx").function(name), arguments_for_interpreters(name)
    report = bisect(function.graph, {i.name: a for i, a in zip(function.graph.inputs, arguments, strict=True)})
    assert report.culprit is None, str(report)
    assert report.steps == ("graph", *IR_STAGES, "obj")

    def bits(**options: Any) -> list[bytes]:
        found = function.options(**options)(*(np.copy(a) if isinstance(a, np.ndarray) else a for a in arguments))
        return [np.asarray(part).tobytes() for part in (found if isinstance(found, tuple) else (found,))]

    expected = bits(threads=1)
    for threads in (2, 3, 7):
        assert bits(threads=threads) == expected, f"{threads} threads"
    for lanes in (4, 8, 16):
        assert bits(passes=f"tx-schedule-cpu{{lanes={lanes}}}", threads=3) == expected, f"{lanes} lanes"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.tx")), ids=lambda p: p.stem)
def test_every_function_of_every_example_is_right(path: Path):
    module = txc.load(path)
    for function in module.functions.values():
        assert function.graph.outputs
        assert function.__doc__


def test_held_out_digits():
    assert txc.load(EXAMPLES / "digits_classifier.tx").digits_classifier(table())[0] > 0.95
    assert txc.load(EXAMPLES / "mlp_digits.tx").mlp_digits(table(), *weights())[0] > 0.92


def test_heat_takes_its_steps_at_run_time():
    heat = txc.load(EXAMPLES / "heat.tx").heat
    plate = positive(30).reshape(5, 6)
    before = plate.copy()
    np.testing.assert_array_equal(heat(plate, 0.2, 0), before)
    assert not np.array_equal(heat(plate, 0.2, 1), heat(plate, 0.2, 2))
    np.testing.assert_array_equal(plate, before)


def test_each_point_of_the_mandelbrot_set_runs_its_own_loop(monkeypatch: pytest.MonkeyPatch):
    module = python("mandelbrot", monkeypatch)
    re, im = np.linspace(-2, 0.6, 23), np.linspace(-1.2, 1.2, 17)
    found = module.mandelbrot(re, im, 60)
    assert found.shape == (17, 23) and found.max() == 60 and found.min() == 1
    np.testing.assert_array_equal(found, [[module.escape(x, y, 60) for x in re] for y in im])


def test_gelu_by_tanh_is_near_gelu():
    module = txc.load(EXAMPLES / "gelu.tx")
    x = normal(8, 8)
    np.testing.assert_allclose(module.gelu_tanh(x), module.gelu(x), atol=2e-3)


def test_eval_by_hand_changes_no_value():
    module = txc.load(EXAMPLES / "eigen_eval.tx")
    x = normal(6, 11)
    np.testing.assert_array_equal(module.by_hand(x), module.eigen_eval(x))


def test_the_blurred_picture_is_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    blur = python("gaussian_blur", monkeypatch)
    monkeypatch.setattr(sys, "argv", ["gaussian_blur.py", str(tmp_path)])
    blur.main()
    before, after = blur.read_png(tmp_path / "before.png"), blur.read_png(tmp_path / "after.png")
    assert before.shape == (512, 512) and after.shape == (492, 492)
    assert np.abs(np.diff(after.astype(int))).mean() < np.abs(np.diff(before.astype(int))).mean() / 2


def test_the_command_prints_the_accuracy():
    data = EXAMPLES / "data/digits.csv.gz"
    command = [sys.executable, "-m", "txc.compiler.cli.main", "run", str(EXAMPLES / "digits_classifier.tx")]
    done = subprocess.run([*command, "--input", f"table=@{data}"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "accuracy = 0.96" in done.stdout
