"""txc: a tensor compiler.  NumPy code under ``@txc.jit``, or a typed ``.tx`` file, becomes machine code."""

from .compiler.diagnostics import TxcError
from .compiler.frontend.tensor import Tensor, asarray
from .compiler.jit import jit
from .compiler.options import OptionError

__version__ = "0.1.0"
__all__ = ["OptionError", "Tensor", "TxcError", "asarray", "jit"]
