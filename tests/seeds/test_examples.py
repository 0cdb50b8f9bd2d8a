"""Every worked example of the Eigen documents, by three front ends, in its layouts, on one and four threads."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import numpy as np
import pytest

import txc
from txc.dialects.types import DTYPES

from .examples import AWAITED, MISSING, Example
from .examples import EXAMPLES as ALWAYS

_files = itertools.count()


def python_function(name: str, example: Example) -> Any:
    """The example's body as a Python function with source, as `jit` needs it."""
    body = "".join(f"    {line}\n" for line in example.body.splitlines())
    text = f"{example.helpers}\n\ndef {name}({', '.join(example.inputs)}):\n{body}"
    filename = f"<example {name} {next(_files)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {k: d.numpy for k, d in DTYPES.items()}
    exec(compile(text, filename, "exec"), scope)
    return scope[name]


def tx_function(name: str, example: Example, layout: str, device: str) -> Any:
    """The example as a function of a `.tx` file."""
    parameters = ", ".join(f"{k}: {declared(kind, layout)}" for k, (kind, _) in example.inputs.items())
    body = "".join(f"    {line}\n" for line in example.body.splitlines())
    text = f"{example.helpers}\n\ndef {name}({parameters}) -> {declared(example.result, layout)}:\n{body}"
    return txc.compile_source(text, device=device).function(name)


def declared(kind: str, layout: str) -> str:
    return kind + ".col" if layout == "col" and "[" in kind else kind


def arrays(example: Example) -> list[np.ndarray]:
    return [np.array(values, DTYPES[kind.partition("[")[0]].numpy) for kind, values in example.inputs.values()]


def check(got: Any, example: Example) -> None:
    """The result has the declared type and prints as the document does."""
    element, _, dims = example.result.partition("[")
    array = np.asarray(got)
    assert array.dtype == DTYPES[element].numpy
    assert array.shape == tuple(int(n) for n in dims.rstrip("]").split(",") if n)
    lines = [line.split() for line in txc.asarray(array).format("legacy" if array.ndim == 1 else "plain").splitlines()]
    expected = [line.split() for line in example.printed.splitlines()]
    assert [*itertools.chain(*lines)] == [*itertools.chain(*expected)]
    assert array.ndim < 2 or lines == expected


EXAMPLES = ALWAYS | {n: e for method in AWAITED if method not in MISSING for n, e in AWAITED[method].items()}
CASES = [(name, layout) for name, example in EXAMPLES.items() for layout in example.layouts]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize(("name", "layout"), CASES)
def test_example(name, layout, threads):
    example, device = EXAMPLES[name], f"cpu:{threads}"
    with txc.device(device):
        given = [txc.asarray(a, layout=layout) for a in arrays(example)]
        check(python_function(name, example)(*given), example)
    given = [txc.TensorMap(a if layout == "row" else np.asfortranarray(a), layout=layout) for a in arrays(example)]
    check(txc.jit(python_function(name, example), device=device)(*given), example)
    check(tx_function(name, example, layout, device)(*arrays(example)), example)


@pytest.mark.parametrize("name", EXAMPLES)
def test_arrays_of_numpy(name):
    example = EXAMPLES[name]
    if "row" in example.layouts:
        check(txc.jit(python_function(name, example))(*arrays(example)), example)


def test_what_is_missing():
    tensor = txc.asarray(np.zeros(3))
    assert sorted(method for method in AWAITED if not hasattr(tensor, method)) == sorted(MISSING)
