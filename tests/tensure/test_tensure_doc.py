"""`docs/reference/tensure.md` and `docs/reference/graph.md`: every statement prints what the page says."""

import doctest
import re
from pathlib import Path

import pytest

from txc import graph

DOCS = Path(__file__).resolve().parents[2] / "docs" / "reference"


@pytest.mark.parametrize(("page", "fewest"), [("tensure.md", 40), ("graph.md", 30)])
def test_page(page: str, fewest: int):
    blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)
    program = "\n".join(blocks)
    test = doctest.DocTestParser().get_doctest(program, {}, page, page, 0)
    assert len(test.examples) >= fewest
    said: list[str] = []
    # Of an error the page shows the message, without the place in the page's own text.
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    with graph.Graph().as_default():  # names count up in a graph: other tests' operations are not the page's
        assert not runner.run(test, out=said.append).failed, "".join(said)
