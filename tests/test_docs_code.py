"""Every block of code that the documentation shows runs, and prints what stands under it (`docs/pages/blocks.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages.blocks import PAGES, blocks, differs, run


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, tmp_path: Path) -> None:
    text = PAGES[name].read_text(encoding="utf-8")
    if name == "../README.md":  # what it shows for a shell is what CI does
        text = text.replace("```sh\n", "```console\n")
    for block, found in run(text, tmp_path):
        advice = ", or run python docs/generate.py" if block.printed_as == "mlir" else ""
        assert not differs(block, found), f"{block.content}prints\n{found}\nand not\n{block.printed}{advice}"


def test_every_block_is_of_a_kind_that_is_known() -> None:
    known = {"python", "sh", "text", "tx", "c", "cpp", "mlir"}
    found = {block.language for path in PAGES.values() for block in blocks(path.read_text(encoding="utf-8"))}
    assert found <= known
