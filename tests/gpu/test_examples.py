"""Every worked example of the source documents, and every assertion there that computes, on a GPU.

They are those of `tests/seeds`, `tests/tensure` and `tests/graph`, run as they are; here only the device is another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import txc

from ..graph import test_graph as graph
from ..seeds import test_examples as seeds
from ..tensure import test_examples as tensure
from .devices import on_gpus


@pytest.mark.parametrize(("device", "name"), on_gpus(list(seeds.EXAMPLES)))
def test_examples_of_eigen(device: str, name: str) -> None:
    """By `jit`, lazy expressions and `.tx`, which take turns on the simulator."""
    example = seeds.EXAMPLES[name]
    ways = ("jit", "lazy", "tx") if device != "ptx-sim" else (("jit", "lazy", "tx")[len(name) % 3],)
    layout = example.layouts[-1]
    for way in ways:
        given: list[Any] = [txc.asarray(a, layout=layout) for a in seeds.arrays(example)]
        if way == "jit":
            made = txc.jit(seeds.python_function(name, example), device=device)(*given)
        elif way == "tx":
            made = seeds.tx_function(name, example, layout, device)(*seeds.arrays(example))
        else:
            with txc.device(device):
                made = seeds.python_function(name, example)(*given)
                seeds.check(made, example)
        seeds.check(made, example)


@pytest.mark.parametrize(("device", "number"), on_gpus(list(range(len(tensure.EXAMPLES)))))
def test_examples_of_tensure(device: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TXC_DEVICE", device)
    program, expected = tensure.EXAMPLES[number]
    tensure.test_example(program, expected, "f4" if number % 2 else "f8", monkeypatch)


def example_of_the_notes() -> None:
    """Its product of 1024×1024 matrices with smaller ones: that one takes the simulator minutes."""
    graph.test_the_example_of_the_notes(n=40)


#: Of the tests of graphs those that run one.
SESSIONS: list[Callable[[], None]] = [
    example_of_the_notes,
    graph.test_several_outputs,
    graph.test_any_tensor_can_be_fed_and_what_is_not_needed_is_not_run,
    graph.test_fetches_keep_their_structure,
    graph.test_eval_and_run_use_the_default_session,
    graph.test_a_rank_that_is_not_known_until_the_run,
    graph.test_variables_live_in_sessions,
]


@pytest.mark.parametrize(("device", "session"), on_gpus(SESSIONS))
def test_sessions_of_graphs(device: str, session: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TXC_DEVICE", device)
    with graph.Graph().as_default():
        session()
