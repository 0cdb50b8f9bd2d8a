"""Random tensors of a shape: see `compiler.frontend.numpy.random`."""

from .compiler.frontend.numpy.random import normal as normal
from .compiler.frontend.numpy.random import uniform as uniform

__all__ = ["normal", "uniform"]
