"""Running a program by Python and by txc, and what comes of it."""

from __future__ import annotations

import copy
import importlib.util
import tempfile
import warnings
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import txc
from txc.compiler.diagnostics import TxcError

from .generate import Program

__all__ = ["Outcome", "compare"]

_numbers = count()


class Outcome(NamedTuple):
    """``same``, ``refused`` (with its code) or ``different``, and what was found."""

    verdict: str
    code: str = ""
    detail: str = ""


def _run(f: Any, arguments: tuple[Any, ...]) -> tuple[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "value", f(*arguments)
    except TxcError as error:
        return "refused", error
    except Exception as error:
        return "raised", error


def _same(a: Any, b: Any) -> bool:
    if type(a) is not type(b) and not all(isinstance(v, (bool, int, float, complex, np.generic)) for v in (a, b)):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.allclose(a, b, 1e-5, 1e-5, equal_nan=True)
    if not isinstance(a, (bool, int, float, complex, np.generic)):
        return bool(a == b)
    return bool(np.isclose(a, b, 1e-5, 1e-5, equal_nan=True))


def compare(program: Program, folder: str | None = None) -> Outcome:
    """What Python and the jitted function do with a program: its result, and what it leaves in its arguments."""
    with tempfile.TemporaryDirectory() as made:
        path = Path(folder or made) / f"program{next(_numbers)}.py"
        path.write_text("import numpy as np\n\n\n" + program.text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        theirs = eval(f"({program.arguments})", {"np": np})
        ours = copy.deepcopy(theirs)  # which keeps what is one array one array, and makes all contiguous
        ours = tuple(_as(a, b) for a, b in zip(ours, theirs))
        if theirs[0] is theirs[1]:
            ours = (ours[0], ours[0], *ours[2:])
        how, expected = _run(module.f, theirs)
        got_how, got = _run(txc.jit(module.f), ours)
    if got_how == "refused":
        if how == "raised" and isinstance(got, type(expected)):
            return Outcome("same")
        located = got.loc is not None and got.loc.filename == str(path)
        return Outcome("refused" if located else "different", got.code, str(got))
    if how == "raised":
        same = got_how == "raised" and type(got) is type(expected)
        return Outcome("same" if same else "different", "", f"Python raises {expected!r}, txc: {got_how} {got!r}")
    if got_how == "raised":
        return Outcome("different", "", f"txc raises {got!r}")
    if _same(got, expected) and all(map(_same, ours, theirs)):
        return Outcome("same")
    return Outcome("different", "", f"Python: {expected!r} {theirs!r}\n   txc: {got!r} {ours!r}")


def _as(value: Any, original: Any) -> Any:
    """A copy with the strides of the original."""
    if not isinstance(original, np.ndarray):
        return value
    start = 0 if original.strides[0] > 0 else (len(original) - 1) * -original.strides[0]
    memory = np.zeros(abs(original.strides[0]) * len(original), np.uint8)
    made = np.ndarray(original.shape, original.dtype, memory.data, start, original.strides)
    made[...] = value
    return made
