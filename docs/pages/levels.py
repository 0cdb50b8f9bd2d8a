"""`levels.svg`, the drawing of the front page: the forms that a program takes, beside the folders that make them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from txc.compiler.stages import STAGES

__all__ = ["PAGE", "page"]

PAGE = "levels.svg"
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Box:
    """A folder (or a file) of the tree: from level `first` to level `last`, in column `column` (`width` columns)."""

    path: str
    column: int
    first: str
    last: str
    width: int = 1


#: The levels from top to bottom: stages, and what stands around them.
LEVELS = (
    "source",
    "graph",
    "tensor",
    "canonical",
    "layout",
    "evals",
    "fused",
    "buffers",
    "loops",
    "llvm",
    "obj",
    "call",
)
NAMES = {"source": "NumPy, .tx", "llvm": "llvm, ptx", "obj": "asm, obj", "call": "a call"}
BOXES = (
    Box("compiler/frontend/", 0, "source", "graph", 2),
    Box("dialects/ops/", 2, "source", "graph"),
    Box("compiler/lowering.py", 0, "tensor", "tensor"),
    Box("passes/tensor/", 1, "tensor", "evals"),
    Box("dialects/tx/", 2, "tensor", "evals"),
    Box("passes/fusion/", 1, "fused", "fused"),
    Box("passes/memory/", 1, "buffers", "buffers"),
    Box("dialects/kernel/", 2, "fused", "buffers"),
    Box("passes/cost/", 0, "layout", "loops"),
    Box("passes/schedule/", 1, "loops", "loops"),
    Box("dialects/loop/", 2, "loops", "loops"),
    Box("compiler/codegen/", 0, "llvm", "obj", 2),
    Box("dialects/scalar/", 2, "llvm", "llvm"),
    Box("compiler/gpu/", 2, "obj", "obj"),
    Box("compiler/call/", 0, "call", "call"),
    Box("compiler/driver/", 1, "call", "call"),
    Box("runtime/", 2, "call", "call"),
)
LEFT, WIDTH, HEIGHT, GAP = 94, 150, 46, 6
TOP = 4
TOTAL = LEFT + 3 * WIDTH

LIGHT = """--ink: #1b1f24; --faint: #59636e; --line: #b9c0c8; --level: #eceff2;
    --compiler: #d6e6ff; --passes: #d8f3dc; --dialects: #fff0c2; --runtime: #f3dcf5;"""
DARK = """--ink: #e6e9ee; --faint: #a2abb6; --line: #59636e; --level: #2b3036;
    --compiler: #1d3a63; --passes: #1f4a2c; --dialects: #574613; --runtime: #4c2a50;"""
#: The page's own choice, where a reader made one, goes before that of the system.
STYLE = f"""
  svg.levels {{ {LIGHT} }}
  @media (prefers-color-scheme: dark) {{ svg.levels {{ {DARK} }} }}
  body[data-theme="light"] svg.levels {{ {LIGHT} }}
  body[data-theme="dark"] svg.levels {{ {DARK} }}
  svg.levels {{ display: block; max-width: 620px; width: 100%; height: auto; margin: 1.5em 0; }}
  svg.levels text {{ font-family: ui-monospace, Menlo, Consolas, monospace; fill: var(--ink); text-anchor: middle; }}
  svg.levels .count {{ font-family: system-ui, sans-serif; fill: var(--faint); }}
  svg.levels rect {{ rx: 5px; stroke: var(--line); }}
  svg.levels path {{ stroke: var(--faint); fill: none; }}
"""


def page() -> str:
    """The drawing.  A folder that is not in the tree, or a stage that there is not, is an error."""
    unknown = {*LEVELS} - {"source", "call"} - {*STAGES}
    missing = [box.path for box in BOXES if not (ROOT / box.path).exists()]
    if unknown or missing:
        raise ValueError(f"not in the tree: {unknown or missing}")
    parts = [_level(i, level) for i, level in enumerate(LEVELS)] + [_box(box) for box in BOXES]
    height = TOP + len(LEVELS) * HEIGHT
    return (
        f'<svg class="levels" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {TOTAL} {height}" role="img" '
        'aria-label="The forms of a program, from source to a call, and the folders that make them">\n'
        f"<style>{STYLE}</style>\n" + "".join(parts) + "</svg>\n"
    )


def _level(row: int, level: str) -> str:
    y, height = TOP + row * HEIGHT, HEIGHT - GAP - 8
    middle = (LEFT - GAP) / 2
    arrow = f'<path d="M{middle} {y + height}v14m-4 -4l4 4l4 -4"/>' if row + 1 < len(LEVELS) else ""
    name, baseline = NAMES.get(level, level), y + height / 2 + 4
    return (
        f'<rect x="1" y="{y}" width="{LEFT - GAP - 2}" height="{height}" fill="var(--level)"/>'
        f'<text x="{middle}" y="{baseline}" font-size="13" font-weight="bold">{name}</text>'
        f"{arrow}\n"
    )


def _box(box: Box) -> str:
    first, last = LEVELS.index(box.first), LEVELS.index(box.last)
    x, y = LEFT + box.column * WIDTH, TOP + first * HEIGHT
    width, height = box.width * WIDTH - GAP, (last - first + 1) * HEIGHT - GAP - 2
    room = box.path.split("/")[0]
    folder = ROOT / box.path
    files = len(list(folder.rglob("*.py"))) if folder.is_dir() else 0
    middle, center = x + width / 2, y + height / 2
    count = f'<text class="count" x="{middle}" y="{center + 12}" font-size="11">{files} files</text>' if files else ""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="var(--{room})"/>'
        f'<text x="{middle}" y="{center - 3 if files else center + 4}" font-size="11.5">{box.path}</text>{count}\n'
    )
