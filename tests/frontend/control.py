"""What tests of control flow share: a function does what Python does with it, compiled and at every stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import txc
from txc.compiler.interpret.bisect import bisect

__all__ = ["every_stage", "same"]


def _copied(arguments: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def _parts(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else () if result is None else (result,)


def same(f: Callable[..., Any], *calls: tuple[Any, ...]) -> Any:
    """One compiled function agrees with the plain one on all these arguments, in what it writes to them too."""
    jitted = txc.jit(f)
    for arguments in calls:
        ours, theirs = _copied(arguments), _copied(arguments)
        got, expected = jitted(*ours), f(*theirs)
        assert (got is None) is (expected is None)
        for g, e in zip(_parts(got), _parts(expected), strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-13, err_msg=f"{f.__name__}{arguments}")
            assert np.shape(g) == np.shape(e)
        for a, b in zip(ours, theirs):
            np.testing.assert_array_equal(a, b)
    return jitted


def every_stage(jitted: Any, *arguments: Any) -> None:
    """All stages of the compilation for these arguments give the same results."""
    graph = jitted.graph(*_copied(arguments))
    report = bisect(graph, dict(zip((i.name for i in graph.inputs), _copied(arguments))))
    assert report.culprit is None, report
