"""Symbolic graphs and sessions, shapes, slices and tensors in protocol buffers: see `compiler.frontend.api.tf_graph`."""

from .compiler.frontend.api.tf_graph import *  # noqa: F403
from .compiler.frontend.api.tf_graph import __all__ as __all__
from .compiler.frontend.api.tf_graph import __getattr__ as __getattr__
