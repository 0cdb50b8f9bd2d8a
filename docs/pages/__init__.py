"""The pages that are written from what the sources say: a module each, with its `PAGE` (a file of docs/) and `page()`."""

from pages import operations, ops, simulator

__all__ = ["PAGES"]

PAGES = {module.PAGE: module.page for module in (operations, ops, simulator)}
