"""The pages that are written from what the sources say: a module each, with its `PAGE` (in docs/) and `page()`."""

from pages import exp, ir, levels, operations, ops, optimiser, refusals, simulator, tree

__all__ = ["PAGES"]

_MODULES = (exp, ir, levels, operations, ops, optimiser, refusals, simulator, tree)
PAGES = {module.PAGE: module.page for module in _MODULES}
