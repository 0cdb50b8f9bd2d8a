"""`reference/language.md`: every good example compiles and does what is said, bad ones give the error that is said."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import txc
from txc.compiler.diagnostics import TxcError

TEXT = (Path(__file__).resolve().parents[2] / "docs/reference/language.md").read_text()
BLOCKS = re.findall(r"^```(tx error|tx|python|text)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
#: Pairs of a program and the block after it.
PAIRS = [(BLOCKS[i][0], BLOCKS[i][1], BLOCKS[i + 1]) for i in range(0, len(BLOCKS), 2)]
GOOD = [(text, after[1]) for kind, text, after in PAIRS if kind == "tx"]
BAD = [(text, after[1]) for kind, text, after in PAIRS if kind == "tx error"]


@contextmanager
def raises(text: str) -> Iterator[None]:
    with pytest.raises(TxcError) as caught:
        yield
    assert text in str(caught.value)


def test_every_example_has_its_outcome():
    assert {(kind, after[0]) for kind, _, after in PAIRS} == {("tx", "python"), ("tx error", "text")}
    assert 2 * len(PAIRS) == TEXT.count("```") // 2 and len(GOOD) > 12 and len(BAD) > 30


@pytest.mark.parametrize(("program", "claims"), GOOD, ids=lambda text: text.strip().splitlines()[0])
def test_good(program: str, claims: str):
    module = txc.compile_source(program)
    for function in module.functions.values():
        assert function.graph.outputs
    exec(claims, {"np": np, "raises": raises, **module.functions})


@pytest.mark.parametrize(("program", "expected"), BAD, ids=lambda text: text.strip().splitlines()[0])
def test_bad(program: str, expected: str):
    with pytest.raises(TxcError) as caught:
        for function in txc.compile_source(program).functions.values():
            assert function.graph.outputs
    for line in expected.splitlines():
        assert line in str(caught.value)
