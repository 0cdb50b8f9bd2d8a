"""The values of ``--input name=value``: files, random arrays and numbers, fitted to what a function declares."""

from __future__ import annotations

import difflib
import gzip
import re
import warnings
import zlib
from collections.abc import Sequence
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ...dialects.types import DTYPES, DType, TensorType
from ..frontend.trace.graph import Graph, Input

__all__ = ["CliError", "read_inputs", "signature"]


class CliError(Exception):
    """What the user typed, or a file it names, does not do; `hint` says what would."""

    def __init__(self, message: str, hint: str = ""):
        super().__init__(message)
        self.hint = hint


def signature(given: Input) -> str:
    """An input as its declaration reads: ``x: f32[n, m]``."""
    if given.value is None:
        return f"{given.name}: int"
    kind = given.value.type
    dims = kind.dims[::-1] if given.layout == "col" else kind.dims
    text = f"[{', '.join(map(str, dims))}]" if dims else ""
    return f"{given.name}: {kind.dtype}{text}{'.col' if given.layout == 'col' else ''}"


def read_inputs(graph: Graph, texts: Sequence[str]) -> dict[str, Any]:
    """Arrays and ints for every input of the graph, in the user's dims; also those that the program itself has.

    Raises CliError for what is missing, unknown, given twice, unreadable, or of another type than declared.
    """
    declared = {i.name: i for i in graph.inputs if not i.hidden}
    given: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise CliError(f"--input {text!r} has no '='", "write --input name=value, for example x=@x.npy")
        if name not in declared:
            near = difflib.get_close_matches(name, declared, 1)
            known = ", ".join(map(signature, declared.values())) or "no inputs"
            raise CliError(
                f"{graph.name} has no input {name!r}", f"did you mean {near[0]!r}?" if near else f"it takes {known}"
            )
        if name in given:
            raise CliError(f"input {name!r} is given twice")
        given[name] = value
    missing = [i for name, i in declared.items() if name not in given]
    if missing:
        first = missing[0]
        raise CliError(
            f"missing input {', '.join(repr(i.name) for i in missing)} of {graph.name}",
            f"{signature(first)}: give it with --input {first.name}={_example(first)}",
        )
    written = {i.name: i.source for i in graph.inputs if i.hidden}
    return {**written, **{name: _read(declared[name], text) for name, text in given.items()}}


def _example(given: Input) -> str:
    if given.value is None:
        return "4"
    kind = given.value.type
    if not kind.dims:
        return "1.0"
    sizes = ",".join(str(d.const if d.const is not None else 8) for d in kind.dims)
    return f"random:{kind.dtype}[{sizes}]"


def _read(given: Input, text: str) -> Any:
    if given.value is None:
        return _number(given.name, text, int)
    kind = given.value.type
    if text.startswith("@"):
        array = _file(given.name, text[1:], kind.dtype)
    elif text.startswith("random:"):
        array = _random(given.name, text[len("random:") :])
    elif kind.rank == 0:
        array = np.asarray(_scalar(given.name, text, kind.dtype), kind.dtype.numpy)
    else:
        raise CliError(
            f"input {given.name!r} is {text!r}, but {signature(given)} is an array",
            f"write {given.name}=@file.npy or {given.name}={_example(given)}",
        )
    return _checked(given, kind, array)


def _checked(given: Input, kind: TensorType, array: np.ndarray) -> np.ndarray:
    if array.ndim != kind.rank:
        raise CliError(f"input {given.name!r} has shape {array.shape}, but {signature(given)} has rank {kind.rank}")
    if array.dtype != kind.dtype.numpy:
        raise CliError(f"input {given.name!r} has elements of type {array.dtype}, but it is {signature(given)}")
    return array


def _scalar(name: str, text: str, element: DType) -> Any:
    if element.kind == "bool":
        if text.lower() not in ("true", "false"):
            raise CliError(f"input {name!r} is {text!r}, not true or false")
        return text.lower() == "true"
    return _number(name, text, complex if element.is_complex else float if element.is_float else int)


def _number(name: str, text: str, kind: type[Any]) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise CliError(f"input {name!r} is {text!r}, which is no {kind.__name__}") from None


def _random(name: str, text: str) -> np.ndarray:
    """``f32[64,128]``: standard normal floats, integers from 0 to 9, coin flips; the same for a name in every run."""
    match = re.fullmatch(r"\s*(\w+)\s*\[([\d\s,]*)\]\s*", text)
    if match is None or match[1] not in DTYPES:
        raise CliError(f"input {name!r}: 'random:{text}' is not random:dtype[sizes]", f"dtypes are {', '.join(DTYPES)}")
    element = DTYPES[match[1]]
    shape = [int(s) for s in match[2].split(",") if s.strip()]
    try:
        return _drawn(np.random.default_rng(zlib.crc32(name.encode())), element, shape)
    except (MemoryError, ValueError):  # the number of elements is beyond an array's
        raise CliError(f"input {name!r}: an array of shape {tuple(shape)} does not fit into memory") from None


def _drawn(generator: np.random.Generator, element: DType, shape: Sequence[int]) -> np.ndarray:
    if element.is_complex:
        parts = [generator.standard_normal(shape) for _ in range(2)]
        return (parts[0] + 1j * parts[1]).astype(element.numpy)
    if element.is_float:
        return generator.standard_normal(shape).astype(element.numpy)
    return generator.integers(0, 2 if element.kind == "bool" else 10, shape).astype(element.numpy)


def _file(name: str, text: str, element: DType) -> np.ndarray:
    """A `.npy` file, an array of a `.npz` (``file.npz:name``), or a table of numbers (`.csv`, `.csv.gz`)."""
    path, named, member = text.partition(":")
    try:
        if path.endswith((".csv", ".csv.gz")):
            return _table(path, element)
        loaded = np.load(path, allow_pickle=False)
        if not isinstance(loaded, np.ndarray):
            with loaded:
                return _member(name, path, member, loaded)
    except OSError as error:
        raise CliError(f"input {name!r}: cannot read {path}: {error.strerror or error}") from None
    except MemoryError as error:
        raise CliError(f"input {name!r}: {path} does not fit into memory: {error}") from None
    except (ValueError, EOFError, BadZipFile, zlib.error) as error:
        reason = "it is none of NumPy's, or has Python's objects" if "allow_pickle" in str(error) else error
        raise CliError(
            f"input {name!r}: {path} holds no array: {reason}", "it takes .npy, .npz:name, .csv and .csv.gz"
        ) from None
    if named:
        raise CliError(f"input {name!r}: {path} is one array, and has no {member!r}", f"write {name}=@{path}")
    return loaded


def _table(path: str, element: DType) -> np.ndarray:
    """ValueError for a file that is no table of numbers."""
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as lines, warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.loadtxt(lines, delimiter=",", dtype=element.numpy, ndmin=2)
        except UserWarning:
            raise ValueError("it is empty") from None


def _member(name: str, path: str, member: str, loaded: Any) -> np.ndarray:
    if member not in loaded:
        near = ", ".join(loaded)
        raise CliError(f"input {name!r}: {path} has no array {member!r}", f"write {path}:NAME with one of {near}")
    return loaded[member]
