"""What docs/devices.md shows: its blocks of Python are one program, and print what stands under them."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "devices.md"


def test_the_program_of_the_page(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == PAGE.read_text(encoding="utf-8").count("```python") > 2
    names: dict[str, Any] = {"__name__": "devices"}
    for i, (source, expected) in enumerate(blocks):
        # Staging reads a function's source from its file.
        file = tmp_path / f"block_{i}.py"
        file.write_text(source, encoding="utf-8")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(file), "exec"), names)
        assert printed.getvalue() == expected
