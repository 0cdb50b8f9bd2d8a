"""The pages that are written from what the sources say: a module each, with its `PAGE` (in docs/) and `page()`."""

from pages import api, exp, ir, knobs, levels, operations, ops, optimiser, refusals, simulator, tree

__all__ = ["PAGES"]

PAGES = {
    module.PAGE: module.page
    for module in (api, exp, ir, knobs, levels, operations, ops, optimiser, refusals, simulator, tree)
}
