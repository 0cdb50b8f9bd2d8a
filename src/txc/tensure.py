"""The functions of the Tensure document on tensors that views and mutations share: see `compiler.frontend.tensure`."""

from .compiler.frontend.tensure import *  # noqa: F403
from .compiler.frontend.tensure import __all__ as __all__
