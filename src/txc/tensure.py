"""The functions of the Tensure document on tensors that views and mutations share: see `compiler.frontend.api.tensure`."""

from .compiler.frontend.api.tensure import *  # noqa: F403
from .compiler.frontend.api.tensure import __all__ as __all__
