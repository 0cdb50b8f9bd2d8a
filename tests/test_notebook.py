"""The notebook of `examples/notebook`, run from top to bottom, shows tables, pages and the user's lines."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import txc

NOTEBOOK = Path(__file__).resolve().parent.parent / "examples" / "notebook" / "tour.ipynb"


@pytest.fixture(scope="module")
def outputs() -> list[Any]:
    """What each cell of code shows: the first of its outputs, or none."""
    nbformat: Any = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient: Any = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    notebook = nbformat.read(NOTEBOOK, 4)
    source = str(Path(txc.__file__).parents[1])
    path = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    nbclient.NotebookClient(notebook, timeout=300).execute(env={**os.environ, "PYTHONPATH": path})
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [cell.outputs[0] if cell.outputs else None for cell in codes]


def test_the_notebook_is_kept_without_outputs() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert '"outputs": []' in text and '"output_type"' not in text and '"execution_count": null' in text


def test_what_its_cells_show(outputs: list[Any]) -> None:
    nothing, small, large, new, array, versions, report, page, _ = outputs
    html = [shown.data["text/html"] for shown in (small, large, new, versions, report, page)]
    assert nothing is None and array.data["text/plain"] == "array([1., 1., 1., 1.], dtype=float32)"
    assert html[0].startswith("<div><code>Tensor f64[3, 4]</code><pre ") and "0.00826446 0.03305785" in html[0]
    assert html[1] == "<div><code>Tensor f64[2000, 2000]</code>, not computed yet</div>"
    assert html[2] == "<div><code>softmax(x, beta)</code>: nothing is compiled yet</div>"
    assert html[3].count("<tr>") == 3 and ">it was the first call</td>" in html[3]
    assert "<summary>decisions" in html[4] and ">Cell In[4]:3:8</td>" in html[4]
    assert html[5].startswith('<iframe src="data:text/html;base64,')


def test_an_error_shows_the_lines_of_the_cell_and_none_of_the_compiler(outputs: list[Any]) -> None:
    error = outputs[-1]
    assert error.output_type == "error" and error.ename == "TxcError"
    text = "\n".join(error.traceback)
    assert "  Cell In[9]:6, in <module>\n    wrong(np.ones((3, 4)), np.ones((3, 4)))\n" in text
    assert "  --> Cell In[9]:3, in wrong\n   |     return x @ y\n   |            ^^^^^" in text
    assert "compiler/" not in text and str(Path(txc.__file__).parent) not in text


def test_ipython_is_given_the_users_calls_alone() -> None:
    @txc.jit
    def added(x, y):
        return x + y

    with pytest.raises(txc.TxcError) as caught:
        added(np.ones(3), np.ones(4))
    head, *calls = caught.value._render_traceback_()
    assert head == "Traceback of your calls, without txc's own:"
    assert [line.rpartition(", in ")[2] for line in calls[:-1:2]] == [sys._getframe().f_code.co_name, "added"]
    assert calls[1::2] == ["    added(np.ones(3), np.ones(4))", "    return x + y"]
    assert calls[-1] == f"TxcError: {caught.value}"
