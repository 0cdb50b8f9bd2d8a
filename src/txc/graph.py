"""Symbolic graphs and sessions, shapes, slices and tensors in protocol buffers: see `compiler.frontend.graph_api`."""

from .compiler.frontend.graph_api import *  # noqa: F403
from .compiler.frontend.graph_api import __all__ as __all__
from .compiler.frontend.graph_api import __getattr__ as __getattr__
