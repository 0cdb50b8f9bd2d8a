"""Writes the generated pages of docs/: ``python docs/generate.py``."""

from __future__ import annotations

from pathlib import Path

from pages import PAGES

if __name__ == "__main__":
    for name, page in PAGES.items():
        (Path(__file__).parent / name).write_text(page(), encoding="utf-8")
