"""Writes the generated pages of docs/, and the IR that other pages show: ``python docs/generate.py``."""

from __future__ import annotations

from pathlib import Path

from pages import PAGES, blocks

if __name__ == "__main__":
    for name, page in PAGES.items():
        (Path(__file__).parent / name).write_text(page(), encoding="utf-8")
    for path in blocks.PAGES.values():
        if "```mlir" in (text := path.read_text(encoding="utf-8")) and (new := blocks.refreshed(path)) != text:
            path.write_text(new, encoding="utf-8")
